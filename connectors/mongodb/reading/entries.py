"""Entries of the oplog as events. Pure.

Versions of entries: {"$v": 2, "diff": ...} (MongoDB 5 and newer), {"$v": 1, "$set": ..., "$unset": ...}, whole documents.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from bson.timestamp import Timestamp

from connectors.mongodb.reading.events import Description, Event, place_of, session_of
from connectors.mongodb.reading.names import Name
from rocketconnect_sdk.changes import Operation

_NOWHERE = Timestamp(0, 0)
_TOLD = {
    "drop": "was dropped",
    "dropDatabase": "was dropped with its database",
    "renameCollection": "was renamed",
    "convertToCapped": "was made a capped collection, and may have lost documents",
    "emptycapped": "was emptied",
}
"""Commands that change documents without an entry for each: targets keep what they have."""
Entry = Mapping[str, Any]


def is_part(entry: Entry) -> bool:
    """Whether its operations count only with an entry behind it, or never."""
    command = entry.get("o")
    return entry.get("op") == "c" and isinstance(command, Mapping) and bool(command.get("partialTxn") or command.get("prepare"))


def previous(entry: Entry) -> Timestamp | None:
    """Where the entry before it is that belongs to the same transaction; None: it is the first."""
    command = entry.get("o")
    if entry.get("op") != "c" or not isinstance(command, Mapping) or entry.get("multiOpType"):
        return None
    if "applyOps" not in command and "commitTransaction" not in command:
        return None
    at = entry["prevOpTime"].get("ts") if "txnNumber" in entry and isinstance(entry.get("prevOpTime"), Mapping) else None
    return at if isinstance(at, Timestamp) and at != _NOWHERE else None


def events(entry: Entry, parts: Callable[[], Iterable[Entry]], *, lookup: bool) -> Iterator[Event]:
    """The events of an entry: at least one, and of operations within it each one, in their order.

    Args:
        entry: The entry.
        parts: All entries of its transaction, this one as the last; called where there are others.
        lookup: Updates are to have their documents.
    """
    place = place_of(entry.get("ts"), "an entry of the oplog")
    wall = entry.get("wall")
    wall_ms = round(wall.timestamp() * 1000) if isinstance(wall, datetime) else None
    session, number = session_of(entry)
    in_transaction = _is_transaction(entry)
    count = 0
    for operation in _unpacked(entry, parts):
        count += 1
        event = _event(operation, lookup=lookup)
        event.offset = (*place, count)
        event.ts_ms = place[0] * 1000 if wall_ms is None else wall_ms
        event.wall_ms, event.lsid, event.number = wall_ms, session, number
        event.transaction = (f"{session}:{number}", count) if in_transaction else None
        yield event
    if not count:
        yield Event((*place, 1))


def _is_transaction(entry: Entry) -> bool:
    command = entry.get("o")
    if entry.get("op") != "c" or "txnNumber" not in entry or entry.get("multiOpType") or not isinstance(command, Mapping):
        return False
    return "applyOps" in command or "commitTransaction" in command


def _unpacked(entry: Entry, parts: Callable[[], Iterable[Entry]]) -> Iterator[Entry]:
    """The operations of an entry: itself, or those within it."""
    command = entry.get("o")
    if entry.get("op") != "c" or not isinstance(command, Mapping):
        yield entry
    elif not is_part(entry):
        if previous(entry) is not None:
            for part in parts():
                yield from _within(part)
        elif "applyOps" in command:
            yield from _within(entry)
        else:
            yield entry


def _within(entry: Entry) -> Iterator[Entry]:
    command = entry.get("o")
    found = command.get("applyOps") if isinstance(command, Mapping) else None
    for operation in found or ():
        inner = operation.get("o")
        if operation.get("op") == "c" and isinstance(inner, Mapping) and "applyOps" in inner:
            yield from _within(operation)
        else:
            yield operation


def _event(operation: Entry, *, lookup: bool) -> Event:
    """An operation on a document; of any other one an event without it."""
    kind, name, made = operation.get("op"), Name.of(str(operation.get("ns", ""))), Event(())
    body = operation.get("o")
    if operation.get("fromMigrate") or not isinstance(body, Mapping):
        # A document that moves between shards stays what it is.
        return made
    made.name = name
    if kind == "i":
        made.op, made.identity, made.document = Operation.CREATE, body.get("_id"), body
    elif kind == "d":
        made.op, made.identity = Operation.DELETE, body.get("_id")
    elif kind == "u":
        made.op = Operation.UPDATE
        made.identity = (operation.get("o2") or body).get("_id")
        made.description = described(body)
        if made.description is None:
            made.document = body
        else:
            made.lookup = lookup
    elif kind == "c":
        command = next(iter(body), "")
        made.told = _TOLD.get(command, "")
        target = body.get(command)
        if command == "renameCollection":
            made.name = Name.of(str(target))
            made.told += f" to {body.get('to')}"
        elif isinstance(target, str):
            made.name = Name(name.database, target)
    return made


def described(body: Mapping[str, Any]) -> Description | None:
    """What an update says that it has changed; None: it has the whole document."""
    if isinstance(body.get("diff"), Mapping):
        updated: dict[str, Any] = {}
        removed: list[str] = []
        truncated: list[tuple[str, int]] = []
        _diff(body["diff"], "", (updated, removed, truncated))
        return Description(updated, removed, truncated)
    if "$set" in body or "$unset" in body or "$v" in body:
        return Description(body.get("$set") or {}, list(body.get("$unset") or ()))
    return None


def _diff(diff: Mapping[str, Any], within: str, made: tuple[dict[str, Any], list[str], list[tuple[str, int]]]) -> None:
    updated, removed, truncated = made
    is_array = diff.get("a") is True
    if is_array and "l" in diff:
        truncated.append((within.removesuffix("."), int(diff["l"])))
    for key, value in diff.items():
        if is_array and key in ("a", "l"):
            continue
        if key == "d" and not is_array:
            removed.extend(f"{within}{name}" for name in value)
        elif key in ("u", "i") and not is_array:
            updated.update({f"{within}{name}": each for name, each in value.items()})
        elif key.startswith("u"):
            updated[f"{within}{key[1:]}"] = value
        elif key.startswith("s"):
            _diff(value, f"{within}{key[1:]}.", made)
