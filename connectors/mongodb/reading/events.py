"""What happened to a document, as the oplog and change streams tell it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bson.timestamp import Timestamp

from connectors.mongodb.reading.documents import extended
from connectors.mongodb.reading.names import Filter, Name
from rocketconnect_sdk.changes import Operation
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.resume import JSON

OPLOG, STREAM = "oplog", "changes"
"""The source partitions of the two logs: their places differ within transactions."""


class Lost(Exception):
    """What was behind a place of the log is gone.

    Args:
        told: What it is.
        place: Behind what is gone; None: at the end of the log alone.
    """

    def __init__(self, told: str, place: tuple[int, int] | None = None) -> None:
        super().__init__(told)
        self.place = place


class RolledBack(Lost):
    """The log has not what was read of it."""


@dataclass(frozen=True, slots=True)
class Description:
    """What an update has changed.

    Attributes:
        updated: By their paths the fields that have other values.
        removed: The paths of those that are gone.
        truncated: The paths of arrays that have lost their ends, and how many elements they have.
    """

    updated: Mapping[str, Any]
    removed: Sequence[str] = ()
    truncated: Sequence[tuple[str, int]] = ()


@dataclass(slots=True)
class Event:
    """One event; one without an operation only says how far the log was read.

    Attributes:
        offset: Just behind it: seconds, the number in the second, the number of the operation there.
        op: What happened to a document.
        name: Its collection.
        identity: Its _id.
        ts_ms: When.
        document: As it is afterwards; None: not known, or gone.
        before: As it was; None: not known.
        description: What an update has changed, where that is told.
        lookup: The document is to be looked up.
        transaction: Its transaction and its number there.
        lsid: The session.
        number: Of the transaction in its session, or of the write that may be repeated.
        wall_ms: What the server's clock showed.
        token: Where a change stream goes on behind it.
        raw: The bytes that it was made of.
        flaw: What is wrong with its texts; empty: nothing.
        told: What people are told; empty: nothing.
    """

    offset: Offset
    op: Operation | None = None
    name: Name | None = None
    identity: Any = None
    ts_ms: int = 0
    document: Mapping[str, Any] | None = None
    before: Mapping[str, Any] | None = None
    description: Description | None = None
    lookup: bool = False
    transaction: tuple[str, int] | None = None
    lsid: str | None = None
    number: int | None = None
    wall_ms: int | None = None
    token: Mapping[str, Any] | None = None
    raw: bytes = b""
    flaw: str = ""
    told: str = ""


def gather(found: list[Event], event: Event, chosen: Filter) -> int:
    """Adds an event; of those that are neither captured nor told only the last one stays, which says how far was read.

    Returns: how many others there are.
    """
    if found and not _matters(found[-1], chosen):
        found.pop()
    found.append(event)
    return len(found) - (not _matters(event, chosen))


def _matters(event: Event, chosen: Filter) -> bool:
    return bool(event.told) or (event.op is not None and event.name is not None and chosen.takes(event.name))


def session_of(entry: Mapping[str, Any]) -> tuple[str | None, int | None]:
    """The session of an entry or event as text, and its number there."""
    lsid, number = entry.get("lsid"), entry.get("txnNumber")
    identity = lsid.get("id") if isinstance(lsid, Mapping) else None
    return (bytes(identity).hex() if isinstance(identity, bytes) else None, None if number is None else int(number))


def place_of(moment: object, what: str) -> tuple[int, int]:
    """A time of the cluster as integers.

    Raises:
        PermanentError: it is none.
    """
    if not isinstance(moment, Timestamp):
        msg = f"{what} has no time of the cluster: it comes from no MongoDB, or `pipeline` takes clusterTime away"
        raise PermanentError(msg)
    return moment.time, moment.inc


def resume_of(token: Mapping[str, Any] | None) -> Mapping[str, JSON] | None:
    """What is stored with a place of a change stream: its token."""
    return None if token is None else {"token": extended(token)}
