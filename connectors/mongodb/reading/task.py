"""The task: the documents that are there, then their changes."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from connectors.mongodb.client import client_of
from connectors.mongodb.reading.events import Event, Lost, RolledBack, resume_of
from connectors.mongodb.reading.oplog import Oplog
from connectors.mongodb.reading.records import Records
from connectors.mongodb.reading.settings import Settings
from connectors.mongodb.reading.snapshot import DONE, READING, Snapshot
from connectors.mongodb.reading.streams import Stream
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.polled import Polled
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import SourceTask

if TYPE_CHECKING:
    from pymongo import MongoClient

SNAPSHOT = "snapshot"
"""The source partition of all collections: (run, 1) when their snapshot has begun, (run, 2) when it is stored as a whole."""
_IDLE_SECONDS = 0.05
_ACCEPT = "Set on.gap=skip to go on without it, or snapshot.mode=when_needed to read all documents anew"
_RESET = "look what the server has lost, then reset the connector"


class MongodbTask(SourceTask):
    """Copies collections, and then gives each change.

    The log is read from a place on that was there before the first document was read, and its position is stored before that. So
    whatever happens between is given by the log; what a document was meanwhile, it may be once more.

    Args:
        settings: As configured.
        context: Of the task.
    """

    remaining_unit = "documents"

    def __init__(self, settings: Settings, context: TaskContext) -> None:
        self._settings = settings
        self._context = context
        self._client: MongoClient[Any] | None = None
        self._log: Oplog | Stream | None = None
        self._snapshot: Snapshot | None = None
        self._ready: deque[SourceBatch] = deque()
        self._reached: dict[str, Position] = {}
        self._stored: dict[str, Position] = {}
        self._unstored: tuple[int, set[str]] | None = None
        """The run of a snapshot that was read, and its partitions, which are not all stored."""
        self._beat = 0.0
        self._lost: Lost | None = None
        """What a poll has found to be lost."""

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self.close()
        self._ready.clear()
        self._reached, self._stored = dict(positions), dict(positions)
        self._unstored = self._lost = None
        try:
            self._open()
        except Lost as error:
            self._give_up()
            raise RetriableError(str(error)) from error
        except (SystemAway, RetriableError):
            self._give_up()
            raise

    def poll(self) -> Polled:
        """See SourceTask."""
        try:
            if self._client is None:
                self._open()
            if not self._ready:
                self._read()
        except Lost as error:
            # When it is opened again it is decided what is to be done.
            self._lost = error
            self._give_up()
            raise RetriableError(str(error)) from error
        except (SystemAway, RetriableError):
            self._give_up()
            raise
        batches = list(self._ready)
        self._ready.clear()
        for batch in batches:
            self._reached[batch.partition] = Position(batch.end or batch.offsets[-1], batch.resume or {})
        return batches or None

    def committed(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self._stored.update(positions)

    @property
    def idle_seconds(self) -> float:
        """See SourceTask."""
        return _IDLE_SECONDS

    @property
    def caught_up(self) -> bool:
        """See SourceTask."""
        return self._snapshot is None and (self._settings.mode == "only" or (self._log is not None and self._log.at_end))

    @property
    def finished(self) -> bool:
        """When only the documents that were there are wanted, and they are read."""
        return self._settings.mode == "only" and self._client is not None and self._snapshot is None and not self._ready

    def remaining(self) -> int | None:
        """About how many documents a snapshot has still to read. See SourceTask."""
        return None if self._snapshot is None else self._snapshot.left

    def close(self) -> None:
        """See SourceTask."""
        log, client = self._log, self._client
        self._log = self._client = self._snapshot = None
        if log is not None:
            log.close()
        if client is not None:
            client.close()

    def _give_up(self) -> None:
        """The next poll begins behind what was given."""
        self._ready.clear()
        self.close()

    def _open(self) -> None:
        """All that is held, behind what was given."""
        settings, context = self._settings, self._context
        self._client = client = client_of(settings.config, raw=True)
        self._records = Records(settings, context.connector)
        log = None if settings.mode == "only" else (Oplog if settings.oplog else Stream)(client, settings, context)
        state = self._reached.get(SNAPSHOT, Position(())).offset
        run = state[0] if state else 1
        at = None if log is None else self._reached.get(log.partition)
        begins = not state if log is None else at is None
        if log is not None:
            if at is None:
                at = log.first() if settings.mode == "earliest" else log.end()
                self._move(log.partition, at)
            taken = self._entered(log, at)
            if taken is not at and settings.mode == "when_needed":
                run, begins = run + 1, True
        if (begins and settings.reads) or state[1:] == (READING,):
            if begins:
                self._move(SNAPSHOT, Position((run, READING)))
            self._unstored = run, set()
            self._snapshot = Snapshot(client, settings, self._records, self._reached, run, context)
        self._log = log

    def _entered(self, log: Oplog | Stream, at: Position) -> Position:
        """Goes on at a place, or behind what is lost there.

        Raises:
            PermanentError: something is lost, and nothing says that it may be.
        """
        try:
            if self._lost is not None:
                raise self._lost
            log.open(at)
        except Lost as error:
            self._lost = None
            anew = self._settings.mode == "when_needed"
            rolled = isinstance(error, RolledBack)
            told = f"{self._settings.place}: {error}{': it was rolled back' if rolled else ', and never read'}"
            if not anew and not self._settings.skip:
                more = "" if rolled else ". Have the oplog keep more hours (oplogMinRetentionHours)"
                msg = f"{told}. {_ACCEPT}{more}"
                raise PermanentError(msg) from error
            end = log.end()
            place = end if anew or error.place is None else Position((*error.place, 0))
            if end.offset <= at.offset:
                msg = f"{told}. Its places come again, and records there could not be told from those before: {_RESET}"
                raise PermanentError(msg) from error
            accepted = "all documents are read anew" if anew else "skipped, as on.gap=skip says"
            self._context.log.warning("%s; %s", told, accepted)
            self._move(log.partition, place)
            log.open(place)
            return place
        return at

    def _move(self, partition: str, position: Position) -> None:
        self._ready.append(SourceBatch(partition, [], [], end=position.offset, resume=position.resume or None))

    def _read(self) -> None:
        if self._snapshot is not None:
            if self._snapshot.finished:
                self._unstored = None if self._unstored is None else (self._unstored[0], self._snapshot.partitions)
                self._snapshot = None
            else:
                self._ready.extend(self._snapshot.poll())
                return
        self._end_snapshot()
        if self._log is not None:
            self._give(self._log, self._log.poll())

    def _end_snapshot(self) -> None:
        """A snapshot is done when all of it is stored."""
        if self._unstored is None:
            return
        run, partitions = self._unstored
        if all(self._stored.get(each, Position(())).offset >= (run, DONE) for each in partitions):
            self._unstored = None
            self._move(SNAPSHOT, Position((run, DONE)))

    def _give(self, log: Oplog | Stream, events: Sequence[Event]) -> None:
        for event in events:
            if event.told and event.name is not None and (not event.name.collection or self._settings.chosen.takes(event.name)):
                self._context.log.warning("%s %s: targets keep the documents that they have", event.name, event.told)
        behind = self._reached.get(log.partition, Position(())).offset
        made = list(self._records.batches(log.partition, events, behind))
        self._ready.extend(made)
        if events and (last := events[-1]).offset > (made[-1].offsets[-1] if made else behind):
            if made:
                made[-1].end, made[-1].resume = last.offset, resume_of(last.token)
            elif time.monotonic() - self._beat >= self._settings.heartbeat:
                self._beat = time.monotonic()
                self._move(log.partition, Position(last.offset, resume_of(last.token) or {}))
