"""The task of a source that reads the log of a database: the rows that are there, then the log."""

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from typing import ClassVar, Generic, Protocol, TypeVar

from rocketconnect_sdk.changes.snapshots.incremental import Requests
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.capture import Capture
from rocketconnect_sdk.database_logs.locked import TableLocked
from rocketconnect_sdk.database_logs.watermarks import PARTITION, Watermark
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.record import Offset, Position, SourceBatch
from rocketconnect_sdk.source import SourceTask

_IDLE_SECONDS = 0.005


class SnapshotRows(Protocol):
    """The rows that were there before the log, while they are read."""

    finished: bool
    """There are no more."""

    @property
    def left(self) -> int | None:
        """About how many rows there are still to read; None: nobody knows."""
        ...

    def poll(self) -> SourceBatch | None:
        """The next rows; None: none have come yet, or there are no more."""
        ...

    def close(self) -> None:
        """End the transaction. Calling it again does nothing."""
        ...


class LogReader(Protocol):
    """The log as batches."""

    def poll(self) -> Sequence[SourceBatch]:
        """The next changes; none after a moment without any."""
        ...


M = TypeVar("M", bound=Watermark)
L = TypeVar("L", bound=LogReader)
L_contra = TypeVar("L_contra", contravariant=True)


class ChunkReader(Protocol[L_contra]):
    """Rows that are read in chunks while the log is read: see changes.snapshots.chunked."""

    @property
    def is_open(self) -> bool:
        """See Chunks."""

    def poll(self, log: L_contra) -> Sequence[SourceBatch]:
        """What can be given now."""
        ...

    def close(self) -> None:
        """End its transaction. Calling it again does nothing."""
        ...


class LogTask(SourceTask, Generic[M, L]):
    """Copies the tables of a database, and then gives each change.

    A subclass opens what it holds in `open_at` and in `open_log`, and says how far it is. Whatever fails for the moment closes
    all, and the next poll opens it again behind what was given.

    Args:
        capture: As configured.
        context: Of the task.

    Attributes:
        altered: What a snapshot raises when its transaction can't read a table any more, and another one can.
        look_seconds: How often `look_around` is called.
        context: Of the task.
        mark: How far the log is done; None: the task was never open.
        snapshot: What reads the rows that are there; None: they are read, or are not to be.
        log: What reads the log; None: nothing does yet.
        chunks: What reads rows in chunks, as long as the log is read.
        ready: What is to be given next.
        requests: What people have asked for; `open_at` sets it.
        stored: The position of each partition that is stored.
        looked_at: When the server was looked at, by the monotonic clock.
        unstored: What was told to the task, and is not stored yet: the offset of each such partition.
    """

    altered: ClassVar[type[Exception]]
    look_seconds: ClassVar[float] = 5.0
    remaining_unit = "bytes"
    requests: Requests

    def __init__(self, capture: Capture, context: TaskContext) -> None:
        self.context = context
        self.mark: M | None = None
        self.snapshot: SnapshotRows | None = None
        self.log: L | None = None
        self.chunks: ChunkReader[L] | None = None
        self.ready: deque[SourceBatch] = deque()
        self.stored: dict[str, Offset] = {}
        self.unstored: dict[str, Offset] = {}
        self._capture = capture
        self._is_open = False
        self.looked_at = 0.0

    @abstractmethod
    def open_at(self, positions: Mapping[str, Offset]) -> M:
        """Open what is held, and begin or go on behind what was given.

        Sets `requests`; and `snapshot`, by `read_snapshot`, where rows are to be read.

        Args:
            positions: Of all partitions; without that of the log the task begins.

        Returns:
            How far the log is done.

        Raises:
            SystemAway, RetriableError: later it may work.
            PermanentError: it can't go on.
        """

    @abstractmethod
    def open_log(self, mark: M) -> None:
        """Set `log` and `chunks`: the log is read from there on."""

    @abstractmethod
    def read_on(self, held: M) -> M | None:
        """Up to where the log was read, with the snapshot done; None: no further than `held`."""

    @abstractmethod
    def is_at_end(self, mark: M) -> bool:
        """Whether the log was read to where it ended when the task was opened."""

    @abstractmethod
    def left_of_log(self) -> int | None:
        """Bytes of the log that are still to be read, or to be stored; None: nobody knows."""

    @abstractmethod
    def ask(self, tables: Sequence[str], condition: str) -> list[SourceBatch]:
        """Ask for rows of tables: see changes.snapshots.asking.

        Raises:
            ValueError: what is wrong with which of them.
            ConnectorError: the server does not answer, or refuses the condition.
        """

    def look_around(self) -> None:
        """Look at the server, now and then while its log is read. May put batches into `ready`."""

    def before_log(self) -> None:
        """Do what must wait until all that was read has been given. May put batches into `ready`."""

    def close_more(self) -> None:
        """Close what else is held."""

    def read_snapshot(self, rows: SnapshotRows) -> None:
        """The rows that are there are read first."""
        self.snapshot, self.remaining_unit = rows, "rows"

    def ask_for_all(self, tables: Sequence[object]) -> None:
        """All of these tables are to be read in chunks, but those for which it was asked already.

        Raises:
            PermanentError: what is wrong with which of them.
        """
        # One that the task had asked for before it had a place in the log is asked for.
        new = [str(name) for name in tables if not self.requests.place(str(name))]
        try:
            self.ready.extend(self.ask(new, ""))
        except ValueError as error:
            raise PermanentError(str(error)) from error

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self.close()
        self.ready.clear()
        self.stored = {name: position.offset for name, position in positions.items()}
        self.unstored = {}
        self._reached: dict[str, Offset] = dict(self.stored)
        """Up to where each partition was given."""
        self._given: dict[str, Offset] = {}
        """The same, of partitions of tables that were given since the log's position moved."""
        self._waiting: tuple[M, dict[str, Offset]] | None = None
        """Where the log's position moves to when these are stored."""
        self._beat = 0.0
        if self.context.columns:
            from rocketconnect_sdk.changes import arrays

            arrays.prepare()
        self._open()

    def poll(self) -> SourceBatch | None:
        """See SourceTask."""
        if not self.ready:
            try:
                if not self._is_open:
                    self._open()
                self._read()
            except self.altered as error:
                self.context.log.info("the snapshot goes on in a new transaction: %s", error)
                self.close()
                return None
            except TableLocked as error:
                # Who waits for the table may wait for our own chunk, whose transaction keeps it as it is.
                is_ours = self.chunks is not None and self.chunks.is_open
                self.close()
                if not is_ours:
                    raise
                self.context.log.info("the chunk is read again, so that others get on: %s", error)
                return None
            except (SystemAway, RetriableError):
                # It goes on behind what was given, when the server is there again.
                self.close()
                raise
        if not self.ready:
            return None
        batch = self.ready.popleft()
        self._reached[batch.partition] = end = batch.end or batch.offsets[-1]
        if batch.partition != PARTITION:
            self._given[batch.partition] = end
        return batch

    def committed(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self.stored.update({name: position.offset for name, position in positions.items()})
        for partition in [name for name, offset in self.unstored.items() if self.stored.get(name, ()) >= offset]:
            del self.unstored[partition]
            self.context.log.info("what was told of %s is stored", partition)

    def signal(self, name: str, arguments: Mapping[str, str]) -> str:
        """See SourceTask. What is asked for is durable when the next positions are stored, which the log of the task says."""
        if not self._capture.log:
            msg = "snapshot.mode=only reads no log, which incremental snapshots need: take another one"
            raise ValueError(msg)
        if not self._is_open:
            self._open()
        made = self.requests.obey(name, arguments, self.ask)
        moved = {batch.partition: batch.end for batch in made}
        # Of a snapshot that is stopped nothing more is given.
        self.ready = deque(batch for batch in self.ready if batch.partition not in moved)
        self.ready.extend(made)
        self.unstored.update(moved)
        return self.requests.told

    def remaining(self) -> int | None:
        """Bytes of the log, as long as it was some seconds ago; of a snapshot about how many rows."""
        return self.left_of_log() if self.snapshot is None else self.snapshot.left

    @property
    def idle_seconds(self) -> float:
        """A poll waits for the server itself."""
        return _IDLE_SECONDS

    @property
    def caught_up(self) -> bool:
        """See SourceTask. The server sends its log in its own time."""
        if self.snapshot is not None or self.mark is None or (self.requests.open and not self.requests.paused):
            return False
        return not self._capture.log or self.is_at_end(self.mark)

    @property
    def finished(self) -> bool:
        """When only the rows that were there are wanted, and they are read."""
        done = self.mark is not None and self.mark.snapshot_done
        return done and not self._capture.log and self.snapshot is None and not self.ready

    def close(self) -> None:
        """See SourceTask."""
        self._is_open = False
        for held in (self.snapshot, self.chunks):
            if held is not None:
                held.close()
        self.close_more()
        self.snapshot = self.log = self.chunks = None

    def _open(self) -> None:
        """All that is held, behind what was given."""
        self.mark = self.open_at(dict(self._reached))
        if PARTITION not in self._reached:
            # Behind what was asked for: who has a place in the log has that, too.
            self.ready.append(SourceBatch(PARTITION, [], [], end=self.mark.offset))
        self._is_open = True

    def _read(self) -> None:
        if self.ready:
            return
        if self.snapshot is not None:
            batch = self.snapshot.poll()
            if batch is not None:
                self.ready.append(batch)
            if not self.snapshot.finished:
                return
            self.snapshot.close()
            self.snapshot, self.remaining_unit = None, "bytes"
        # All that was read has been given by now, also where there is always more.
        self._move_watermark()
        if not self._capture.log:
            return
        if time.monotonic() - self.looked_at >= self.look_seconds:
            self.look_around()
            self.looked_at = time.monotonic()
        self.before_log()
        if not self.ready:
            self._read_log()

    def _read_log(self) -> None:
        if self.log is None and self.mark is not None:
            self.open_log(self.mark)
        if self.log is not None and self.chunks is not None:
            self.ready.extend(self.chunks.poll(self.log))
            if not self.ready:
                self.ready.extend(self.log.poll())

    def _move_watermark(self) -> None:
        """Everything read so far is behind it as soon as all that was given by now is stored."""
        held = self.mark
        if held is None:
            return
        if self._waiting is None:
            if held.snapshot_done and time.monotonic() - self._beat < self._capture.heartbeat:
                return
            mark = self.read_on(held)
            if mark is None:
                return
            self._waiting = mark, dict(self._given)
        mark, given = self._waiting
        if all(self.stored.get(partition, ()) >= offset for partition, offset in given.items()):
            self._waiting, self.mark, self._beat = None, mark, time.monotonic()
            self._given = {name: offset for name, offset in self._given.items() if given.get(name) != offset}
            self.ready.append(SourceBatch(PARTITION, [], [], end=mark.offset))
