"""A source task: poll -> convert -> send -> commit. One thread; sends and commits are under way while it reads on."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.routes.allowed import Routes
from rocketconnect_sdk.source import SourceTask
from rocketconnect_sdk.stages import Stage
from rocketmq_remoting.model import MessageQueue
from services.executor.contract.task import Outcome, State
from services.executor.runtime.errors.attempts import FENCED, GaveUp
from services.executor.runtime.errors.failure import Failure, beyond, place_of
from services.executor.runtime.errors.left_out import leave_out
from services.executor.runtime.errors.outcomes import failed
from services.executor.runtime.errors.policy import RecordFailed
from services.executor.runtime.positions.client import Fenced, Opened
from services.executor.runtime.positions.committer import Committer
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq.settling import settled_end
from services.executor.runtime.rocketmq.topics import TopicMaker
from services.executor.runtime.source.encode import Encoded
from services.executor.runtime.source.encoders import encoder, target_of
from services.executor.runtime.source.gone_back import passing, progress_of
from services.executor.runtime.source.lost_tails import LostTails
from services.executor.runtime.source.pieces import Piece
from services.executor.runtime.source.queues import SourceQueues
from services.executor.runtime.source.reading import Reading
from services.executor.runtime.source.sender import Lost, Refusal, Sender
from services.executor.runtime.source.takeover import ROW, Found, Row, row_name
from services.executor.runtime.task.meter import Meter
from services.executor.runtime.task.signals import answer_signals
from services.executor.runtime.task_runtime import TaskRuntime
from services.executor.runtime.transforms import of_topics

COMMIT_SECONDS = 1.0
_LONGEST_WAIT = 0.5
_DRAINED_SECONDS = 0.01
"""How often it is looked whether what goes by the old queue map is confirmed."""


class SourceRun:
    """The loop of a source task whose start is made: see start. Used by one thread.

    Args:
        runtime: What every task has.
        task: The source's task, started.
        context: Whose limits `task` looks at.
        opened: What the position service told.
        found: What is in the topic already.
        row: What was committed last in the task's own row.
        ends: For each queue of the topics that are known an offset before which nothing unconfirmed of ours is.
        topics: Finds the queues of others.
        queues: The queue map.
        tails: What brokers have lost.
        sender: Sends; the run closes it.
    """

    def __init__(
        self,
        runtime: TaskRuntime,
        task: SourceTask,
        context: TaskContext,
        *,
        opened: Opened,
        found: Found,
        row: Row,
        ends: Mapping[MessageQueue, int],
        topics: TopicMaker,
        queues: SourceQueues,
        tails: LostTails,
        sender: Sender,
    ) -> None:
        self._runtime, self._task = runtime, task
        self._found, self._row = found, row
        self._control, self._policy = runtime.control, runtime.policy
        self._metrics = runtime.reporter.metrics
        self._meter = Meter(runtime.reporter, time.monotonic())
        self._topics, self._queue_map = topics, queues
        self._tails, self._map = tails, dict(queues.known)
        config = runtime.config
        self._buffer_bytes: int = config["buffer.bytes"]
        self._limit, self._routes = runtime.limit(), Routes.of(config, task.own_topics)
        self._reading = Reading(runtime, task, context, found, self._meter, self._limit)
        self._progress = progress_of(opened, runtime.spec.connector_uid, found)
        self._sender = sender
        for queue, end in ends.items():
            self._add_queue(queue, end)
        self._committer = Committer(runtime.positions, COMMIT_SECONDS, runtime.control.wake, self._stored)
        self._encoder = encoder(
            target_of(runtime, task, self._queues), self._progress.incarnation, found, runtime.config, runtime.reporter.log
        )
        self._read_batches: deque[SourceBatch] = deque()
        self._transformed: deque[SourceBatch] = deque()
        self._put_at = 0.0
        self._error: Exception | None = None

    def run(self) -> Outcome:
        """Copies until it is to stop or cannot go on.

        Raises:
            Fenced: somebody else owns the task.
        """
        try:
            while not self._control.stopping.is_set() and self._error is None:
                self._step()
            return self._end()
        finally:
            self._sender.close()

    def _step(self) -> None:
        answer_signals(self._control, self._task, self._runtime.reporter)
        wait = self._move()
        if self._error is not None:
            # Invariant 5: nothing is read behind what ends the task.
            return
        try:
            self._reading.keep_alive()
        except PermanentError as error:
            self._fail(error)
            return
        now, read = time.monotonic(), False
        if not self._control.paused:
            read = self._may_read(now) and self._read(now)
        elif self._sender.idle:
            self._committer.flush(now + _LONGEST_WAIT)
        self._say(now)
        if not read:
            self._control.wait(min(wait, self._next_read(now)))

    def _move(self) -> float:
        """Takes answers, begins sends and commits; returns for how many seconds there is nothing more to do."""
        for event in self._sender.pump():
            if isinstance(event, Lost):
                self._lost(event)
            elif isinstance(event, Refusal):
                self._refused(event)
            else:
                self._confirmed(event.piece, event.floor, event.end)
        for passed in self._progress.take_passed():
            self._meter.arrived(time.time(), passed.first_ms, passed.last_ms, passed.trace_id)
        idle = self._sender.idle
        now = time.monotonic()
        if now >= self._put_at or idle:
            self._put(now)
        return min(self._sender.delay(), self._committer.poll(soon=idle), _LONGEST_WAIT)

    def _may_read(self, now: float) -> bool:
        # Invariant 7: no more is read while the buffer is full.
        return self._sender.buffered < self._buffer_bytes and self._reading.is_due(now) and not self._finished

    @property
    def _holding(self) -> bool:
        """Whether something that was read is not on its way yet."""
        return bool(self._read_batches or self._transformed)

    @property
    def _finished(self) -> bool:
        return self._task.finished and not self._holding

    def _next_read(self, now: float) -> float:
        if self._control.paused or self._finished or self._sender.buffered >= self._buffer_bytes:
            # Answers, and people, end the wait.
            return _LONGEST_WAIT
        return max(self._reading.delay(now), 0.0005)

    def _read(self, now: float) -> bool:
        """Reads once, and sends what was read on its way; false when there was nothing, or it has to wait."""
        what = "converting what was read" if self._holding else "reading from the source"
        try:
            if not self._holding:
                self._read_batches.extend(self._reading.poll(now))
                what = "converting what was read"
            moved = self._send_on(now)
        except (SystemAway, RetriableError) as error:
            try:
                self._reading.failed(what, error, now)
            except GaveUp as given_up:
                self._fail(given_up)
            return False
        except PermanentError as error:
            self._fail(error)
            return False
        self._reading.went_well()
        return moved

    def _send_on(self, now: float) -> bool:
        """Of what was read together, what can be transformed and converted. The rest is held, and tried again (invariant 5)."""
        moved = self._holding
        while self._holding and self._error is None:
            if not self._transformed:
                # One after the other: what is left of a batch with a map is not taken for a part of the next one.
                read = self._read_batches[0]
                # Invariant 1: without what was sent by another queue map.
                batch = self._found.missing(read, *self._named(read.partition))
                self._transformed.extend(of_topics(self._runtime.chain, batch, self._routes))
                self._metrics.duplicates_skipped += len(read) - len(batch)
                self._read_batches.popleft()
            batch, is_open = self._transformed[0], self._progress.is_open(self._transformed[0].partition)
            if self._found.waits(batch, *self._named(batch.partition), is_open=is_open):
                # What goes by the old queue map has to be confirmed first.
                self._reading.hold(now + _DRAINED_SECONDS)
                return False
            encoded = self._encoder.encode(batch, now)
            self._transformed.popleft()
            if batch.resume is not None and self._transformed:
                # More of what was read together follows.
                encoded.batch.closes = False
            self._take(batch, encoded)
        return moved

    def _named(self, partition: str) -> tuple[str, int]:
        """A source partition as marks name it."""
        return self._encoder.key(partition), self._progress.incarnation(partition)

    def _take(self, batch: SourceBatch, encoded: Encoded) -> None:
        if not batch.size:
            size = sum(piece.values for piece in encoded.pieces)
            self._limit.take(0, size)
            self._meter.read(0, size)
        self._metrics.duplicates_skipped += encoded.duplicates
        if encoded.error is not None:
            self._fail(encoded.error)
        for index, failure in encoded.failures.items():
            leave_out(self._policy, self._runtime.reporter, failure, place_of(batch.partition, batch.offsets[index]))
        if encoded.batch.end:
            self._found.read(encoded.batch.key)
            self._progress.read(encoded.batch)
            if not encoded.pieces:
                self._runtime.reporter.progress()
        if (traces := self._reading.traces) is not None:
            traces.take(encoded.pieces)
        for piece in encoded.pieces:
            self._route(piece)

    def _route(self, piece: Piece) -> None:
        # Invariant 1: what an earlier owner has sent is there and is not sent again.
        skip = self._found.skip(piece)
        if not skip:
            self._sender.add(piece)
            return
        self._metrics.duplicates_skipped += piece.part(0, skip).records
        if skip == len(piece):
            self._settled(piece, None, 0)
        else:
            self._sender.add(piece.part(skip, len(piece)))

    def _confirmed(self, piece: Piece, floor: int | None, end: int) -> None:
        if (traces := self._reading.traces) is not None:
            traces.confirmed(piece, end)
        self._metrics.dead_letters += piece.records if piece.dead else 0
        sent = (0, 0) if piece.dead else (piece.records, piece.values)
        self._settled(piece, floor, end, *sent)

    def _settled(self, piece: Piece, floor: int | None, end: int, records: int = 0, size: int = 0) -> None:
        """So much of a piece went out: nothing, where it was there already, is a dead letter, or is left out."""
        now = time.monotonic()
        self._progress.confirmed(piece, floor, end)
        if piece.batch.covered:
            self._meter.batch(now - piece.batch.read_at)
        self._meter.moved(now, records, size)

    def _lost(self, event: Lost) -> None:
        self._progress.lost(event.gap.queue, event.floor)
        self._tails.found(event.gap)
        if (refusal := self._tails.refusal) is not None:
            self._fail(refusal)
            self._sender.drop_waiting()

    def _refused(self, event: Refusal) -> None:
        """The broker will never take this message: the error policy decides, as for every bad record."""
        piece = event.piece
        if halves := self._encoder.halves(piece):
            # One row of many: halved until it is found.
            piece.batch.open_pieces += 1
            self._sender.go_on(piece.queue, halves)
            return
        failure = Failure.of_value(Stage.SEND, event.error, piece.bodies[0], self._runtime.client)
        where = place_of(piece.batch.partition, piece.offsets[0])
        try:
            if piece.dead:
                msg = f"{where}: the dead-letter topic does not take it: {event.error}"
                raise RecordFailed(msg)  # noqa: TRY301  # one end for all that can't be left out
            self._policy.check_source(failure, where, beyond(piece.batch.partition, piece.offsets[0]))
        except RecordFailed as error:
            self._fail(error)
            self._sender.drop_waiting()
            return
        leave_out(self._policy, self._runtime.reporter, failure, where)
        dead = self._encoder.dead_letter(failure, piece)
        if dead is None:
            self._settled(piece, None, 0)
        else:
            self._sender.add(dead)
        self._sender.go_on(piece.queue)

    def _fail(self, error: Exception) -> None:
        """Ends the task: what is on its way is finished, and nothing more is read. The first error stays."""
        if self._error is None:
            self._error = error

    def _put(self, now: float, *, clean: bool = False, row: bool = False) -> None:
        """Gives the positions that have moved to be stored; `row`: the task's own row also when none has."""
        self._put_at = now + COMMIT_SECONDS / 2
        moved = passing(self._progress.take_moved(), self._found, self._progress, self._encoder.key)
        if not moved and not clean and not row:
            return
        # Invariant 1: a floor holds for the positions that it goes with, and is never stored before them.
        self._committer.put({**moved, row_name(self._runtime.spec.task): self._own_row(clean=clean)})

    def _own_row(self, *, clean: bool = False) -> Stored:
        held, epoch = self._found.held(), self._runtime.spec.epoch
        self._row = replace(self._row, count=self._row.count + 1)
        floors = {} if clean else self._progress.floors(held)
        ends = {**self._tails.unmet, **self._progress.ends}
        row = replace(self._row.above(floors, held, epoch), mixed=self._found.mixed, ends=ends, lost=self._tails.lost)
        return row.stored(epoch)

    def _stored(self, positions: Mapping[str, Stored]) -> None:
        self._metrics.commits += 1
        moved = {partition: stored.of_source for partition, stored in positions.items() if not partition.startswith(ROW)}
        if moved:
            self._meter.committed({partition: position.offset for partition, position in moved.items()})
            self._task.committed(moved)
            self._reading.measure()

    def _add_queue(self, queue: MessageQueue, end: int) -> None:
        self._sender.add_queue(queue, end)
        self._progress.add_queue(queue, end)

    def _queues(self, topic: str) -> Sequence[MessageQueue]:
        """The queues of a topic; of one that is new in this run, only when a successor is sure to look into them."""
        return self._map[topic] if topic in self._map else self._add_topic(topic)

    def _add_topic(self, topic: str) -> Sequence[MessageQueue]:
        insist = self._runtime.attempts.insist
        # The row of the map is stored apart, and one commit is under way at a time.
        insist("storing where the task is", self._store_all)
        look = partial(insist, f"looking for topic {topic}", partial(self._topics.find, topic, writable=True))
        queues = self._queue_map.of(topic, look)
        for queue in queues:
            ask = partial(settled_end, self._runtime.client, queue, self._tails.known_end(queue), self._control.wait)
            end = insist(f"asking for the end of topic {topic}", ask)
            self._add_queue(queue, end)
            self._tails.meet(queue, end)
        if (refusal := self._tails.refusal) is not None:
            raise refusal
        self._map[topic] = queues
        self._put(time.monotonic(), row=True)
        insist(f"storing that topic {topic} is written to", self._store_all)
        return queues

    def _store_all(self) -> None:
        if not self._committer.flush(time.monotonic() + 5.0):
            raise SystemAway(self._committer.trouble)

    def _say(self, now: float) -> None:
        self._meter.sample(now, self._sender.buffered)
        self._reading.unsent(self._sender.buffered + sum(each.size for each in (*self._read_batches, *self._transformed)))
        if self._control.paused:
            if self._sender.idle:
                self._runtime.reporter.work(False)
                self._runtime.reporter.state(State.PAUSED)
            return
        working = not self._sender.idle or not self._reading.quiet
        trouble = self._sender.trouble or self._reading.trouble
        if not trouble and not working and not self._committer.idle:
            trouble = self._committer.trouble
        finished = self._finished
        done = finished and self._sender.idle and self._committer.idle
        self._meter.say(now, trouble, work=working and not finished, done=done, held=self._task.held_back)

    def _end(self) -> Outcome:
        """Invariant 1, at the end: what was sent is confirmed, what is confirmed is committed, and a successor need not look."""
        limits = self._runtime.endpoints.limits
        until = self._control.after_stop(limits.drain)
        self._sender.hurry()
        while not self._sender.idle and not self._control.fenced and time.monotonic() < until:
            wait = self._move()
            if not self._sender.idle:
                time.sleep(min(wait, 0.005))
        if self._control.fenced:
            raise Fenced(FENCED)
        self._move()
        # What a predecessor has sent and this one has not read again is still to be skipped, by whoever reads it.
        clean = self._sender.idle and not self._progress.in_flight and not self._found.held()
        self._put(time.monotonic(), clean=clean, row=bool(self._tails.lost))
        stored = self._committer.flush(self._control.after_stop(limits.commit), clean=clean)
        if self._error is not None:
            return failed(self._error, clean=clean and stored)
        return Outcome(clean=clean and stored)
