"""The topics of tables: names that are made to fit, and that no two tables share unless the configuration says so. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rocketconnect_sdk.errors import PermanentError

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_REFUSED = re.compile(r"[^A-Za-z0-9_%|-]")
FIX = (
    "Leave one of them out (table.exclude, table.blacklist), and read it with a connector of its own that writes to another topic; "
    "or rename a table."
)


class Named(NamedTuple):
    """A table and where its records go.

    Attributes:
        table: What the table is called, in messages and in positions.
        topic: Its topic.
        told: What the topic was to tell it apart by. Tables in which this is the same share a topic because the configuration says
            so.
    """

    table: str
    topic: str
    told: tuple[str, ...]


def topic_of(template: str, values: Mapping[str, str]) -> str:
    """The topic of a table: a template with its placeholders, ${table}, filled; what RocketMQ takes in no name becomes _.

    A placeholder without a value stays, as text of such characters.
    """
    return fitted(_PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template))


def fitted(name: str) -> str:
    """A name as RocketMQ takes it for a topic. Several names may become one: see shared_topic."""
    return _REFUSED.sub("_", name)


def named(table: str, template: str, values: Mapping[str, str]) -> Named:
    """A table and where its records go, by a template as topic_of has it."""
    used = dict.fromkeys(match[1] for match in _PLACEHOLDER.finditer(template))
    return Named(table, topic_of(template, values), tuple(values[name] for name in used if name in values))


def shared_topic(tables: Iterable[Named]) -> tuple[str, str] | None:
    """The first topic to which tables go that it was to tell apart, and what is to be said of it; None: there is none."""
    known: dict[str, Named] = {}
    called: dict[str, Named] = {}
    for each in tables:
        if called.setdefault(each.table, each).told != each.told:
            # The schema `a` has the table `b.c`, and the schema `a.b` the table `c`.
            return each.topic, f"is of {each.table}, and two tables are called so, which positions could not tell apart"
        other = known.setdefault(each.topic, each)
        if other.told != each.told:
            fit = "a topic has letters, digits, _, -, % and | alone"
            return each.topic, f"is the topic of {other.table} and of {each.table}, whose rows would be mixed: {fit}"
    return None


class Topics:
    """The topics of the tables that a task has seen."""

    def __init__(self) -> None:
        self._known: dict[str, Named] = {}

    def checked(self, table: Named) -> str:
        """The topic of a table.

        Raises:
            PermanentError: it is that of another table, too, from which it was to tell this one apart.
        """
        problem = shared_topic((self._known.setdefault(table.topic, table), table))
        if problem is not None:
            msg = f"{problem[0]} {problem[1]}. {FIX}"
            raise PermanentError(msg)
        return table.topic
