"""A sink task: pull -> drop duplicates -> convert -> write -> commit. This thread writes; a reader thread runs ahead of it."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from rocketconnect_kit.clock import bounded_floor
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketmq_remoting.model import MessageQueue
from services.executor.contract.metrics import OpenBatch, QueueLag
from services.executor.contract.spans import said_within
from services.executor.contract.task import Outcome, State
from services.executor.runtime.errors.attempts import FENCED, Stopped
from services.executor.runtime.errors.outcomes import failed
from services.executor.runtime.positions.client import Fenced
from services.executor.runtime.positions.committer import Committer
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq.group_offsets import GroupOffsets
from services.executor.runtime.rocketmq.message_trace import MessageTrace
from services.executor.runtime.rocketmq.queue_names import text
from services.executor.runtime.sink.batcher import Batcher, Waiting
from services.executor.runtime.sink.commit_guard import CommitGuard
from services.executor.runtime.sink.dead_letters import SinkDeadLetters
from services.executor.runtime.sink.decode.part import BadRecord, Part, written_bytes
from services.executor.runtime.sink.engines import Engine
from services.executor.runtime.sink.positions import commit_of, from_stored, moved_to, to_stored
from services.executor.runtime.sink.query.engine import QueryEngine
from services.executor.runtime.sink.queues import SinkQueues
from services.executor.runtime.sink.read_again import marks_before
from services.executor.runtime.sink.reader import SinkReader
from services.executor.runtime.sink.refusals import RejectedRecords, Stop, Stopping, before, first_refused
from services.executor.runtime.sink.traces import SinkTraces, trace_of
from services.executor.runtime.task.meter import Meter
from services.executor.runtime.task_runtime import TaskRuntime

COMMIT_SECONDS = 1.0
TAKE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Started:
    """What the start of a sink task has made.

    Attributes:
        runtime: What every task has.
        engine: Writes.
        reader: Pulls what is written.
        batcher: Where it waits.
        dead_letters: Where bad records go.
        share: The queues of the task.
        positions: Where each of them is begun.
        group: The consumer group that shows how far they are read.
        traces: Follows traced messages; None: nothing is traced.
        message_trace: Where RocketMQ's message trace is written; None: it is not.
    """

    runtime: TaskRuntime
    engine: Engine
    reader: SinkReader
    batcher: Batcher
    dead_letters: SinkDeadLetters
    share: SinkQueues
    positions: Mapping[MessageQueue, QueuePosition]
    group: str
    traces: SinkTraces | None = None
    message_trace: MessageTrace | None = None


class SinkRun:
    """The loop of a sink task whose start is made: see start. Used by one thread."""

    def __init__(self, started: Started) -> None:
        runtime, batcher, positions = started.runtime, started.batcher, started.positions
        self._runtime = runtime
        self._engine = started.engine
        self._reader = started.reader
        self._batcher = batcher
        self._dead_letters = started.dead_letters
        self._share = started.share
        self._traces = started.traces
        self._message_trace = started.message_trace
        self._control = runtime.control
        self._limits = runtime.endpoints.limits
        self._metrics = runtime.reporter.metrics
        self._passed = self._metrics.gap_messages
        self._meter = Meter(runtime.reporter, time.monotonic())
        self._meter.stored(position.stored_ms for position in positions.values())
        self._queues = {text(queue): queue for queue in positions}
        self._positions = {text(queue): position for queue, position in positions.items()}
        self._committer = Committer(runtime.positions, COMMIT_SECONDS, batcher.wake, self._stored)
        self._follows = runtime.config["on.group.reset"] == "follow"
        self._group_name = started.group
        self._group = GroupOffsets(
            runtime.client, started.group, runtime.spec.connector, runtime.reporter.log, follows=self._follows
        )
        # Once: what changes is reported, and the two clocks never run quite alike.
        self._clock = time.time() - time.monotonic()
        """How far the clock of the day is ahead of the monotonic one."""
        self._durable: Mapping[str, QueuePosition] = self._positions
        """Before these everything is durable."""
        self._holds = False
        """The sink has records that are not durable."""
        self._full = ""
        """Why nothing more is written now, for people; empty: it is."""
        self._wrong = ""
        """Why it drops what it reads, for people, where restarts do not explain that; empty: they do, or it does not."""
        self._failure: Exception | None = None
        self._unwritten = False
        """The time for a clean end was over before a batch could be written: nothing behind it may be."""
        self.begins_anew = False
        """It has ended because there are other queues to read: the task is to begin again at once, under the same epoch."""

    def run(self) -> Outcome:
        """Writes until it is to stop, cannot go on, or has to begin anew.

        Raises:
            Fenced: somebody else owns the task.
        """
        # Behind a position that was moved by hand the group stands elsewhere, and a commit may not follow soon.
        self._group.show({self._queues[name]: position.until for name, position in self._positions.items()})
        self._reader.tell_lag = self._tell_lag
        self._reader.start()
        try:
            while not self._control.stopping.is_set() and self._failure is None and not self.begins_anew:
                self._step()
            return self._end()
        finally:
            self._reader.close()
            self._group.close()
            if self._message_trace is not None:
                self._message_trace.close()

    def _step(self) -> None:
        self._batcher.drain(draining=self._control.paused)
        parts = self._next(TAKE_SECONDS)
        if parts:
            self._try(partial(self._write, parts))
        elif self._reader.error is not None:
            self._failure = self._reader.error
        self._after_write(idle=not parts)
        self._look_for_resets()
        self._committer.poll(soon=not parts)
        # A broker tells who pulls: who is paused and follows is told when it goes on.
        self._group.watch(time.monotonic(), may_look=not (self._follows and self._control.paused))
        self._say(idle=not parts)
        if self._share.changed():
            self._runtime.reporter.log("INFO", "its topics have other queues: begins anew, to read its share of them")
            self.begins_anew = True

    def _look_for_resets(self) -> None:
        resets = self._runtime.resets.waiting()
        if not resets:
            return
        if not self._follows:
            self._group.was_reset(self._runtime.resets.take())
            return
        told = ", ".join(f"{text(queue)}: {to}" for queue, to in sorted(resets.items()))
        self._runtime.reporter.log("INFO", f"somebody has reset group {self._group_name}: goes on where that was ({told})")
        self.begins_anew = True

    def _next(self, seconds: float) -> list[Part]:
        return self._batcher.take(seconds)

    def _after_write(self, *, idle: bool) -> None:
        """What there is to do besides, in each step."""

    def _try(self, write: Callable[[], None]) -> None:
        """Writes a batch; what ends the task is kept until its earlier batches are committed."""
        try:
            write()
        except Fenced:
            raise
        except Stopped:
            self._unwritten = True
        except Exception as error:  # becomes the outcome of the task
            self._failure = error

    def _write(self, parts: Sequence[Part]) -> None:
        """Writes a batch, however long that takes, and moves the positions behind it."""
        if self._traces is None:
            self._write_parts(parts)
        else:
            with said_within(next(filter(None, map(trace_of, parts)), "")):
                self._write_parts(parts)

    def _write_parts(self, parts: Sequence[Part]) -> None:
        self._meter.say(time.monotonic(), "", work=True, wrong=self._wrong)
        self._metrics.open_batch = self._open_batch()
        try:
            self._put(parts)
        except RejectedRecords as refusal:
            # Invariant 5: the task ends at these records, behind all that is before them.
            self._put(before(parts, self._stops(refusal), refusal))
        except Stopping as stop:
            msg = f"{stop}. {self._runtime.policy.leaving_out(stop.beyond, 'message')}"
            raise PermanentError(msg) from stop

    def _gate(self, bad: Sequence[BadRecord] = ()) -> CommitGuard:
        return CommitGuard(self._runtime, self._dead_letters, bad, attrgetter("place"), attrgetter("beyond"))

    def _put(self, parts: Sequence[Part]) -> None:
        commit = commit_of(self._runtime.spec, self._positions, parts)
        bad = [record for part in parts for record in part.bad]
        ready = self._gate(bad)
        began = self._traces.now() if self._traces is not None else 0
        refused: Sequence[BadRecord] = ()
        if commit.after != commit.before:
            try:
                refused = self._insist(parts, commit, ready)
            except BaseException as error:
                self._engine.give_up()
                if self._traces is not None and not isinstance(error, RejectedRecords):
                    self._traces.written(parts, began, str(error) or type(error).__name__)
                raise
        if self._traces is not None:
            self._traces.written(parts, began)
        self._positions.update(commit.after)
        self._note(parts, [*bad, *refused])
        self._written(parts, commit)
        self._count(parts, commit.rows, refused)
        self._failure = next((part.error for part in parts if part.error is not None), None)

    def _written(self, parts: Sequence[Part], commit: SinkCommit) -> None:
        """Invariant 2: durable in the sink, so the position may move."""
        wall = time.time()
        for part in parts:
            self._meter.arrived(wall, part.first_ms, part.last_ms, trace_of(part))
        self._meter.stored(position.stored_ms for position in commit.after.values())
        self._committer.put({queue: to_stored(position) for queue, position in commit.after.items()})
        self._tell_durable(commit.after)

    def _note(self, parts: Sequence[Part], bad: Sequence[BadRecord]) -> None:
        """What the message trace tells of these when they are durable."""
        for part in parts:
            if self._message_trace is not None and part.noted is not None:
                failed = {record.offset for record in bad if record.queue == part.queue}
                noted = part.noted.within(part.start, part.until)
                self._message_trace.written(part.queue, part.until, part.arrived, noted, failed)

    def _tell_durable(self, positions: Mapping[str, QueuePosition]) -> None:
        if self._message_trace is not None:
            self._message_trace.durable({queue: position.until for queue, position in positions.items()})

    def _insist(self, parts: Sequence[Part], commit: SinkCommit, ready: CommitGuard) -> Sequence[BadRecord]:
        def write() -> Sequence[BadRecord]:
            with ready:
                return self._engine.write(parts, commit, ready)

        return self._runtime.attempts.insist("writing to the sink", write, drain=self._limits.drain)

    def _stops(self, refusal: RejectedRecords) -> Mapping[str, Stop]:
        stops = {}
        for name, offset in first_refused(refusal.records).items():
            position = self._positions[name]
            read = partial(marks_before, self._runtime.client, self._queues[name], position, offset, self._reader.was_reset)
            marks = self._runtime.attempts.insist("reading again what is before a refused message", read, drain=self._limits.drain)
            # Without the marks nothing of the queue may move: duplicates would not be known any more.
            stops[name] = Stop(position.until, {}) if marks is None else Stop(offset, marks)
        return stops

    def _count(self, parts: Sequence[Part], rows: int, refused: Sequence[BadRecord]) -> None:
        now = time.monotonic()
        self._meter.read(sum(part.read for part in parts), sum(part.records.size for part in parts))
        self._metrics.duplicates_skipped += sum(part.duplicates for part in parts)
        self._meter.batch(now - parts[0].arrived)
        self._meter.moved(now, rows - len(refused), written_bytes(parts, refused))

    def _stored(self, positions: Mapping[str, Stored]) -> None:
        self._metrics.commits += 1
        if isinstance(self._engine, QueryEngine):
            passed = {queue: from_stored(position) for queue, position in positions.items() if not position.reset_group}
            self._engine.stored(passed)
        self._group.show({self._queues[queue]: stored.offset[0] for queue, stored in positions.items()})

    def _say(self, *, idle: bool) -> None:
        now = time.monotonic()
        self._meter.sample(now, self._batcher.size)
        self._metrics.late_skipped = self._reader.late
        self._metrics.dropped_in_a_row = self._reader.dropping.in_a_row
        self._metrics.gap_messages = self._passed + self._reader.passed
        self._metrics.open_batch = self._open_batch()
        self._tell_lag()
        if self._control.paused:
            if idle:
                self._runtime.reporter.work(False)
                self._runtime.reporter.state(State.PAUSED)
            return
        working = not idle or not self._reader.caught_up
        trouble = self._reader.trouble or self._share.trouble or self._full
        if not trouble and idle and not self._committer.idle:
            trouble = self._committer.trouble
        wrong = self._reader.dropping.said(now)
        # Once: its numbers change all the time, and each change is a line in the log.
        self._wrong = (self._wrong or wrong) if wrong else ""
        self._meter.say(now, trouble, work=working, gathering=self._batcher.size > 0 or self._holds, wrong=self._wrong)

    def _tell_lag(self) -> None:
        """Called by the reader, too."""
        ends = self._reader.known_ends()
        self._metrics.lags = tuple(
            QueueLag(queue, max(0, ends[queue] - position.until), position.until)
            for queue, position in tuple(self._durable.items())
            if queue in ends
        )

    def _open_batch(self) -> OpenBatch | None:
        waiting = self._waiting()
        if waiting is None:
            return None
        due = None if waiting.due is None else waiting.due + self._clock
        return OpenBatch(waiting.records, waiting.since + self._clock, due)

    def _waiting(self) -> Waiting | None:
        """The records that wait to be written, as the sink wants it."""
        return self._batcher.open_batch()

    def _end(self) -> Outcome:
        """Writes what was read, within its limits, and commits: a batch that is not written is read again by the next owner."""
        if self._control.fenced:
            raise Fenced(FENCED)
        drained = self._failure is not None or self._drain()
        drained = self._settle() and drained
        self._metrics.open_batch = self._open_batch()
        # Invariant 2: all that is durable is committed; the rest was never begun or was undone.
        stored = self._flush()
        if self._failure is not None:
            return failed(self._failure, clean=stored)
        return Outcome(clean=drained and stored)

    def _flush(self) -> bool:
        """Stores where it is, or where its group was reset to; whether that is stored."""
        moves = False
        if self._follows:
            # What is told later, as the answer to a pull that is under way, is for the run that begins anew here.
            floor, _ = bounded_floor(time.time(), self._runtime.spec.epoch)
            for queue, offset in self._runtime.resets.take().items():
                if (position := self._positions.get(text(queue))) is not None:
                    self._committer.put({text(queue): moved_to(position, offset, self._group_name, floor)})
                    moves = True
        while not (stored := self._committer.flush(self._control.after_stop(self._limits.commit), clean=True)):
            if not moves:
                return False
            if self._control.stopping.is_set():
                told = f"a reset of group {self._group_name} may not be followed: where it goes on is not stored. Repeat it"
                self._runtime.reporter.log("WARNING", f"{told} ({self._committer.trouble})")
                return False
            # No broker tells of a reset again.
            self._runtime.reporter.state(State.WAITING, self._committer.trouble)
        return stored

    def _settle(self) -> bool:
        """Makes durable what was written; whether all of it is."""
        return True

    def _drain(self) -> bool:
        self._reader.close()
        self._batcher.drain(draining=True)
        while self._failure is None and not self._unwritten and (parts := self._next(0)):
            self._try(partial(self._write, parts))
        return not self._unwritten
