"""The counters and gauges of a task."""

from __future__ import annotations

from dataclasses import dataclass

from services.executor.contract.datasets import Datasets


@dataclass(frozen=True, slots=True)
class QueueLag:
    """How far a sink is behind in one queue; see state/v1 QueueLag."""

    queue: str
    messages: int
    position: int


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """Where a source is in one partition; see state/v1 SourcePosition."""

    partition: str
    offset: int


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """Records of a sink that wait to be written; see state/v1 OpenBatch. Times are seconds since 1970; None: not known."""

    records: int
    since: float
    due: float | None


@dataclass(frozen=True, slots=True)
class Warned:
    """What a task has warned of; see state/v1 TaskWarning. The time is seconds since 1970."""

    time: float
    message: str


BATCH_BOUNDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds in seconds of TaskMetrics.batch_buckets."""
LATENCY_BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 21_600.0, 86_400.0)
"""Upper bounds in seconds of TaskMetrics.latency_buckets."""


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A traced record of a batch whose latency was measured; see state/v1 Exemplar. The time is seconds since 1970."""

    trace_id: str
    seconds: float
    time: float


@dataclass(frozen=True, slots=True)
class StepTimes:
    """How long a step of a sink's batches on Spark took; see state/v1 SparkStep. The buckets are those of BATCH_BOUNDS."""

    step: str
    count: int = 0
    seconds: float = 0.0
    buckets: tuple[int, ...] = (0,) * len(BATCH_BOUNDS)


@dataclass(frozen=True, slots=True)
class DriverUse:
    """What the Java process of a Spark driver uses; see state/v1 SparkDriver. Sizes are bytes; None: not known."""

    profile: str
    heap_used: int
    heap_committed: int
    heap_max: int | None
    resident: int | None
    gc_seconds: float
    gc_runs: int
    spilled: int | None


@dataclass(slots=True)
class TaskMetrics:
    """Counters since `counted_since`, the start of the task, and gauges of now: the fields of state/v1 TaskMetrics, and `datasets`.

    Written by the task's threads, read by the host once a second. Each field is replaced as a whole (never changed in place), so
    that a reader sees an old value or a new one.
    """

    counted_since: float | None = None
    records_in: int = 0
    records_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    duplicates_skipped: int = 0
    dead_letters: int = 0
    records_skipped: int = 0
    retries: int = 0
    errors: int = 0
    batches: int = 0
    batch_seconds: float = 0.0
    batch_seconds_max: float = 0.0
    batch_bounds: tuple[float, ...] = BATCH_BOUNDS
    batch_buckets: tuple[int, ...] = (0,) * len(BATCH_BOUNDS)
    rate_in: float = 0.0
    rate_out: float = 0.0
    commits: int = 0
    buffered_bytes: int = 0
    lags: tuple[QueueLag, ...] = ()
    source_remaining: int | None = None
    source_remaining_unit: str = ""
    source_seconds_left: float | None = None
    source_positions: tuple[SourcePosition, ...] = ()
    late_skipped: int = 0
    dropped_in_a_row: int = 0
    gap_messages: int = 0
    last_left_out: str = ""
    warnings: tuple[Warned, ...] = ()
    open_batch: OpenBatch | None = None
    spark_ui: str = ""
    spark_steps: tuple[StepTimes, ...] = ()
    spark_driver: DriverUse | None = None
    newest_record: float | None = None
    newest_stored: float | None = None
    latencies: int = 0
    latency_seconds: float = 0.0
    latency_bounds: tuple[float, ...] = LATENCY_BOUNDS
    latency_buckets: tuple[int, ...] = (0,) * len(LATENCY_BOUNDS)
    latency_exemplars: tuple[Exemplar, ...] = ()
    datasets: Datasets | None = None
    """What it reads and writes, where somebody wants to know; for the executor alone."""
