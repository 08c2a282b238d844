"""Which fields of which topics are masked, as the operator says. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from rocketconnect.connector.v1 import connector_pb2 as connectors

from rocketconnect_sdk.routes.reserved import is_reserved

_EXACT = ("topics", "connect.topicnames", "replay.topic")
"""Options that name topics themselves; others may make names of what they have."""
_NAMING = frozenset(
    {
        "topic",
        "topics",
        "topicnames",
        "table.topic",
        "dest.topic",
        "connect.topicname",
        "connect.topicnames",
        "connect-topicname",
        "connect-topicnames",
    }
)
"""Options that say which topics the records of a connector are in."""
_OF_PATTERNS = ("regex", "pattern", "prefix")
_TOPIC = "topic"
_CLASS, _DIRECT = "connector.class", "direct"
_OWN = "${topic}"
_WILD = "*?["
_ESCAPE = "\\u"
_REFERENCE = "${"
"""What an executor puts in its place is not known here."""


@dataclass(frozen=True, slots=True)
class Fields:
    """What is masked of some records.

    Attributes:
        paths: Of fields: each is masked wherever a record has it, at any depth. Empty: nothing is masked.
    """

    paths: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Whether anything is."""
        return bool(self.paths)

    def __or__(self, other: "Fields") -> "Fields":
        """Return what either of both masks."""
        return Fields(self.paths | other.paths)

    def masks(self, path: tuple[str, ...]) -> bool:
        """Whether the field at this path of a record is one of them, whatever case its names are in."""
        # A name may have dots itself.
        whole = ".".join(path).casefold()
        return any(whole == each or whole.endswith(f".{each}") for each in self.paths)

    def may_be_in(self, text: str) -> bool:
        """Whether a text that is not understood may have one of them: such a name is in it, or an escape that may be of one."""
        folded = text.casefold()
        return _ESCAPE in folded or any(each.rpartition(".")[2] in folded for each in self.paths)


NOTHING = Fields()


class Rules:
    """The operator's rules.

    Args:
        text: "PATTERN=path.to.field,other; PATTERN=...", * and ? in a pattern of topics stand for any characters.

    Raises:
        ValueError: every part that is none, with how to write it.
    """

    def __init__(self, text: str) -> None:
        self._rules: list[tuple[str, Fields]] = []
        wrong = []
        for part in filter(None, (each.strip() for each in text.split(";"))):
            pattern, _, named = (each.strip() for each in part.partition("="))
            paths = [each.strip().casefold() for each in named.split(",")]
            if not pattern or not all(name.strip() for path in paths for name in path.split(".")):
                wrong.append(part)
            self._rules.append((pattern, Fields(frozenset(paths))))
        if wrong:
            fix = "write TOPIC=field,path.to.field, where * in TOPIC stands for any characters"
            msg = f"{'; '.join(map(repr, wrong))}: no rule; {fix}"
            raise ValueError(msg)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._rules)

    def all(self) -> Fields:
        """Return what any rule masks: of records of which nobody knows whose copies they are."""
        return _union(fields for _, fields in self._rules)

    def of_topic(self, topic: str) -> Fields:
        """Return what is masked of the records of a topic. One that RocketMQ keeps for itself has copies of any."""
        if is_reserved(topic):
            return self.all()
        return _union(fields for pattern, fields in self._rules if fnmatchcase(topic, pattern))

    def of_config(self, config: Mapping[str, str]) -> Fields:
        """Return what is masked of the records of a connector: of all topics that it may have, where that is in doubt."""
        is_named = any(key.casefold() in _NAMING and value.strip() for key, value in config.items())
        if not is_named and config.get(_CLASS) != _DIRECT:
            # A source may have topics that nobody named, after its tables.
            return self.all()
        found = NOTHING
        for key, value in config.items():
            if _TOPIC not in key.casefold():
                continue
            if any(word in key.casefold() for word in _OF_PATTERNS):
                return self.all()
            for name in filter(None, (each.strip() for each in value.split(","))):
                is_exact = key in _EXACT and _REFERENCE not in name
                found |= self.of_topic(name) if is_exact else self._beginning(name, config.get(_TOPIC, ""))
        return found

    def _beginning(self, name: str, own: str) -> Fields:
        """What is masked of topics that begin so: who names a topic may write to more, a table or a record each."""
        begins = name.replace(_OWN, own).partition("${")[0]
        return _union(fields for pattern, fields in self._rules if _may_begin(pattern, begins))

    def of_connector(self, connector: connectors.Connector | None) -> Fields:
        """Return what is masked of the records of a connector; None: nobody knows it."""
        return self.all() if connector is None else self.of_config(connector.config)


def _may_begin(pattern: str, begins: str) -> bool:
    literal = pattern[: next((at for at, sign in enumerate(pattern) if sign in _WILD), len(pattern))]
    return literal.startswith(begins) or begins.startswith(literal)


def _union(found: Iterable[Fields]) -> Fields:
    return Fields(frozenset[str]().union(*(each.paths for each in found)))
