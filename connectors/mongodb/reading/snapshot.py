"""The documents that are there, read in chunks in the order of their _ids.

What is changed meanwhile is in the log, which is read from a place before the first chunk on. Offsets are (run, 1, the _id as
integers), and (run, 2) when a collection is done. With each goes the _id itself, behind which reading goes on.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any

from bson.min_key import MinKey
from pymongo import MongoClient
from pymongo.read_concern import ReadConcern

from connectors.mongodb.client import own_errors
from connectors.mongodb.reading.documents import decoded, extended, restored
from connectors.mongodb.reading.events import Event
from connectors.mongodb.reading.identities import MOST, TYPES, integers, rank
from connectors.mongodb.reading.names import Filter, Name
from connectors.mongodb.reading.records import Records
from connectors.mongodb.reading.settings import Settings
from rocketconnect_sdk.changes import Operation
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.making import snapshot_partition
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, Position, SourceBatch

READING, DONE = 1, 2


def collections(client: MongoClient[Any], place: str, chosen: Filter) -> dict[Name, bool]:
    """Those that are captured, and whether their _ids have the order of their bytes.

    Raises:
        SystemAway, PermanentError: see own_errors.
    """
    found: dict[Name, bool] = {}
    with own_errors(place):
        names = [chosen.database] if chosen.database else client.list_database_names()
        for database in sorted(filter(chosen.takes_database, names)):
            for each in client.get_database(database).list_collections():
                name = Name(database, each["name"])
                if each.get("type", "collection") != "view" and chosen.takes(name):
                    found[name] = not (each.get("options") or {}).get("collation")
    return dict(sorted(found.items()))


class Snapshot:
    """Reads collections.

    Args:
        client: Of the server, with raw documents.
        settings: As configured.
        records: Makes records.
        positions: Where each partition begins.
        run: The number of the snapshot.
        context: Of the task.

    Attributes:
        partitions: Of all collections that it reads, or has read.
        left: About how many documents are to be read; None: nobody knows.
    """

    def __init__(
        self,
        client: MongoClient[Any],
        settings: Settings,
        records: Records,
        positions: Mapping[str, Position],
        run: int,
        context: TaskContext,
    ) -> None:
        self._client = client
        self._settings = settings
        self._records = records
        self._run = run
        self._context = context
        found = collections(client, settings.place, settings.chosen)
        self.partitions = {snapshot_partition(name) for name in found}
        self._orders = found
        begun = {name: positions.get(snapshot_partition(name), Position(())) for name in found}
        self._places = {name: at if at.offset[:1] == (run,) else Position((run,)) for name, at in begun.items()}
        self._todo = [name for name, at in self._places.items() if at.offset[:2] != (run, DONE)]
        self.left: int | None = self._counted()
        self._began = 0

    @property
    def finished(self) -> bool:
        """Whether all was read."""
        return not self._todo

    def _counted(self) -> int | None:
        with own_errors(self._settings.place):
            return sum(int(self._collection(name).estimated_document_count()) for name in self._todo)

    def poll(self) -> Sequence[SourceBatch]:
        """The next documents, or that a collection is done."""
        name = self._todo[0]
        partition, at = snapshot_partition(name), self._places[name]
        if at.offset == (self._run,):
            self._context.log.info("the snapshot of %s begins", name)
        documents = self._read(name, at)
        if not documents:
            self._todo.pop(0)
            return [SourceBatch(partition, [], [], end=(self._run, DONE))]
        self._places[name] = Position(documents[-1].offset, _resume(documents[-1].identity))
        self.left = max(0, (self.left or 0) - len(documents))
        made = list(self._records.batches(partition, documents))
        ends = {event.offset: event for event in documents}
        for batch in made:
            batch.resume = _resume(ends[batch.offsets[-1]].identity)
        return made

    def _read(self, name: Name, at: Position) -> list[Event]:
        for condition in _behind(at):
            with own_errors(self._settings.place):
                if found := self._some(name, condition, at.offset):
                    return found
        return []

    def _some(self, name: Name, condition: Mapping[str, Any], offset: Offset) -> list[Event]:
        """The next documents behind an offset, as far as there is room for them."""
        found: list[Event] = []
        size, limit = 0, min(self._settings.chunk, self._context.batch_records)
        with self._collection(name).find(condition).sort("_id", 1).limit(limit + 1) as cursor:
            for raw in cursor:
                data = bytes(raw.raw)
                document, flaw = decoded(data)
                event = Event((), Operation.READ, name, document.get("_id"), time.time_ns() // 1_000_000, document)
                if isinstance(event.identity, MinKey) and len(offset) > 1:
                    continue
                event.offset = offset = self._offset(name, event.identity, offset)
                event.raw, event.flaw = data, flaw
                found.append(event)
                size += len(data)
                if len(found) == limit or size >= self._context.batch_bytes:
                    break
        return found

    def _offset(self, name: Name, identity: object, before: Offset) -> Offset:
        """Of the document behind one, whose offset this is."""
        numbers = integers(identity) if self._orders[name] else ()
        made = (self._run, READING, *numbers)
        if not numbers or len(numbers) > MOST:
            # Documents whose _ids can't be told apart by numbers are counted: another task may give them once more.
            begin = (self._run, READING, *numbers[:MOST], self._context.epoch)
            return (*begin, before[-1] + 1) if before[:-1] == begin else (*begin, 1)
        if made <= before:
            msg = (
                f"{self._settings.place}: {name} has the _id {extended(identity)[:200]} behind one that is greater: its server "
                "has another order of _ids than MongoDB. Set snapshot.mode=never"
            )
            raise PermanentError(msg)
        return made

    def _collection(self, name: Name) -> Any:
        database = self._client.get_database(name.database, read_concern=ReadConcern("majority"))
        return database.get_collection(name.collection)


def _resume(identity: object) -> Mapping[str, Any]:
    return {"_id": extended({"_id": identity})}


def _behind(at: Position) -> Iterator[Mapping[str, Any]]:
    """How documents behind a place are asked for, one way after the other: a comparison finds values of one type alone.

    Raises:
        PermanentError: the place has no _id.
    """
    if len(at.offset) == 1:
        yield {}
        return
    try:
        last = restored(str(at.resume["_id"]))["_id"]
    except (KeyError, ValueError, TypeError) as error:
        msg = "the position of a snapshot has no _id behind which it could go on: put back one that it had, with its map"
        raise PermanentError(msg) from error
    # What is no number comes before all that are, and none is greater than it.
    yield {"_id": {"$gte": float("-inf")} if isinstance(last, float) and isnan(last) else {"$gt": last}}
    # The least key would be found, too.
    yield {"_id": {"$not": {"$type": list(TYPES[1 : rank(last) + 1])}}}
