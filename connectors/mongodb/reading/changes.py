"""Events of change streams. Pure.

https://www.mongodb.com/docs/manual/reference/change-events/
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bson.timestamp import Timestamp

from connectors.mongodb.reading.events import Description, Event, place_of, session_of
from connectors.mongodb.reading.names import Name
from rocketconnect_sdk.changes import Operation
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset

INVALIDATE = "invalidate"
_OPERATIONS = {
    "insert": Operation.CREATE,
    "update": Operation.UPDATE,
    "replace": Operation.UPDATE,
    "delete": Operation.DELETE,
}
_TOLD = {"drop": "was dropped", "dropDatabase": "was dropped with its collections", "rename": "was renamed"}
_TIMESTAMP = 130
"""The first byte of a token: behind it are the time of the cluster, and its number there."""
_HEXADECIMAL = 18


def event_of(change: Mapping[str, Any], behind: Offset) -> Event:
    """An event of a change stream, which comes behind a place.

    Raises:
        PermanentError: it lacks what all events have.
    """
    kind, key = change.get("operationType"), change.get("documentKey")
    place = place_of(change.get("clusterTime"), f"an event ({kind})")
    if place < behind[:2]:
        msg = f"the change stream goes back from {behind} to {place}: what answers there gives events in no order"
        raise PermanentError(msg)
    count = behind[2] + 1 if place == behind[:2] and len(behind) > len(place) else 1
    wall = change.get("wallTime")
    wall_ms = round(wall.timestamp() * 1000) if isinstance(wall, datetime) else None
    session, number = session_of(change)
    made = Event(
        (*place, count),
        _OPERATIONS.get(str(kind)),
        _name(change.get("ns")),
        ts_ms=place[0] * 1000 if wall_ms is None else wall_ms,
        wall_ms=wall_ms,
        lsid=session,
        number=number,
        transaction=None if number is None else (f"{session}:{number}", count),
        token=change.get("_id"),
        told=_TOLD.get(str(kind), ""),
    )
    if made.told and isinstance(to := change.get("to"), Mapping):
        made.told += f" to {_name(to)}"
    if made.op is None:
        return made
    if not isinstance(key, Mapping) or "_id" not in key or made.name is None:
        msg = f"an event ({kind}) has no documentKey or no ns: `pipeline` takes them away, and they are needed"
        raise PermanentError(msg)
    made.identity = key["_id"]
    made.document, made.before = change.get("fullDocument"), change.get("fullDocumentBeforeChange")
    if isinstance(described := change.get("updateDescription"), Mapping):
        truncated = [(each["field"], int(each["newSize"])) for each in described.get("truncatedArrays") or ()]
        made.description = Description(described.get("updatedFields") or {}, described.get("removedFields") or (), truncated)
    return made


def time_of(token: object) -> Timestamp | None:
    """The time of the cluster that a token stands for; None: it does not say. Only positions without events go by it."""
    data = token.get("_data") if isinstance(token, Mapping) else None
    if not isinstance(data, str) or len(data) < _HEXADECIMAL:
        return None
    try:
        found = bytes.fromhex(data[:_HEXADECIMAL])
    except ValueError:
        return None
    return Timestamp(int.from_bytes(found[1:5], "big"), int.from_bytes(found[5:9], "big")) if found[0] == _TIMESTAMP else None


def _name(namespace: object) -> Name | None:
    if not isinstance(namespace, Mapping) or "db" not in namespace:
        return None
    return Name(str(namespace["db"]), str(namespace.get("coll", "")))
