"""Fills the counters and gauges of a task, and says what it does."""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping

from rocketconnect_sdk.record import Offset
from services.executor.contract.metrics import BATCH_BOUNDS, LATENCY_BOUNDS, Exemplar, SourcePosition
from services.executor.contract.task import State
from services.executor.runtime.task.reporter import Reporter

_WINDOW = 10.0
_SAMPLE = 0.5
_MOVED_LATELY = 3.0
_PARTITIONS = 100
_PARTITION_CHARACTERS = 16_384
_HIGHEST = (1 << 63) - 1
_AHEAD = 3600.0
"""A time that is further ahead is no clock that is wrong, but another unit."""


class Meter:
    """Used by the one thread of a task that moves records."""

    def __init__(self, reporter: Reporter, now: float) -> None:
        self._reporter = reporter
        self._metrics = reporter.metrics
        self._samples: deque[tuple[float, int, int]] = deque([(now, 0, 0)])
        self._moved_at = float("-inf")
        self._positions: dict[str, SourcePosition] = {}
        self._exemplars: dict[int, Exemplar] = {}

    def read(self, records: int, size: int) -> None:
        """So much was read."""
        self._metrics.records_in += records
        self._metrics.bytes_in += size

    def moved(self, now: float, records: int, size: int) -> None:
        """So much is confirmed or durable."""
        self._metrics.records_out += records
        self._metrics.bytes_out += size
        self._moved_at = now
        self._reporter.progress()

    def committed(self, positions: Mapping[str, Offset]) -> None:
        """These source partitions stand there now."""
        for partition, offset in positions.items():
            if offset:
                self._positions.pop(partition, None)
                self._positions[partition] = SourcePosition(partition, min(max(offset[0], -_HIGHEST), _HIGHEST))
        # Invariant 7: they go with every report of the worker.
        while len(self._positions) > _PARTITIONS or sum(map(len, self._positions)) > _PARTITION_CHARACTERS:
            del self._positions[next(iter(self._positions))]
        self._metrics.source_positions = tuple(self._positions.values())

    def batch(self, seconds: float) -> None:
        """A batch took so long from its first record to its confirmation."""
        metrics = self._metrics
        metrics.batches += 1
        metrics.batch_seconds += seconds
        metrics.batch_seconds_max = max(metrics.batch_seconds_max, seconds)
        first = bisect_left(BATCH_BOUNDS, seconds)
        metrics.batch_buckets = tuple(count + (index >= first) for index, count in enumerate(metrics.batch_buckets))

    def arrived(self, wall: float, first_ms: int | None, last_ms: int | None, trace_id: str = "") -> None:
        """Records of one partition are durable, or confirmed.

        Args:
            wall: Now, seconds since 1970.
            first_ms: The source's time of the first of them, milliseconds since 1970; None: it has none.
            last_ms: That of the last one.
            trace_id: Of a traced one among them; empty: none is.
        """
        metrics = self._metrics
        first, last = _seconds(first_ms, wall), _seconds(last_ms, wall)
        if first is not None:
            took = max(0.0, wall - first)
            metrics.latencies += 1
            metrics.latency_seconds += took
            place = bisect_left(LATENCY_BOUNDS, took)
            metrics.latency_buckets = tuple(count + (index >= place) for index, count in enumerate(metrics.latency_buckets))
            if trace_id:
                # Invariant 7: the newest one of each bucket.
                self._exemplars[place] = Exemplar(trace_id, took, wall)
                metrics.latency_exemplars = tuple(self._exemplars.values())
        metrics.newest_record = max((each for each in (metrics.newest_record, first, last) if each is not None), default=None)

    def stored(self, times_ms: Iterable[int]) -> None:
        """Messages that the broker stored at these times are durable; milliseconds since 1970, 0: not known."""
        newest = max(times_ms, default=0) / 1000
        if newest:
            self._metrics.newest_stored = max(newest, self._metrics.newest_stored or 0.0)

    def sample(self, now: float, buffered: int) -> None:
        """Refreshes rates and gauges; call it often."""
        metrics = self._metrics
        metrics.buffered_bytes = buffered
        if now - self._samples[-1][0] < _SAMPLE:
            return
        self._samples.append((now, metrics.records_in, metrics.records_out))
        while now - self._samples[0][0] > _WINDOW:
            self._samples.popleft()
        then, records_in, records_out = self._samples[0]
        if now > then:
            metrics.rate_in = (metrics.records_in - records_in) / (now - then)
            metrics.rate_out = (metrics.records_out - records_out) / (now - then)

    def say(
        self, now: float, trouble: str, *, work: bool, gathering: bool = False, done: bool = False, held: str = "", wrong: str = ""
    ) -> None:
        """Reports the state of a task that runs.

        Args:
            now: Monotonic time.
            trouble: What it waits for; empty: nothing.
            work: It has something to do now.
            gathering: Records wait for more before they are written: healthy, not stalled, and not done either.
            done: There will never be more: it is IDLE at once, not a moment later.
            held: What is there and no record yet, why an idle source has it and rests; empty: nothing.
            wrong: Why it does not do what it is there for, though nothing is away and it reads; empty: it does.
        """
        self._reporter.work(work)
        if wrong:
            self._reporter.state(State.STALLED, wrong)
        elif trouble:
            self._reporter.state(State.WAITING, trouble)
        elif work or gathering or (not done and now - self._moved_at < _MOVED_LATELY):
            self._reporter.state(State.RUNNING)
        else:
            self._reporter.state(State.IDLE, held)


def _seconds(ms: int | None, wall: float) -> float | None:
    """A time that a record can have been made at. 0 and what is before it stands for no time, and so does what has not come yet."""
    return ms / 1000 if ms is not None and 0 < ms <= (wall + _AHEAD) * 1000 else None
