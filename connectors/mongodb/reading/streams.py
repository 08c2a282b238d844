"""A change stream, read from a place on.

https://www.mongodb.com/docs/manual/changeStreams/
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from bson.raw_bson import RawBSONDocument
from bson.timestamp import Timestamp
from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from connectors.mongodb.client import own_errors
from connectors.mongodb.reading.changes import INVALIDATE, event_of, time_of
from connectors.mongodb.reading.documents import decoded, restored
from connectors.mongodb.reading.events import STREAM, Event, Lost, gather
from connectors.mongodb.reading.settings import DEFAULT, LOOKUP, Settings
from rocketconnect_sdk.changes import Operation
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.record import Offset, Position

if TYPE_CHECKING:
    from pymongo.change_stream import ChangeStream

_WAIT_MS = 50
_SECONDS = 0.1
_LOST = frozenset({136, 260, 286})
"""CappedPositionLost, InvalidResumeToken, ChangeStreamHistoryLost."""
_FATAL = 280
"""ChangeStreamFatalError: a token is not found, or the pipeline takes it away."""
_NO_IMAGE, _TOO_LARGE = 47, 10334
"""NoMatchingDocument: a document before or after a change was required; BSONObjectTooLarge."""
_FIXES = {
    _NO_IMAGE: "Have the collection keep documents before and after changes (changeStreamPreAndPostImages), or set whenAvailable",
    _TOO_LARGE: "An event with its documents is beyond 16 MiB: set change.stream.full.document=default, and "
    "change.stream.full.document.before.change=off",
}


class Stream:
    """Reads a change stream.

    Args:
        client: Of the server, with raw documents.
        settings: As configured.
        context: Of the task.

    Attributes:
        partition: See SourceBatch.
        at_end: Whether the last poll found the end.
    """

    partition = STREAM

    def __init__(self, client: MongoClient[Any], settings: Settings, context: TaskContext) -> None:
        self._client = client
        self._settings = settings
        self._context = context
        self._stream: ChangeStream[Any] | None = None
        self._behind: Offset = ()
        self._until: Offset = ()
        """Where the log ended when it was opened."""
        self.at_end = False

    def first(self) -> Position:
        """The place before all events that are there, which no server tells."""
        msg = "a change stream has no first event that could be known: set capture.mode=oplog, or another snapshot.mode"
        raise PermanentError(msg)

    def end(self) -> Position:
        """The place behind all that has happened by now."""
        with own_errors(self._settings.place):
            moment = self._client.admin.command("ping").get("operationTime")
        if not isinstance(moment, Timestamp):
            msg = f"{self._settings.place}: the server gives no time of the cluster: it is no MongoDB that has change streams"
            raise PermanentError(msg)
        return Position((moment.time, moment.inc + 1, 0))

    def open(self, position: Position) -> None:
        """Goes on behind a place.

        Raises:
            Lost: what is behind it was removed.
            PermanentError: the position is none.
        """
        self.close()
        token = position.resume.get("token")
        try:
            held = None if token is None else restored(str(token))
        except (ValueError, TypeError) as error:
            msg = f"the position of {STREAM} has no token of a change stream: put back one that it had"
            raise PermanentError(msg) from error
        self._behind = position.offset
        seconds, number, _ = self.end().offset
        self._until = seconds, number - 1
        self._watch(held, Timestamp(*position.offset[:2]))

    def _watch(self, token: Any, since: Timestamp) -> None:
        settings = self._settings
        # What comes behind an invalidation can only be entered by startAfter.
        place = {"start_at_operation_time": since} if token is None else {"start_after": token}
        target = self._client.get_database(settings.chosen.database) if settings.chosen.database else self._client
        with self._explained():
            self._stream = target.watch(
                list(settings.pipeline),
                full_document=None if settings.full == DEFAULT else settings.full,
                full_document_before_change=None if settings.before == "off" else settings.before,
                max_await_time_ms=_WAIT_MS,
                **place,
            )

    def poll(self) -> Sequence[Event]:
        """The next events; none after a moment without any. The last one may only say how far the stream was read.

        Raises:
            Lost: what is behind the last event was removed.
            SystemAway, PermanentError: see own_errors.
        """
        found: list[Event] = []
        count, size, until = 0, 0, time.monotonic() + _SECONDS
        self.at_end = False
        while count < self._context.batch_records and size < self._context.batch_bytes and time.monotonic() < until:
            with self._explained():
                change = None if self._stream is None else self._stream.try_next()
            if change is None:
                found += self._passed()
                break
            before = count
            count = gather(found, self._event(bytes(change.raw)), self._settings.chosen)
            size += len(change.raw) if count > before else 0
        return found

    def _event(self, data: bytes) -> Event:
        change, flaw = decoded(data)
        event = event_of(change, self._behind)
        event.raw, event.flaw = data, flaw
        self._behind = event.offset
        if event.op is Operation.UPDATE and event.document is None and self._settings.full == LOOKUP and not flaw:
            # It is gone by now, and its deletion comes.
            event.op = None
        if change.get("operationType") == INVALIDATE:
            self._context.log.info("the change stream was ended by the server: it goes on in another one")
            self._end()
            self._watch(change["_id"], Timestamp(*event.offset[:2]))
        return event

    def _passed(self) -> Iterator[Event]:
        """How far the stream was read where there are no events, by the token that comes with their absence."""
        token: Any = None if self._stream is None else self._stream.resume_token
        held = decoded(bytes(token.raw))[0] if isinstance(token, RawBSONDocument) else token
        at = time_of(held)
        # The server looks for events for a while, and then says how far it came.
        self.at_end = at is None or (at.time, at.inc) >= self._until
        if at is not None and (at.time, at.inc, 0) > self._behind:
            self._behind = (at.time, at.inc, 0)
            yield Event(self._behind, token=held)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Like own_errors, with what change streams have of their own.

        Raises:
            Lost: see open.
        """
        with own_errors(self._settings.place):
            try:
                yield
            except OperationFailure as error:
                message = str((error.details or {}).get("errmsg", error))
                if error.has_error_label("ResumableChangeStreamError"):
                    msg = f"{self._settings.place}: the server ends the change stream for now: {message}"
                    raise SystemAway(msg) from error
                if error.code in _LOST or (error.code == _FATAL and "not found" in message):
                    msg = f"the events behind the place that was read last were removed: {message}"
                    raise Lost(msg) from error
                if error.code in _FIXES:
                    msg = f"{self._settings.place}: {message}. {_FIXES[error.code]}"
                    raise PermanentError(msg) from error
                raise

    def _end(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            with suppress(PyMongoError, OSError):
                stream.close()

    def close(self) -> None:
        """Ends it. Calling it again does nothing."""
        self._end()
