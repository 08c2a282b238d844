"""How connectors have been in the last hour: samples of each, in a ring. Pure.

A ring takes some 14 KB. It is kept in memory alone, so it begins anew with this process; for longer there is Prometheus.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, nan
from typing import NamedTuple

from rocketconnect.state.v1 import state_service_pb2 as pb

from services.state.model import BADNESS, PLAN, ConnectorView, Moment, Sample, State, TaskView
from services.state.wire import UNDER_WAY, seconds_of, shown_metrics

STEP_SECONDS = 10.0
"""Between two samples."""
SAMPLES = 360
MOST_CONNECTORS = 5_000
"""Invariant 7: of so many connectors a history is kept, of those that came first."""
_STATES = list(State)
_COLUMNS = 7
_MOST_ERRORS = 1 << 53
"""Of a sample; a worker may say of them what it likes."""


class _Counted(NamedTuple):
    """What a task counts since it was started."""

    errors: float = 0
    batches: float = 0
    batch_seconds: float = 0.0
    latencies: float = 0
    latency_seconds: float = 0.0

    @classmethod
    def of(cls, metrics: pb.TaskMetrics) -> "_Counted":
        return cls(metrics.errors, metrics.batches, metrics.batch_seconds, metrics.latencies, metrics.latency_seconds)


class _Ring:
    """The newest samples. What is not known is not a number."""

    __slots__ = ("_next", "_times", "_values", "counted")

    def __init__(self) -> None:
        self._times = array("d")
        self._values = array("f")
        self._next = 0
        self.counted: Mapping[int, _Counted] | None = None
        """Of each task at the newest sample."""

    def add(self, sample: Sample) -> None:
        values = (BADNESS[sample.state], *sample[2:])
        row = array("f", [nan if value is None else value for value in values])
        if len(self._times) < SAMPLES:
            self._times.append(sample.time)
            self._values.extend(row)
            return
        at = self._next
        self._times[at] = sample.time
        self._values[at * _COLUMNS : (at + 1) * _COLUMNS] = row
        self._next = (at + 1) % SAMPLES

    def read(self) -> Iterator[Sample]:
        count = len(self._times)
        for index in range(count):
            at = (self._next + index) % count
            state, rate, lag, errors, *seconds = self._values[at * _COLUMNS : (at + 1) * _COLUMNS]
            yield Sample(self._times[at], _STATES[int(state)], _known(rate), _known(lag), errors, *map(_known, seconds))


class History:
    """The last hour of connectors. Not for several threads."""

    def __init__(self) -> None:
        self._rings: dict[str, _Ring] = {}

    def take(self, view: ConnectorView, now: Moment) -> None:
        """Adds how a connector is now; it is called each STEP_SECONDS."""
        uid = view.connector.uid
        if uid not in self._rings and len(self._rings) >= MOST_CONNECTORS:
            return
        ring = self._rings.setdefault(uid, _Ring())
        tasks = [(task, shown_metrics(task)) for task in view.tasks]
        counted = {task.task: _Counted.of(metrics) for task, metrics in tasks}
        since = _since(ring.counted, counted)
        errors = min(max(since.errors, 0), _MOST_ERRORS)
        batch, latency = _mean(since.batch_seconds, since.batches), _mean(since.latency_seconds, since.latencies)
        freshness = _freshness(tasks, now.wall)
        ring.add(Sample(now.wall, view.state, _rate(tasks), _lag(tasks), errors, batch, latency, freshness))
        # A task that nobody runs now goes on counting from 0.
        ring.counted = {**(ring.counted or {}), **counted}

    def keep(self, uids: frozenset[str]) -> None:
        """Forgets all other connectors."""
        for uid in self._rings.keys() - uids:
            del self._rings[uid]

    def of(self, uid: str) -> list[Sample]:
        """The samples of a connector, the oldest first."""
        ring = self._rings.get(uid)
        return [] if ring is None else list(ring.read())


def _since(before: Mapping[int, _Counted] | None, now: Mapping[int, _Counted]) -> _Counted:
    """What was counted since a moment; nothing is known of before the first."""
    found = _Counted()
    if before is None:
        return found
    for task, counted in now.items():
        old = before.get(task, _Counted())
        # A task that was started again counts from 0.
        started = any(new < earlier for new, earlier in zip(counted, old, strict=True))
        old = _Counted() if started else old
        found = _Counted(*(sum_ + new - earlier for sum_, new, earlier in zip(found, counted, old, strict=True)))
    return found


def _mean(seconds: float, count: float) -> float | None:
    return seconds / count if count else None


def _freshness(tasks: Sequence[tuple[TaskView, pb.TaskMetrics]], now: float) -> float | None:
    newest = [
        seconds_of(metrics.newest_record)
        for task, metrics in tasks
        if task.state in UNDER_WAY and metrics.HasField("newest_record")
    ]
    return max(0.0, now - max(newest)) if newest else None


def _rate(tasks: Sequence[tuple[TaskView, pb.TaskMetrics]]) -> float | None:
    rates = [metrics.rate_out for task, metrics in tasks if task.state in UNDER_WAY]
    return sum(rates) if rates else None


def _lag(tasks: Sequence[tuple[TaskView, pb.TaskMetrics]]) -> float | None:
    lags = []
    for task, metrics in tasks:
        if task.task == PLAN:
            continue
        if task.state not in UNDER_WAY or not (metrics.lags or metrics.source_remaining_known):
            return None
        lags.append(sum(lag.messages for lag in metrics.lags) if metrics.lags else metrics.source_remaining)
    return sum(lags) if lags else None


def _known(value: float) -> float | None:
    """A worker may say of a rate what is no number, or more than four bytes hold."""
    return value if isfinite(value) else None
