"""The tasks of a host: a thread each, under one lease."""

import dataclasses
import os
import threading
import time
import traceback
from typing import TYPE_CHECKING

from rocketconnect_kit.clock import boot_seconds
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.messages import DirectTask, Exit, Pulse, SignalAnswered, SignalTask, StartTask, TaskEnded
from services.executor.contract.metrics import DriverUse
from services.executor.contract.task import Outcome
from services.executor.host.line import Line
from services.executor.host.output import flush_output
from services.executor.host.reporter import TaskReporter, shown
from services.executor.host.signals import problems_of
from services.executor.runtime.run import run_task
from services.executor.runtime.task.control import ENDED, Asked, TaskControl
from services.executor.runtime.task.lease import Lease
from services.executor.secrets.renewal import Renewals
from services.executor.secrets.resolving import hide_problem

if TYPE_CHECKING:
    from services.executor.host.spark import SparkDriver

PULSE_SECONDS = 1.0
_COALESCE_SECONDS = 0.05
_GUARD_SECONDS = 0.1
_GRACE_SECONDS = 1.0
"""How long a change that began in the lease may take beyond it, at most half the send deadline; then the process ends under it."""


class Tasks:
    """Starts, directs and reports tasks. `start` and `direct` are for the thread that reads the orders."""

    def __init__(self, line: Line) -> None:
        self.lease = Lease()
        self.driver: SparkDriver | None = None
        self._endpoints: Endpoints | None = None
        self._renewals = Renewals()
        self._line = line
        self._changed = threading.Event()
        self._lock = threading.Lock()
        # Held over making and sending a pulse, so that none arrives behind the end of its run.
        self._telling = threading.Lock()
        self._running: dict[int, _Run] = {}

    def begin(self, endpoints: Endpoints) -> None:
        """Take the addresses, and start the threads that report and that watch the lease."""
        self._endpoints = endpoints
        for job in (self._pulse, self._guard):
            threading.Thread(target=job, name=job.__name__.strip("_"), daemon=True).start()

    def start(self, order: StartTask) -> None:
        """Start a task in a thread of its own."""
        if self._endpoints is None:
            msg = "a task was ordered before the endpoints were told"
            raise RuntimeError(msg)
        run = _Run(order, TaskControl(), TaskReporter(order.run, self._changed))
        if order.paused:
            run.control.pause()
        with self._lock:
            self._running[order.run] = run
        name = f"{order.spec.connector}/{order.spec.task}"
        threading.Thread(target=self._run, args=(run, self._endpoints), name=name, daemon=True).start()

    def direct(self, order: DirectTask) -> None:
        """Pass a wish on. A run that is over does not need it."""
        with self._lock:
            run = self._running.get(order.run)
        if run is None:
            return
        match order.wish:
            case "stop":
                run.control.stop()
            case "pause":
                run.control.pause()
            case "resume":
                run.control.resume()
            case "fence":
                run.control.fence()

    def signal(self, order: SignalTask) -> None:
        """Tell a task what a person has to say, once it is known to be right; the answer goes over the line."""
        # In a thread of its own: looking at the plugin may load it, and the lease is renewed by the thread that reads the orders.
        threading.Thread(target=self._signal, args=(order,), name=f"signal {order.name}", daemon=True).start()

    def _signal(self, order: SignalTask) -> None:
        def answer(text: str, trouble: str) -> None:
            self._line.send(SignalAnswered(order.number, shown(text), trouble=shown(trouble)))

        with self._lock:
            run = self._running.get(order.run)
        if run is None:
            return answer("", ENDED)
        try:
            problems = problems_of(run.order.spec.config, order.name, order.arguments)
        except Exception as error:  # whatever is wrong with the plugin, the one who asks has to hear of it
            return answer("", f"{type(error).__name__}: {error}")
        if problems:
            return self._line.send(SignalAnswered(order.number, problems=list(map(hide_problem, problems))))
        return run.control.signal(Asked(order.name, order.arguments, answer))

    def _run(self, run: "_Run", endpoints: Endpoints) -> None:
        try:
            outcome = run_task(
                run.order.spec, run.control, self.lease, run.reporter, endpoints, spark=self.driver, renewals=self._renewals
            )
        except BaseException:
            # The last frame of the thread: whatever it is, also a SystemExit, the executor must hear of it.
            outcome = Outcome(clean=False, failed=True, error=f"a defect of the executor's runtime: {traceback.format_exc()}")
        run.control.over()
        run.over.set()
        if outcome.failed and self.driver is not None:
            self.driver.end_if_gone()
        flush_output()
        ended = TaskEnded(run.order.run, dataclasses.replace(outcome, error=shown(outcome.error), anew=shown(outcome.anew)))
        with self._telling:
            with self._lock:
                del self._running[run.order.run]
            self._line.send(Pulse([run.reporter.pulse()]), ended)

    def _pulse(self) -> None:
        while True:
            if self._changed.wait(PULSE_SECONDS):
                # Changes come in groups; one pulse tells them all.
                time.sleep(_COALESCE_SECONDS)
                self._changed.clear()
            with self._telling:
                if self.driver is not None and (use := self.driver.use) is not None:
                    self._tell_use(use)
                self._line.send(Pulse([run.reporter.pulse() for run in self._runs()]))

    def _tell_use(self, use: DriverUse) -> None:
        """All tasks of a host with a driver run on it."""
        for run in self._runs():
            run.reporter.metrics.spark_driver = use

    def _guard(self) -> None:
        """Invariant 3: without a lease nothing is changed, also when the executor itself is stopped and can say nothing.

        Tasks look at the lease before they send or change their target, and wait without one: they stay, to go on in place when it
        is renewed. Only a change that is under way for too long can't be waited for: others begin after the send deadline.

        A thread of its own: the one that reports may be blocked by an executor that does not read.
        """
        grace = min(_GRACE_SECONDS, self._endpoints.send_deadline / 2) if self._endpoints is not None else _GRACE_SECONDS
        while True:
            left = self.lease.until + grace - boot_seconds()
            time.sleep(min(max(left, _GUARD_SECONDS), PULSE_SECONDS))
            if self.lease.outlived(grace):
                os._exit(Exit.LEASE_LOST)

    def _runs(self) -> list["_Run"]:
        with self._lock:
            return list(self._running.values())


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    order: StartTask
    control: TaskControl
    reporter: TaskReporter
    over: threading.Event = dataclasses.field(default_factory=threading.Event)
