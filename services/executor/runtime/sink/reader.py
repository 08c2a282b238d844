"""The reading half of a sink task: pulls its queues, drops duplicates, converts. A thread of its own, so that writing overlaps."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from rocketconnect_kit.backoff import Backoff
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.errors import RetriableError as TryAgain
from rocketconnect_sdk.sink import QueuePosition, SourceMark
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import GroupNotFound, InvalidRequest, QueueGap, RequestTimeout, RetriableError, TopicNotFound
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.pulls.stream import PullStream
from services.executor.runtime.errors.attempts import Attempts
from services.executor.runtime.rocketmq import gaps as continuity
from services.executor.runtime.rocketmq.filters import MessageFilter
from services.executor.runtime.rocketmq.queue_names import text
from services.executor.runtime.sink.batcher import Batcher
from services.executor.runtime.sink.decode.noting import Decodes
from services.executor.runtime.sink.decode.origins import by_topic
from services.executor.runtime.sink.decode.part import Part
from services.executor.runtime.sink.dropping import Dropping, untold, why
from services.executor.runtime.sink.duplicates import LeftOut, select
from services.executor.runtime.sink.ends import Ends
from services.executor.runtime.sink.positions import merged
from services.executor.runtime.sink.traces import SinkTraces
from services.executor.runtime.task.control import TaskControl
from services.executor.runtime.task.group_resets import GroupResets
from services.executor.runtime.task.rate import RateLimit

_PUT_SECONDS = 0.2
_IDLE_SECONDS = 0.5
_TELL_SECONDS = 1.0
_QUIET_SECONDS = 1.0
"""Nobody deletes a topic and makes it anew in less."""
_UNANSWERED_SECONDS = 60.0
"""A second pull without an answer in so long is trouble: one takes a third of that to be given up."""
_PASS_SECONDS = 2.0
"""So often a position passes what a filter leaves out, where nothing else moves it."""
_LEAST_STREAM_BYTES = 32 << 10
"""Of one queue: a pull of the 32 messages that a broker gives at once, of 1 KiB each."""


@dataclass(slots=True, eq=False)
class _Reading:
    stream: PullStream
    position: int
    marks: dict[str, SourceMark]
    stored_ms: int
    last_end: int = 0
    """The end that the broker has told of last."""
    end: int = 0
    """The highest of these, but for those that are lost."""
    connections: int = 0
    unsure: bool = False
    unanswered: float = float("-inf")
    """When a pull was given up last that the broker did not answer."""
    told: dict[tuple[str, bool], int] = field(default_factory=dict)
    """By source partition, and whether they were late: the epoch of the messages that were last told to be left out."""
    passed_at: float = float("-inf")
    """When it has passed last what a filter leaves out."""
    arrived: float = field(default_factory=time.monotonic)
    backoff: Backoff = field(default_factory=lambda: Backoff(0.05, 2.0))
    not_before: float = 0.0
    trouble: str = ""
    failing: tuple[Exception, float] | None = None
    """Why it could not be converted, and since when."""


class SinkReader:
    """Reads queues into a batcher until it is closed or a part with an error has been put.

    Args:
        client: RocketMQ.
        connector: The name of the connector, for the commands that it names.
        group: The consumer group in whose name it pulls.
        starts: Where each queue is begun.
        decoder: Makes records.
        finish: Does the last thing to a part before it is put, such as making its table.
        batcher: Where parts go.
        limit: Of records and bytes a second.
        control: Nothing is read while it is paused.
        skip_gaps: on.gap=skip.
        resets: Gets where the group was reset to: of such a queue nothing is read while that waits.
        hold_seconds: So long a broker holds a pull at the end of a queue, and some seconds more.
        parted: Parts what was pulled, each part of one topic, and gets bodies that are elsewhere.
        log: For people: (level, message).
        attempts: How long a conversion is tried again.
        buffer_bytes: What all streams hold ahead together, about; of each queue 32 KiB, or one answer, in any case.
        traces: Follows traced messages; None: nothing is traced.
        filters: Of queues of which not all messages are read; None: there are none.
    """

    def __init__(
        self,
        client: Client,
        connector: str,
        group: str,
        starts: Mapping[MessageQueue, QueuePosition],
        *,
        decoder: Decodes,
        finish: Callable[[Part], None],
        batcher: Batcher,
        limit: RateLimit,
        control: TaskControl,
        skip_gaps: bool,
        log: Callable[[str, str], None],
        attempts: Attempts,
        buffer_bytes: int,
        resets: GroupResets,
        hold_seconds: float,
        traces: SinkTraces | None = None,
        parted: Callable[[DecodedBatch], Iterable[DecodedBatch]] = by_topic,
        filters: Mapping[MessageQueue, MessageFilter] | None = None,
    ) -> None:
        self._client, self._group, self._connector = client, group, connector
        self._decoder, self._finish = decoder, finish
        self._batcher, self._limit, self._control = batcher, limit, control
        self._skip_gaps, self._resets = skip_gaps, resets
        self._parted, self._log = parted, log
        self._attempts, self._traces = attempts, traces
        self._arrived, self._closed = threading.Event(), False
        self._reading = {
            queue: _Reading(
                PullStream(
                    client,
                    queue,
                    position.until,
                    # Invariant 7.
                    max_bytes_buffered=max(_LEAST_STREAM_BYTES, buffer_bytes // len(starts)),
                    message_filter=filters.get(queue) if filters else None,
                    group=group,
                    suspend=hold_seconds,
                    on_arrival=self._arrived.set,
                    on_reset=partial(resets.told, queue),
                ),
                position.until,
                dict(position.marks),
                position.stored_ms,
            )
            for queue, position in starts.items()
        }
        self._piece = limit.piece(1 << 31, 1 << 20)[1]
        self.error: Exception | None = None
        self.late = 0
        """How many messages were left out because of their epoch."""
        self.passed = 0
        """How many messages were missing and passed, as on.gap=skip says."""
        self.dropping = Dropping()
        self.caught_up = False
        self._ends = Ends(client)
        self.tell_lag: Callable[[], None] = lambda: None
        """Called by this thread about once a second: who writes may be held up by its target for hours."""
        self._tell_at = 0.0
        self._thread = threading.Thread(target=self._run, name="sink reader", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def close(self) -> None:
        """Ends it and waits for that."""
        self._closed = True
        self._arrived.set()
        self._batcher.close()
        for reading in self._reading.values():
            reading.stream.close()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def trouble(self) -> str:
        """What it waits for; empty: nothing."""
        return next((reading.trouble for reading in self._reading.values() if reading.trouble), "")

    def known_ends(self) -> Mapping[str, int]:
        """By queue the end as the broker told it last; without those of which it has told nothing yet."""
        ends = ((queue, reading, self._ends.of(queue, reading.stream.known_end)) for queue, reading in self._reading.items())
        return {text(queue): max(end, reading.position) for queue, reading, end in ends if end is not None}

    def was_reset(self, queue: MessageQueue, to: int) -> None:
        """A pull in the name of the client's own group was told of a reset; called by other threads."""
        if self._client.group == self._group and queue in self._reading:
            self._resets.told(queue, to)

    def _run(self) -> None:
        try:
            self._look_at_ends()
            while not self._closed:
                self._arrived.clear()
                self._tell()
                if self._control.paused:
                    self._look_at_ends()
                    self._arrived.wait(_PUT_SECONDS)
                elif (delay := self._limit.delay()) > 0:
                    time.sleep(min(delay, _PUT_SECONDS))
                elif not self._round():
                    self._arrived.wait(self._next_try())
        except Exception as error:  # handed to the task's thread, which ends the task with it
            if not self._closed:
                self.error = error
        self._batcher.wake()

    def _tell(self) -> None:
        if (now := time.monotonic()) >= self._tell_at:
            self._tell_at = now + _TELL_SECONDS
            self.tell_lag()

    def _look_at_ends(self) -> None:
        """Nothing that is pulled tells of them now, and others go on writing."""
        known = {queue: reading.stream.known_end for queue, reading in self._reading.items()}
        for queue, end in self._ends.look(known, time.monotonic()).items():
            self._reading[queue].end = max(self._reading[queue].end, end)  # the broker may lose it before anything is read

    def _next_try(self) -> float:
        waits = [reading.not_before for reading in self._reading.values() if reading.trouble]
        return max(0.001, min([_IDLE_SECONDS, *(at - time.monotonic() for at in waits)]))

    def _round(self) -> bool:
        """Takes from each queue what has arrived; false when there was nothing."""
        found = False
        for queue, reading in self._reading.items():
            if self._closed:
                return False
            if time.monotonic() < reading.not_before or queue in self._resets:
                continue
            try:
                self._compare(reading)
                batch = self._pulled(reading)
                self._look_for_breaks(reading)
                if batch is not None:
                    self._after_quiet(reading)
                else:
                    self._pass_filtered(reading)
            except QueueGap as gap:
                self._gap(reading, gap)
                found = True
                continue
            except (RetriableError, TopicNotFound, GroupNotFound, InvalidRequest) as error:
                # The topic was there when the task began: a broker that comes back has not announced it yet.
                # A queue is no longer one when the topic has got fewer read queues (see queues).
                # The group is registered meanwhile (see group_offsets), or by somebody who may.
                reading.unsure = True
                self._wait(reading, f"reading {text(queue)}: {error}", None)
                continue
            # An answer of before a loss is no news after it.
            if reading.stream.known_end != reading.last_end:
                reading.last_end = reading.stream.known_end
                reading.end = max(reading.end, reading.last_end)
            if batch is not None:
                found = True
                try:
                    self._take(reading, batch)
                except (SystemAway, TryAgain) as error:
                    self._convert_later(reading, error)
                    continue
                reading.failing = None
            # A pull is under way or has been answered; what could not be converted is still to come.
            if reading.failing is None:
                reading.trouble = ""
                reading.backoff.reset()
        more = any(reading.stream.known_end > reading.position for reading in self._reading.values())
        # What the broker has told of may be on its way still.
        self.caught_up = not found and not more
        self._batcher.expect(more=more)
        return found

    def _pulled(self, reading: _Reading) -> DecodedBatch | None:
        """What has arrived. One pull that was not answered is made again, without a word, where the broker answers otherwise."""
        try:
            return reading.stream.next(0, max_bytes=self._piece)
        except RequestTimeout as unanswered:
            now = time.monotonic()
            is_first, reading.unanswered = now - reading.unanswered > _UNANSWERED_SECONDS, now
            if not is_first:
                raise
            try:
                self._client.max_offset(reading.stream.queue)
            except RetriableError:
                raise unanswered from None
            reading.unsure = True
            return None

    def _convert_later(self, reading: _Reading, error: SystemAway | TryAgain) -> None:
        """Nothing of a batch is on its way: it is pulled again."""
        trouble = f"converting what was read from {text(reading.stream.queue)}: {error}"
        before, began = reading.failing or (None, time.monotonic())
        reading.failing = (error, began)
        if isinstance(error, TryAgain):
            self._attempts.check_time(began, trouble, error)
        self._attempts.count(error, before)
        self._wait(reading, trouble, error.wait)

    def _wait(self, reading: _Reading, trouble: str, seconds: float | None) -> None:
        # What was pulled and not taken comes again.
        reading.stream.seek(reading.position)
        reading.trouble = trouble
        pause = reading.backoff.pause()
        reading.not_before = time.monotonic() + (pause if seconds is None else seconds)

    def _take(self, reading: _Reading, batch: DecodedBatch) -> None:
        for messages in self._parted(batch):
            self._take_of_topic(reading, messages)
            if self._closed:
                return

    def _take_of_topic(self, reading: _Reading, batch: DecodedBatch) -> None:
        kept, moved, left_out = select(batch.raw_properties, reading.marks)
        traced = self._traces.pulled(batch, kept) if self._traces is not None else ()
        parts = self._decoder.decode(batch, kept, reading.position, moved, time.monotonic(), reading.marks)
        self._limit.take(sum(part.read for part in parts), sum(map(len, batch.bodies)))
        for part in parts:
            self._finish(part)
        if self._traces is not None and traced:
            self._traces.converted(traced, parts)
        for part in parts:
            self._put(part)
        reading.marks = merged(reading.marks, moved)
        reading.position, reading.stored_ms = parts[-1].until, parts[-1].stored_ms
        self._tell_left_out(reading, left_out)
        self.dropping.saw(text(reading.stream.queue), moved.keys(), left_out, reading.marks.keys(), time.monotonic())
        if parts[-1].error is not None:
            self._closed = True

    def _tell_left_out(self, reading: _Reading, left_out: Sequence[LeftOut]) -> None:
        """Says it once for each owner whose messages are late or duplicates, though they may come in many batches."""
        self.late += sum(one.messages for one in left_out if one.is_late)
        for one in untold(left_out, reading.told, reading.marks):
            where = f"{one.messages} or more messages of {one.key} in {text(reading.stream.queue)} before offset {reading.position}"
            self._log("WARNING", f"{where} are left out: {why(one)}")

    def _put(self, part: Part) -> None:
        while not self._batcher.put(part, _PUT_SECONDS):
            if self._closed:
                return
            self._look_at_ends()
            self._tell()

    def _compare(self, reading: _Reading) -> None:
        """What a broker holds may have changed while it was away."""
        if reading.unsure and (reading.stored_ms or reading.end > reading.position):
            gap = continuity.find_gap(self._client, reading.stream.queue, reading.position, reading.stored_ms, reading.end)
            if gap is not None:
                raise gap
        reading.unsure = False

    def _look_for_breaks(self, reading: _Reading) -> None:
        """A stream that has answers left gives them out and begins anew on another connection, without a word of the break."""
        reading.unsure = reading.unsure or 0 < reading.connections != reading.stream.connections
        reading.connections = reading.stream.connections

    def _after_quiet(self, reading: _Reading) -> None:
        """A topic that was deleted and made anew answers a pull that waited all the while, as if nothing had happened."""
        now = time.monotonic()
        reading.unsure = reading.unsure or now - reading.arrived > _QUIET_SECONDS
        reading.arrived = now
        self._compare(reading)

    def _gap(self, reading: _Reading, gap: QueueGap) -> None:
        """Invariant 5: a gap is reported with its exact range, and passed only when the user has said so."""
        unread = gap.reason == "lost" and gap.start >= reading.position
        if unread:
            # The queue is as it was where it was read; it goes on at the same place.
            reading.end, reading.unsure = gap.start, False
            told = f"{gap.lost}; nothing of them was read"
            if self._skip_gaps:
                self._log("WARNING", f"{told}; skipped, as on.gap=skip says")
                self.passed += gap.end - gap.start
                reading.stream.seek(reading.position)
                return
            msg = f"{told}. Started again, the task goes on behind the gap; with on.gap=skip it does so by itself"
            raise PermanentError(msg)
        if not self._skip_gaps:
            raise PermanentError(continuity.refusal(gap, self._connector))
        if gap.reason in ("lost", "replaced"):
            # Offsets begin again, which no batch can express: at its next start the task goes on behind the gap.
            msg = f"{gap.lost}; as on.gap=skip says, the task is started again to go on from there"
            raise SystemAway(msg)
        self._log("WARNING", f"{gap.lost}; skipped, as on.gap=skip says")
        self.passed += gap.end - gap.start
        self._pass(reading, gap.resume_at, 0)
        reading.stream.seek(gap.resume_at)

    def _pass_filtered(self, reading: _Reading) -> None:
        """What a filter leaves out moves the position, too."""
        until, now = reading.stream.position, time.monotonic()
        if reading.stream.is_filtered and until > reading.position and now - reading.passed_at >= _PASS_SECONDS:
            reading.passed_at = now
            self._after_quiet(reading)
            self._pass(reading, until, continuity.time_of(self._client, reading.stream.queue, until - 1) or 0)

    def _pass(self, reading: _Reading, until: int, stored: int) -> None:
        queue = reading.stream.queue
        self._put(Part.of_nothing(text(queue), queue.topic, reading.position, until, stored, time.monotonic()))
        reading.position, reading.stored_ms = until, stored
