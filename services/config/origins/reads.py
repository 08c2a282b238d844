"""What a source reads, as it is kept and found again. Pure, but for the wire form of a row."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256

from rocketconnect_kit.errors import FieldProblem
from rocketconnect_sdk.origins.origin import Origin
from services.config.domain import Connector, Deleted

ANY = ""
"""Stands in an index for all names that a pattern may mean."""
_SHOWN = 200
_TOLD = 5
_KNOWINGLY = "; origin.shared=true says that each record is meant to be there once for each of them."


@dataclass(frozen=True, slots=True)
class Reads:
    """What a source reads.

    Attributes:
        origins: All of it.
        is_shared: Another source may read the same into the same topic.
    """

    origins: Sequence[Origin]
    is_shared: bool = False

    def in_common(self, other: "Reads") -> Origin | None:
        """Something that both read into the same topic; None: there is nothing."""
        return next((common for each in self.origins if (common := each.in_common(other.origins))), None)


@dataclass(frozen=True, slots=True)
class Reader:
    """A living connector that reads the same; `reads`: what it reads."""

    connector: Connector
    reads: Reads


@dataclass(frozen=True, slots=True)
class ReadTwice:
    """What is to be said of a connector, as others read the same: what refuses it, and what is told."""

    problems: tuple[FieldProblem, ...] = ()
    warnings: tuple[FieldProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Former:
    """A deleted connector that read the same; `common`: what both read."""

    deleted: Deleted
    common: Origin


def dump(reads: Reads | None) -> str | None:
    """What is read as it stands in a row; None: not known."""
    return None if reads is None else json.dumps([asdict(each) for each in reads.origins])


def load(text: str | None) -> Reads | None:
    """See dump."""
    return None if text is None else Reads([Origin(**each) for each in json.loads(text)])


def place_key(origin: Origin) -> str:
    """By what all that is read at a place into a topic is found."""
    return _digest(origin.into, origin.place)


def name_key(origin: Origin) -> str:
    """By what a name is found at its place; `ANY` of patterns."""
    return ANY if origin.is_pattern else _digest(origin.name)


def compared(reads: Reads, readers: Iterable[Reader], before: Reads | None, *, is_new: bool) -> ReadTwice:
    """Return what is to be said of reading what others read.

    Args:
        reads: What it would read.
        readers: Those that read some of it.
        before: What it reads until now; None: not known. What was there already with one of them refuses nothing.
        is_new: There is no such connector yet.
    """
    problems, warnings = [], []
    for reader in readers:
        common = None if reads.is_shared else reads.in_common(reader.reads)
        if common is None:
            continue
        if is_new or (before is not None and not before.in_common(reader.reads)):
            problems.append(_already(common, reader.connector, is_new=is_new))
        else:
            warnings.append(_twice(common, reader.connector))
    return ReadTwice(tuple(problems[:_TOLD]), tuple(warnings[:_TOLD]))


def _already(common: Origin, other: Connector, *, is_new: bool) -> FieldProblem:
    reason = f"the connector {other.name!r} reads this into the topic {topic_of(common)} already: each record would be there twice"
    going_on = (
        f"`rocketconnect connector delete {other.name}` and create this one with --adopt-uid {other.uid}, to go on where it is"
    )
    fix = f"Name another topic{f', or {going_on}' if is_new else ''}{_KNOWINGLY}"
    return FieldProblem(common.key, common.name[:_SHOWN], reason, fix)


def _twice(common: Origin, other: Connector) -> FieldProblem:
    reason = f"the connector {other.name!r} reads this into the topic {topic_of(common)}, too: each record is there twice"
    fix = f"Name another topic, or delete one of the two{_KNOWINGLY}"
    return FieldProblem(common.key, common.name[:_SHOWN], reason, fix)


def topic_of(origin: Origin) -> str:
    """Where something goes, without the labels of who reads it."""
    return origin.into.partition(" ")[0]


def _digest(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()
