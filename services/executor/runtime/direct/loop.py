"""A direct task: a source and a record sink in one, without a topic between them. Source partitions take the place of queues."""

import time
from collections.abc import Mapping, Sequence
from functools import partial

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.record import Offset, Position, Rejected, SinkBatch, SourceBatch
from rocketconnect_sdk.sink import QueuePosition, RecordSinkTask, SourceMark
from rocketconnect_sdk.source import SourceTask
from services.executor.contract.task import Outcome, State
from services.executor.runtime.direct.traces import DirectTraces
from services.executor.runtime.errors.attempts import FENCED, FORMER_OWNER, Stopped
from services.executor.runtime.errors.failure import Failure, place_of
from services.executor.runtime.errors.outcomes import failed
from services.executor.runtime.positions.client import Fenced, Opened
from services.executor.runtime.positions.committer import Committer
from services.executor.runtime.positions.maps import MAP, UNTIL
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq.source_marks import mark_key
from services.executor.runtime.rocketmq.topics import TopicMaker, dead_letter_queues
from services.executor.runtime.sink.commit_guard import CommitGuard
from services.executor.runtime.sink.dead_letters import InSource, SinkDeadLetters
from services.executor.runtime.sink.decode.part import BadRecord, Part, written_bytes
from services.executor.runtime.sink.dropping import Dropping
from services.executor.runtime.sink.duplicates import LeftOut
from services.executor.runtime.sink.engines import NativeEngine
from services.executor.runtime.sink.positions import choose, commit_of
from services.executor.runtime.source.resuming import check_resume
from services.executor.runtime.task.keep_alive import KeptAlive
from services.executor.runtime.task.meter import Meter
from services.executor.runtime.task.signals import answer_signals
from services.executor.runtime.task_runtime import TaskRuntime
from services.executor.runtime.transforms import of_source

_COMMIT_SECONDS = 1.0
_LONGEST_WAIT = 0.5
_FLUSH_SECONDS = 5.0


class DirectRun:
    """One run of a direct task, in one thread. Call `run` once."""

    def __init__(self, runtime: TaskRuntime, source: SourceTask, sink: RecordSinkTask, context: TaskContext) -> None:
        self._runtime = runtime
        self._source = source
        self._sink = sink
        self._context = context
        self._control = runtime.control
        self._metrics = runtime.reporter.metrics
        self._meter = Meter(runtime.reporter, time.monotonic())
        self._engine = NativeEngine(sink, f"{runtime.spec.connector}-{runtime.spec.task}-{runtime.spec.epoch}", headers=True)
        self._committer = Committer(runtime.positions, _COMMIT_SECONDS, runtime.control.wake, self._stored)
        self._limit = runtime.limit()
        self._traces = DirectTraces.wanted(runtime.spec, runtime.endpoints.trace_records, runtime.reporter.span)
        context.batch_records, context.batch_bytes = self._limit.piece(context.batch_records, context.batch_bytes)
        self._opened = Opened({}, 0.0, clean=True, incarnation=0)
        self._positions: dict[str, QueuePosition] = {}
        self._letters = SinkDeadLetters(runtime, (), context.max_record_bytes, InSource())
        self._failure: Exception | None = None
        self._dropping = Dropping()
        self._wrong = ""
        """Why it drops what it reads, for people, where restarts do not explain that; empty: they do, or it does not."""
        self._starts: Mapping[str, Position] = {}
        self._mapped: set[str] = set()

    def run(self) -> Outcome:
        """Copies until it is to stop or cannot go on.

        Raises:
            Stopped, Fenced, GaveUp, PermanentError: it could not begin, or must not go on.
        """
        self._begin()
        while not self._control.stopping.is_set() and self._failure is None:
            self._step()
        if self._control.fenced:
            raise Fenced(FENCED)
        stored = self._committer.flush(self._control.after_stop(self._runtime.endpoints.limits.commit), clean=True)
        return Outcome(clean=stored) if self._failure is None else failed(self._failure, clean=stored)

    def _begin(self) -> None:
        runtime, insist = self._runtime, self._runtime.attempts.insist
        runtime.reporter.state(State.STARTING)
        self._opened = insist("opening the task at the position service", runtime.positions.open)
        runtime.attempts.wait_out(self._opened.wait, FORMER_OWNER)
        # Dead letters need a topic, though nothing else here does.
        topics = TopicMaker(runtime.client, auto_create=True, queues=1, topic_type="normal")
        dead = dead_letter_queues(runtime, topics)
        self._letters = SinkDeadLetters(runtime, dead, self._context.max_record_bytes, InSource())
        in_sink = insist("starting the sink", self._sink.start)
        names = {*self._opened.positions, *in_sink}
        for name in names:
            stored = self._opened.positions.get(name)
            known = None if stored is None else self._from_stored(name, stored)
            position = choose(known, in_sink.get(name), self._opened.incarnation)
            if position is not None:
                self._positions[name] = position
        self._starts = {name: start for name in self._positions if (start := self._start_of(name)) is not None}
        insist("starting the source", partial(self._source.start, self._starts))
        self._kept_alive = KeptAlive(self._source, runtime.reporter)
        runtime.attempts.meanwhile = self._kept_alive.keep
        runtime.attempts.beginning = False

    def _start_of(self, partition: str) -> Position | None:
        """Where the source goes on: at the mark in the sink, or, where a map is needed beside the offset, where there is one.

        What the sink has beyond that is read again, and left out by its mark.
        """
        position, stored = self._positions[partition], self._opened.positions.get(partition)
        if stored is not None and MAP in stored.resume and stored.incarnation == position.incarnation:
            return _of_source(stored) if stored.offset else None
        mark = self._mark(partition, position)
        return None if mark is None else Position(mark.offset)

    def _mark(self, partition: str, position: QueuePosition) -> SourceMark | None:
        return position.marks.get(mark_key(self._runtime.spec.connector_uid, partition))

    def _from_stored(self, partition: str, stored: Stored) -> QueuePosition:
        mark = SourceMark(0, stored.incarnation, stored.offset)
        until = stored.resume.get(UNTIL, 0)
        key = mark_key(self._runtime.spec.connector_uid, partition)
        return QueuePosition(until if isinstance(until, int) else 0, stored.incarnation, {key: mark} if stored.offset else {})

    def _step(self) -> None:
        answer_signals(self._control, self._source, self._runtime.reporter)
        paused = self._control.paused
        batches: list[SourceBatch] = []
        try:
            self._kept_alive.keep()
            if not paused and not self._limit.delay() and not self._source.finished:
                began = self._traces.now() if self._traces is not None else 0
                batches = self._runtime.attempts.insist("reading from the source", self._kept_alive.poll)
                if self._traces is not None:
                    self._traces.polled(began)
                self._copy_each(batches)
        except (Stopped, Fenced):
            return
        except Exception as error:  # becomes the outcome of the task
            self._failure = error
            return
        now = time.monotonic()
        moved = any(map(len, batches))
        wait = self._committer.poll(soon=not moved)
        self._meter.sample(now, 0)
        if paused:
            self._committer.flush(now + _LONGEST_WAIT)
            self._runtime.reporter.work(False)
            self._runtime.reporter.state(State.PAUSED)
        else:
            trouble = self._committer.trouble if not moved else ""
            wrong = self._dropping.said(now)
            # Once: its numbers change all the time, and each change is a line in the log.
            self._wrong = (self._wrong or wrong) if wrong else ""
            self._meter.say(now, trouble, work=moved, held=self._source.held_back, wrong=self._wrong)
        if not moved:
            idle = _LONGEST_WAIT if paused or self._source.finished else max(self._source.idle_seconds, self._limit.delay())
            self._control.wait(min(wait, idle, _LONGEST_WAIT))

    def _copy_each(self, batches: Sequence[SourceBatch]) -> None:
        for batch in batches:
            if self._failure is not None or self._control.stopping.is_set():
                # What is behind it is read again.
                return
            if len(batch) or batch.end:
                self._copy_all(batch)

    def _copy_all(self, batch: SourceBatch) -> None:
        if batch.resume is not None:
            check_resume(batch, self._source)
            self._announce(batch.partition)
        parts = self._transformed(batch)
        for number, part in enumerate(parts, 1):
            self._copy(part, closes=batch.resume is None or number == len(parts))
            if self._failure is not None:
                break

    def _announce(self, partition: str) -> None:
        """Stores where a partition began whose source needs a map, before the sink has more of it.

        The mark in the sink, which is without a map, would else be taken for where the source can go on.
        """
        stored = self._opened.positions.get(partition)
        if partition in self._mapped or (stored is not None and MAP in stored.resume):
            return
        self._mapped.add(partition)
        position = self._positions.setdefault(partition, QueuePosition(0, self._opened.incarnation))
        start = self._starts.get(partition, Position(()))
        began = Stored(start.offset, position.incarnation, {UNTIL: position.until, MAP: start.resume})
        self._committer.put({partition: began})
        self._runtime.attempts.insist("storing where a source partition begins", self._store_all)

    def _store_all(self) -> None:
        if not self._committer.flush(time.monotonic() + _FLUSH_SECONDS):
            raise SystemAway(self._committer.trouble)

    def _transformed(self, batch: SourceBatch) -> list[SourceBatch]:
        self._limit.take(len(batch), batch.size)
        self._meter.read(len(batch), batch.size)
        return self._runtime.attempts.insist("transforming what was read", partial(of_source, self._runtime.chain, batch, ""))

    def _copy(self, batch: SourceBatch, *, closes: bool) -> None:
        """Invariants 1 and 2: the position moves when the sink has made the batch durable, with the mark in its transaction.

        `closes`: the position may stand at its end.
        """
        now = time.monotonic()
        name = batch.partition
        before = self._positions.setdefault(name, QueuePosition(0, self._opened.incarnation))
        part = self._part(batch, before, now)
        self._metrics.duplicates_skipped += part.duplicates
        self._look_at_duplicates(name, before, part, batch)
        commit = commit_of(self._runtime.spec, {name: before}, [part])
        ready = CommitGuard(self._runtime, self._letters, part.bad, _place, lambda _: "")

        def write() -> Sequence[BadRecord]:
            with ready:
                return self._engine.write([part], commit, ready)

        began = self._traces.now() if self._traces is not None else 0
        refused: Sequence[BadRecord] = ()
        if commit.after != commit.before:
            try:
                refused = self._runtime.attempts.insist("writing to the sink", write, drain=self._runtime.endpoints.limits.drain)
            except BaseException as error:
                self._engine.give_up()
                if self._traces is not None:
                    self._traces.copied(batch, began, str(error) or type(error).__name__)
                raise
        trace_id = self._traces.copied(batch, began) if self._traces is not None else ""
        if part.until > before.until or part.marks:
            self._positions[name] = commit.after[name]
            if batch.resume is None:
                self._put(name)
        if batch.resume is not None and closes and part.error is None:
            # The sink's mark may be further, behind what it had before this run: the map holds for the end of the batch.
            kept = {UNTIL: self._positions[name].until, MAP: batch.resume}
            self._committer.put({name: Stored(batch.end or batch.offsets[-1], before.incarnation, kept)})
        if len(batch):
            self._meter.batch(time.monotonic() - now)
            self._meter.arrived(time.time(), part.first_ms, part.last_ms, trace_id)
            self._meter.moved(time.monotonic(), commit.rows - len(refused), written_bytes([part], refused))
        else:
            self._runtime.reporter.progress()
        self._failure = part.error

    def _look_at_duplicates(self, name: str, before: QueuePosition, part: Part, batch: SourceBatch) -> None:
        """What is dropped is not dropped in silence for long; see Dropping."""
        key = mark_key(self._runtime.spec.connector_uid, name)
        mark = before.marks.get(key)
        left_out = []
        if mark is not None and part.duplicates:
            highest = max(offset for offset in batch.offsets if offset <= mark.offset)
            left_out = [LeftOut(key, self._runtime.spec.epoch, mark, part.duplicates, before.incarnation, highest)]
        self._dropping.saw(name, part.marks.keys(), left_out, before.marks.keys() | part.marks.keys(), time.monotonic())
        self._metrics.dropped_in_a_row = self._dropping.in_a_row

    def _part(self, batch: SourceBatch, before: QueuePosition, now: float) -> Part:
        mark = self._mark(batch.partition, before)
        highest: Offset = () if mark is None else mark.offset
        kept: list[int] = []
        bad: list[BadRecord] = []
        error: Exception | None = None
        end = highest
        duplicates = 0
        for index, (value, offset) in enumerate(zip(batch.values, batch.offsets, strict=True)):
            if offset <= highest:
                duplicates += 1
                continue
            if isinstance(value, Rejected | Failure):
                failure = Failure.of_rejected(value, self._source) if isinstance(value, Rejected) else value
                try:
                    self._runtime.policy.check_source(failure, place_of(batch.partition, offset))
                except Exception as problem:  # kept: what is before it is written first (invariant 5)
                    error = problem
                    break
                bad.append(BadRecord(batch.partition, offset[-1], failure))
            else:
                kept.append(index)
            end = offset
        if error is None:
            end = max(end, batch.end)
        key = mark_key(self._runtime.spec.connector_uid, batch.partition)
        moved = {key: SourceMark(self._runtime.spec.epoch, before.incarnation, end)} if end > highest else {}
        until = before.until + len(kept) + len(bad)
        records = _records(batch if len(kept) == len(batch) else batch.take(kept))
        part = Part(batch.partition, before.until, until, moved, records, len(batch), duplicates, bad, now, error)
        if kept and batch.timestamps_ms is not None:
            part.first_ms, part.last_ms = batch.timestamps_ms[kept[0]], batch.timestamps_ms[kept[-1]]
        return part

    def _put(self, partition: str) -> None:
        position = self._positions[partition]
        mark = self._mark(partition, position)
        if mark is not None:
            self._committer.put({partition: Stored(mark.offset, position.incarnation, {UNTIL: position.until})})

    def _stored(self, positions: Mapping[str, Stored]) -> None:
        self._metrics.commits += 1
        moved = {partition: _of_source(stored) for partition, stored in positions.items() if stored.offset}
        self._meter.committed({partition: position.offset for partition, position in moved.items()})
        self._source.committed(moved)


def _of_source(stored: Stored) -> Position:
    return Position(stored.offset, stored.resume.get(MAP, {}))


def _place(record: BadRecord) -> str:
    return place_of(record.queue, (record.offset,))


def _records(batch: SourceBatch) -> SinkBatch:
    return SinkBatch(
        batch.partition,
        "",
        batch.values,
        [offset[-1] for offset in batch.offsets],
        batch.keys,
        batch.timestamps_ms,
        batch.headers,
        batch.schema,
        batch.size,
    )
