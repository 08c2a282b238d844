"""A direct task: a source and a record sink in one, without a topic between them. Source partitions take the place of queues."""

import time
from collections.abc import Mapping, Sequence
from functools import partial

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.record import Offset, Rejected, SinkBatch, SourceBatch
from rocketconnect_sdk.sink import QueuePosition, RecordSinkTask, SourceMark
from rocketconnect_sdk.source import SourceTask
from services.executor.contract.task import Outcome, State
from services.executor.runtime.errors.attempts import FENCED, Stopped
from services.executor.runtime.errors.failure import Failure, place_of
from services.executor.runtime.errors.outcomes import failed
from services.executor.runtime.positions.client import Fenced, Opened, Stored
from services.executor.runtime.positions.committer import Committer
from services.executor.runtime.rocketmq.settling import wait_until
from services.executor.runtime.rocketmq.source_marks import mark_key
from services.executor.runtime.rocketmq.topics import TopicMaker, dead_letter_queues
from services.executor.runtime.sink.before_commit import Gate
from services.executor.runtime.sink.dead_letters import InSource, SinkDeadLetters
from services.executor.runtime.sink.decode.part import BadRecord, Part
from services.executor.runtime.sink.engines import NativeEngine
from services.executor.runtime.sink.positions import choose, commit_of
from services.executor.runtime.surroundings import Surroundings
from services.executor.runtime.task.meter import Meter
from services.executor.runtime.task.rate import RateLimit
from services.executor.runtime.task.signals import answer_signals
from services.executor.runtime.transforms import of_source

_COMMIT_SECONDS = 1.0
_LONGEST_WAIT = 0.5


class DirectRun:
    """One run of a direct task, in one thread. Call `run` once."""

    def __init__(self, around: Surroundings, source: SourceTask, sink: RecordSinkTask, context: TaskContext) -> None:
        self._around = around
        self._source = source
        self._sink = sink
        self._context = context
        self._control = around.control
        self._metrics = around.reporter.metrics
        self._meter = Meter(around.reporter, time.monotonic())
        self._engine = NativeEngine(sink, f"{around.spec.connector}-{around.spec.task}-{around.spec.epoch}", headers=True)
        self._committer = Committer(around.positions, _COMMIT_SECONDS, around.control.wake, self._stored)
        self._limit = RateLimit(around.config["max.rate.records"], around.config["max.rate.bytes"], time.monotonic)
        context.batch_records, context.batch_bytes = self._limit.piece(context.batch_records, context.batch_bytes)
        self._opened = Opened({}, 0.0, clean=True, incarnation=0)
        self._positions: dict[str, QueuePosition] = {}
        self._letters = SinkDeadLetters(around, (), context.max_record_bytes, InSource())
        self._failure: Exception | None = None

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
        stored = self._committer.flush(self._control.after_stop(self._around.endpoints.limits.commit), clean=True)
        return Outcome(clean=stored) if self._failure is None else failed(self._failure, clean=stored)

    def _begin(self) -> None:
        around, insist = self._around, self._around.attempts.insist
        around.reporter.state(State.STARTING)
        self._opened = insist("opening the task at the position service", around.positions.open)
        if wait_until(time.monotonic() + self._opened.wait, around.control.wait):
            raise Stopped
        # Dead letters need a topic, though nothing else here does.
        topics = TopicMaker(around.client, auto_create=True, queues=1, topic_type="normal")
        dead = dead_letter_queues(around, topics)
        self._letters = SinkDeadLetters(around, dead, self._context.max_record_bytes, InSource())
        in_sink = insist("starting the sink", self._sink.start)
        names = {*self._opened.positions, *in_sink}
        for name in names:
            stored = self._opened.positions.get(name)
            known = None if stored is None else self._from_stored(name, stored)
            position = choose(known, in_sink.get(name), self._opened.incarnation)
            if position is not None:
                self._positions[name] = position
        starts = {
            name: mark.offset for name, position in self._positions.items() if (mark := self._mark(name, position)) is not None
        }
        insist("starting the source", partial(self._source.start, starts))

    def _mark(self, partition: str, position: QueuePosition) -> SourceMark | None:
        return position.marks.get(mark_key(self._around.spec.connector_uid, partition))

    def _from_stored(self, partition: str, stored: Stored) -> QueuePosition:
        mark = SourceMark(0, stored.incarnation, stored.offset)
        until = stored.resume.get("until", 0)
        key = mark_key(self._around.spec.connector_uid, partition)
        return QueuePosition(until if isinstance(until, int) else 0, stored.incarnation, {key: mark} if stored.offset else {})

    def _step(self) -> None:
        answer_signals(self._control, self._source, self._around.reporter)
        paused = self._control.paused
        batch = None
        if not paused and not self._limit.delay() and not self._source.finished:
            try:
                batch = self._around.attempts.insist("reading from the source", self._source.poll)
                for each in self._transformed(batch) if batch is not None and (len(batch) or batch.end) else ():
                    self._copy(each)
                    if self._failure is not None:
                        break
            except (Stopped, Fenced):
                return
            except Exception as error:  # becomes the outcome of the task
                self._failure = error
                return
        now = time.monotonic()
        wait = self._committer.poll(soon=not batch)
        self._meter.sample(now, 0)
        if paused:
            self._committer.flush(now + _LONGEST_WAIT)
            self._around.reporter.work(False)
            self._around.reporter.state(State.PAUSED)
        else:
            trouble = self._committer.trouble if not batch else ""
            self._meter.say(now, trouble, work=bool(batch))
        if not batch:
            idle = _LONGEST_WAIT if paused or self._source.finished else max(self._source.idle_seconds, self._limit.delay())
            self._control.wait(min(wait, idle, _LONGEST_WAIT))

    def _transformed(self, batch: SourceBatch) -> list[SourceBatch]:
        self._limit.take(len(batch), batch.size)
        self._meter.read(len(batch), batch.size)
        return self._around.attempts.insist("transforming what was read", partial(of_source, self._around.chain, batch, ""))

    def _copy(self, batch: SourceBatch) -> None:
        """Invariants 1 and 2: the position moves when the sink has made the batch durable, with the mark in its transaction."""
        now = time.monotonic()
        size = batch.size
        name = batch.partition
        before = self._positions.setdefault(name, QueuePosition(0, self._opened.incarnation))
        part = self._part(batch, before, now)
        self._metrics.duplicates_skipped += part.doubles
        commit = commit_of(self._around.spec, {name: before}, [part])
        ready = Gate(self._around, self._letters, part.bad, _place, lambda _: "")

        def write() -> Sequence[BadRecord]:
            with ready:
                return self._engine.write([part], commit, ready)

        refused: Sequence[BadRecord] = ()
        if commit.after != commit.before:
            try:
                refused = self._around.attempts.insist("writing to the sink", write, drain=self._around.endpoints.limits.drain)
            except BaseException:
                self._engine.give_up()
                raise
        if part.until > before.until or part.marks:
            self._positions[name] = commit.after[name]
            self._put(name)
        if len(batch):
            self._meter.batch(time.monotonic() - now)
            self._meter.moved(time.monotonic(), commit.rows - len(refused), size)
        else:
            self._around.reporter.progress()
        self._failure = part.error

    def _part(self, batch: SourceBatch, before: QueuePosition, now: float) -> Part:
        mark = self._mark(batch.partition, before)
        highest: Offset = () if mark is None else mark.offset
        kept: list[int] = []
        bad: list[BadRecord] = []
        error: Exception | None = None
        end = highest
        doubles = 0
        for index, (value, offset) in enumerate(zip(batch.values, batch.offsets, strict=True)):
            if offset <= highest:
                doubles += 1
                continue
            if isinstance(value, Rejected | Failure):
                failure = Failure.of_rejected(value, self._source) if isinstance(value, Rejected) else value
                try:
                    self._around.policy.check(failure, place_of(batch.partition, offset))
                except Exception as problem:  # kept: what is before it is written first (invariant 5)
                    error = problem
                    break
                bad.append(BadRecord(batch.partition, offset[-1], failure))
            else:
                kept.append(index)
            end = offset
        if error is None:
            end = max(end, batch.end)
        key = mark_key(self._around.spec.connector_uid, batch.partition)
        moved = {key: SourceMark(self._around.spec.epoch, before.incarnation, end)} if end > highest else {}
        until = before.until + len(kept) + len(bad)
        records = _records(batch if len(kept) == len(batch) else batch.take(kept))
        return Part(batch.partition, before.until, until, moved, records, len(batch), doubles, bad, now, error)

    def _put(self, partition: str) -> None:
        position = self._positions[partition]
        mark = self._mark(partition, position)
        if mark is not None:
            self._committer.put({partition: Stored(mark.offset, position.incarnation, {"until": position.until})})

    def _stored(self, positions: Mapping[str, Stored]) -> None:
        self._metrics.commits += 1
        moved = {partition: stored.offset for partition, stored in positions.items()}
        self._meter.committed(moved)
        self._source.committed(moved)


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
