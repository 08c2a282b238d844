"""The oplog of a replica set, read from a place on.

https://www.mongodb.com/docs/manual/core/replica-set-oplog/
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import bson
from bson.raw_bson import RawBSONDocument
from bson.timestamp import Timestamp
from pymongo import MongoClient
from pymongo.read_concern import ReadConcern

from connectors.mongodb.client import own_errors
from connectors.mongodb.reading.documents import decoded
from connectors.mongodb.reading.entries import events, previous
from connectors.mongodb.reading.events import OPLOG, Event, Lost, RolledBack, gather, place_of
from connectors.mongodb.reading.names import Name
from connectors.mongodb.reading.settings import LOOKUP, Settings
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, Position

_SECONDS = 0.1
_MOST = 1_000
"""Entries that are asked for at once."""


class Oplog:
    """Reads the oplog.

    Args:
        client: Of the server, with raw documents.
        settings: As configured.
        context: Of the task.

    Attributes:
        partition: See SourceBatch.
        at_end: Whether the last poll found the end.
    """

    partition = OPLOG

    def __init__(self, client: MongoClient[Any], settings: Settings, context: TaskContext) -> None:
        self._client = client
        self._settings = settings
        self._context = context
        # What most servers have is not rolled back.
        self._entries = client.get_database("local", read_concern=ReadConcern("majority")).get_collection("oplog.rs")
        self._after: Mapping[str, Timestamp] = {}
        self._behind: Offset = ()
        self._events: Iterator[Event] = iter(())
        self.at_end = False

    def first(self) -> Position:
        """The place before all entries that are there."""
        return Position((*self._edge(1), 0))

    def end(self) -> Position:
        """The place behind all entries that are there."""
        seconds, number = self._edge(-1)
        return Position((seconds, number + 1, 0))

    def _edge(self, direction: int) -> tuple[int, int]:
        with own_errors(self._settings.place):
            found = list(self._entries.find({}, {"ts": 1}).sort("$natural", direction).limit(1))
        if not found:
            msg = f"{self._settings.place}: there is no entry in local.oplog.rs: the server is no member of a replica set"
            raise PermanentError(msg)
        return place_of(found[0]["ts"], "an entry of the oplog")

    def open(self, position: Position) -> None:
        """Goes on behind a place.

        Raises:
            Lost: entries behind it were removed.
            RolledBack: the entry there is not in the log any more.
        """
        offset = position.offset
        first, last = self._edge(1), self._edge(-1)
        if offset[:2] < first:
            msg = f"the entries of the oplog from {_text(offset)} up to {_text(first)} were removed"
            raise Lost(msg, first)
        if len(offset) > len(first) and offset[2] > 0 and self._at(offset) is None:
            what = "ends before" if last < offset[:2] else "has other entries around"
            msg = f"the oplog {what} {_text(offset)}, up to which it was read"
            raise RolledBack(msg, (offset[0], offset[1] + 1))
        self._after, self._behind = {"$gte": Timestamp(offset[0], offset[1])}, offset
        self._events = self._all()

    def _at(self, offset: Offset) -> Mapping[str, Any] | None:
        with own_errors(self._settings.place):
            return self._entries.find_one({"ts": Timestamp(offset[0], offset[1])})

    def poll(self) -> Sequence[Event]:
        """The next events; none when there are none now.

        Raises:
            Lost: a part of a transaction was removed.
        """
        found: list[Event] = []
        count, size, until = 0, 0, time.monotonic() + _SECONDS
        self.at_end = True
        for event in self._events:
            before, count = count, gather(found, event, self._settings.chosen)
            size += len(event.raw) if count > before else 0
            if count >= self._context.batch_records or size >= self._context.batch_bytes or time.monotonic() > until:
                self.at_end = False
                break
        if self.at_end:
            self._events = self._all()
        if self._settings.full == LOOKUP:
            self._look_up(found)
        return found

    def _all(self) -> Iterator[Event]:
        """Events of the entries that are there, up to the end."""
        while entries := self._some():
            for data in entries:
                entry, flaw = decoded(data)
                for event in events(entry, partial(self._parts, entry), lookup=self._settings.full == LOOKUP):
                    event.raw, event.flaw = data, flaw
                    # Behind a deletion that was given there may be a tombstone that was not.
                    if (*event.offset, 1) > self._behind:
                        yield event
                self._after = {"$gt": entry["ts"]}

    def _some(self) -> Sequence[bytes]:
        """The next entries, as far as there is room for them."""
        found: list[bytes] = []
        size = 0
        with own_errors(self._settings.place), self._entries.find({"ts": self._after}).sort("$natural", 1).limit(_MOST) as cursor:
            for entry in cursor:
                found.append(bytes(entry.raw))
                size += len(entry.raw)
                if size >= self._context.batch_bytes:
                    break
        return found

    def _parts(self, entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """All entries of a transaction, read from its first one on: together they may be larger than memory."""
        places: list[Timestamp] = []
        at = previous(entry)
        end = place_of(entry["ts"], "an entry of the oplog")
        while at is not None:
            places.append(at)
            at = previous(self._part(at, end))
        for place in reversed(places):
            yield self._part(place, end)
        yield entry

    def _part(self, at: Timestamp, end: tuple[int, int]) -> Mapping[str, Any]:
        found = self._at((at.time, at.inc))
        if not isinstance(found, RawBSONDocument):
            msg = f"a part of a transaction, the entry of the oplog at {at.time}-{at.inc}, was removed"
            raise Lost(msg, (end[0], end[1] + 1))
        return decoded(bytes(found.raw))[0]

    def _look_up(self, found: Sequence[Event]) -> None:
        """Updates get the documents that they have made, as they are now; those that are gone by now have no record."""
        wanted: dict[Name, dict[bytes, Any]] = {}
        for event in found:
            if event.lookup and event.name is not None and self._settings.chosen.takes(event.name):
                wanted.setdefault(event.name, {})[_hashable(event.identity)] = event.identity
        documents: dict[tuple[Name, bytes], tuple[Mapping[str, Any], str, bytes]] = {}
        for name, identities in wanted.items():
            collection = self._client.get_database(name.database).get_collection(name.collection)
            with own_errors(self._settings.place):
                for raw in collection.find({"_id": {"$in": list(identities.values())}}):
                    data = bytes(raw.raw)
                    document, flaw = decoded(data)
                    documents[name, _hashable(document.get("_id"))] = document, flaw, data
        for event in found:
            if not event.lookup or event.name is None:
                continue
            if (there := documents.get((event.name, _hashable(event.identity)))) is None:
                event.op = None
            elif not event.flaw:
                event.document, event.flaw, event.raw = there

    def close(self) -> None:
        """Ends it."""
        self._events = iter(())


def _text(place: Sequence[int]) -> str:
    return "-".join(map(str, place[:2]))


def _hashable(identity: object) -> bytes:
    return bson.encode({"": identity})
