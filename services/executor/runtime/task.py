"""What a host gives to a task, and what it gets back: the border between the executor's control side and the data plane."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from rocketconnect_kit.clock import boot_seconds
from rocketconnect_sdk.errors import SystemAway
from services.executor.stop_limits import EXECUTOR_SECONDS, StopLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


ENDED = "the task has ended; the signal was not carried out"


class Kind(Enum):
    """What a task does."""

    SOURCE = "SOURCE"
    SINK = "SINK"
    DIRECT = "DIRECT"


class State(Enum):
    """What a task says of itself; the names are those of rocketconnect.connector.v1.State."""

    STARTING = "STARTING"
    RUNNING = "RUNNING"
    IDLE = "IDLE"
    WAITING = "WAITING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One run of one task.

    Attributes:
        kind: What it does.
        connector: The name of its connector.
        connector_uid: The uid of its connector.
        revision: Of the configuration.
        generation: Of the plan.
        task: Its number in the plan.
        epoch: Of the assignment.
        tasks: How many tasks the plan has.
        config: The configuration as it is stored: references to secrets are not resolved.
        task_config: What the plan gave it.
        settled: Nothing that earlier owners or runs have sent is under way any more, as far as the cluster service knows.
    """

    kind: Kind
    connector: str
    connector_uid: str
    revision: int
    generation: int
    task: int
    epoch: int
    tasks: int
    config: Mapping[str, str]
    task_config: Mapping[str, str] = field(default_factory=dict)
    settled: bool = False


class Lease:
    """Until when this worker may write. One for all tasks of a host; safe to use from any thread.

    It begins expired. Times are of `boot_seconds`, which is the same in all processes of a machine and goes on while that is
    suspended.
    """

    def __init__(self) -> None:
        self._until = float("-inf")
        self._changes = 0
        self._counting = threading.Lock()

    @property
    def until(self) -> float:
        """The time at which it ends, by `boot_seconds`."""
        return self._until

    def renew(self, until: float) -> None:
        """It now ends at this time; a renewal that arrives late does not shorten it."""
        # One writer (the host's command loop) and a single assignment: readers see the old value or the new one.
        self._until = max(self._until, until)

    def valid(self) -> bool:
        """True while it lasts."""
        return boot_seconds() < self._until

    def check(self) -> None:
        """Return if it lasts (invariant 3: without a lease somebody else may own the task).

        Raises:
            SystemAway: it has run out; for people, what is waited for.
        """
        if not self.valid():
            msg = "the lease of this worker has run out; waiting for the cluster service or the position service to confirm it"
            raise SystemAway(msg)

    def begin_change(self) -> None:
        """A target is changed for good from here to `end_change`: see `outlived`.

        Raises:
            SystemAway: see `check`; nothing has begun.
        """
        with self._counting:
            self._changes += 1
        try:
            # Only now: whoever finds no change under way after the lease has ended must not miss this one.
            self.check()
        except SystemAway:
            self.end_change()
            raise

    def end_change(self) -> None:
        """The change is made, or has failed."""
        with self._counting:
            self._changes -= 1

    def outlived(self, grace: float) -> bool:
        """True when the lease ended more than so many seconds ago and a change that began in it is still under way."""
        return self._changes > 0 and boot_seconds() > self._until + grace


@dataclass(frozen=True, slots=True)
class Asked:
    """A signal for a task; see SourceTask.signal.

    Attributes:
        name: Which.
        arguments: They are right.
        answer: To be called once, with what the task says, or with "" and why it did nothing. From any thread.
    """

    name: str
    arguments: Mapping[str, str]
    answer: Callable[[str, str], None]


class TaskControl:
    """What is wanted of a running task. Set by the host's command loop, seen by the task; safe to use from any thread.

    Attributes:
        stopping: Set when the task is to end; it then ends clean if it can.
    """

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._fenced = False
        self._told_at = 0.0
        self._paused = False
        self._woken = False
        self._asked: list[Asked] = []
        self._over = False
        self._changed = threading.Condition()

    @property
    def paused(self) -> bool:
        """True while the task shall move nothing."""
        return self._paused

    @property
    def fenced(self) -> bool:
        """True when somebody else owns the task: it ends at once and commits nothing (invariant 3)."""
        return self._fenced

    def pause(self) -> None:
        """Move nothing from now on; what is on its way is finished."""
        with self._changed:
            self._paused = True
            self._changed.notify_all()

    def resume(self) -> None:
        """Go on."""
        with self._changed:
            self._paused = False
            self._changed.notify_all()

    def stop(self) -> None:
        """End clean."""
        with self._changed:
            self._told_at = self._told_at or time.monotonic()
            self.stopping.set()
            self._changed.notify_all()

    def after_stop(self, seconds: float) -> float:
        """The monotonic time so long after it was told to stop; if it was not, so long after now.

        A task may see only later that it is to stop; who waits for it has counted from the beginning.
        """
        return (self._told_at or time.monotonic()) + seconds

    def fence(self) -> None:
        """End at once, without a commit: a report or commit was refused, or the lease is lost."""
        with self._changed:
            self._fenced = True
            self.stopping.set()
            self._changed.notify_all()

    def signal(self, asked: Asked) -> None:
        """The task is told this between two polls; at once, that it is over, when it is."""
        with self._changed:
            if not self._over:
                self._asked.append(asked)
                self._woken = True
                self._changed.notify_all()
                return
        asked.answer("", ENDED)

    def asked(self) -> Sequence[Asked]:
        """The signals that have come since the last call."""
        with self._changed:
            asked, self._asked = self._asked, []
            return asked

    def over(self) -> None:
        """The run has ended: whoever waits for the answer to a signal hears of it."""
        with self._changed:
            self._over = True
        for asked in self.asked():
            asked.answer("", ENDED)

    def wake(self) -> None:
        """Ends the wait under way, or the next one: the task's own business, such as an answer that has come."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Waits so long, or until something is wanted; true: the task is to end.

        One thread waits at a time. Wakes early on stop, fence and wake, and when a pause begins or ends.
        """
        with self._changed:
            if not self._woken and not self.stopping.is_set():
                self._changed.wait(seconds)
            self._woken = False
            return self.stopping.is_set()

    def wait_fenced(self, seconds: float) -> None:
        """Waits so long, or until it is fenced: between tries of what goes on after it was told to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._fenced, seconds)


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


BATCH_BOUNDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds in seconds of TaskMetrics.batch_buckets."""


@dataclass(slots=True)
class TaskMetrics:
    """Counters since the start of the task and gauges of now: the fields of state/v1 TaskMetrics.

    Written by the task's threads, read by the host once a second. Each field is replaced as a whole (never changed in place), so
    that a reader sees an old value or a new one.
    """

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
    source_remaining: int = 0
    source_positions: tuple[SourcePosition, ...] = ()
    late_skipped: int = 0
    gap_messages: int = 0


class Reporter(Protocol):
    """Where a task says what it does. Implemented by the host; called from the task's threads; cheap, never blocks.

    Attributes:
        metrics: Written by the task, sampled by the host.
    """

    metrics: TaskMetrics

    def state(self, state: State, trace: str = "") -> None:
        """It is in this state now; the trace says why, or what it waits for. Saying the same again changes nothing."""

    def progress(self) -> None:
        """Something moved."""

    def work(self, has_work: bool) -> None:
        """There is something to do, or there is not: with work and without progress a task is STALLED."""

    def log(self, level: str, message: str) -> None:
        """A line for people: level is INFO, WARNING or ERROR; without secrets."""


@dataclass(frozen=True, slots=True)
class RocketMQAccess:
    """What name servers and brokers ask of a client.

    Attributes:
        access_key: Of its user; empty: brokers without ACL.
        secret_key: Signs its requests.
        tls: They speak TLS.
        tls_ca: PEM file of who signed their certificates; None: those that the machine trusts.
        tls_cert: PEM file of our own certificate, for mutual TLS.
        tls_key: PEM file of its key.
        tls_server_name: The name in their certificates; empty: the host of each address.
    """

    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    tls: bool = False
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_server_name: str = ""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the other parts answer.

    Attributes:
        name_servers: Of RocketMQ, "host:port" separated by ";".
        position_address: Of the position service, "host:port".
        tls_ca: PEM file of who signed the position service's certificate; None: in the clear.
        tls_cert: PEM file of our own certificate, for mutual TLS.
        tls_key: PEM file of its key.
        send_deadline: Seconds that a send may take at most; a new owner waits as long before it looks into the topic.
        rocketmq: How RocketMQ lets us in.
        limits: What a task has for its end.
    """

    name_servers: str
    position_address: str
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    send_deadline: float = 2.0
    rocketmq: RocketMQAccess = RocketMQAccess()
    limits: StopLimits = field(default_factory=lambda: StopLimits.within(EXECUTOR_SECONDS))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task ended.

    Attributes:
        clean: All that it moved is covered by its committed position.
        failed: It cannot go on.
        permanent: Starting it again cannot help until something changes.
        fenced: Somebody else owns it, or the lease is lost.
        error: For people: what, where, what to do. Without secrets.
        stack: Where in the code, when the error is a defect.
        opened_generation: Of the plan that the position service told when it fenced the task; 0: it told none.
    """

    clean: bool
    failed: bool = False
    permanent: bool = False
    fenced: bool = False
    error: str = ""
    stack: str = ""
    opened_generation: int = 0
