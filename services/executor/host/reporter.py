"""What a task says of itself, kept until the next pulse."""

import threading
import time
from collections import deque

import msgspec

from rocketconnect_sdk.wording.counts import counted
from services.executor.contract.messages import LogLine, TaskPulse
from services.executor.contract.metrics import TaskMetrics
from services.executor.contract.spans import Span, trace_said
from services.executor.contract.task import State
from services.executor.secrets.resolving import hide

LOG_LINES = 500
"""Lines kept between two pulses; older ones are dropped, and counted."""

SPANS = 500
"""Steps of traced records kept between two pulses; older ones are dropped."""

MESSAGE_CHARACTERS = 16_384
"""Longer messages and traces are cut."""

MOMENT_SECONDS = 1.0
"""What a task that begins does for longer is its reason."""

_AT_WORK = {State.RUNNING, State.IDLE}
_TROUBLE = (State.WAITING, State.STALLED)
_ENDED = (State.FAILED, State.STOPPED)


class TaskReporter:
    """The newest state of one run (services.executor.runtime.task.reporter.Reporter). Safe to use from any thread, never blocks.

    Args:
        run: The number of the run.
        changed: Set at each change, so that the executor hears of it at once.
    """

    def __init__(self, run: int, changed: threading.Event) -> None:
        self._run = run
        self._changed = changed
        self._lock = threading.Lock()
        self._state = State.STARTING
        self._trace = ""
        self._since = time.time()
        self._doing = "loading its plugin"
        self._doing_since = time.monotonic()
        self.metrics = TaskMetrics(counted_since=self._since)
        self._last_progress = self._since
        self._has_work = False
        self._logs: deque[LogLine] = deque()
        self._dropped = 0
        self._asks_for_plan = False
        self._spans: deque[Span] = deque(maxlen=SPANS)

    def state(self, state: State, trace: str = "") -> None:
        """See Reporter.state."""
        trace = shown(trace)
        with self._lock:
            if (state, trace) == (self._state, self._trace):
                return
            before = self._state
            if state is not before:
                self._since = time.time()
            self._state, self._trace = state, trace
        self._changed.set()
        # A task that moves records and rests in turns says nothing new by it; how it ended is logged by whoever ends it.
        if state is not before and {state, before} != _AT_WORK and state not in _ENDED:
            self.log("WARNING" if state in _TROUBLE else "INFO", f"{state.name}: {trace}" if trace else state.name)

    def doing(self, what: str) -> None:
        """See Reporter.doing. The next pulse tells it, if it still lasts then."""
        with self._lock:
            self._doing, self._doing_since = what, time.monotonic()

    def progress(self) -> None:
        """See Reporter.progress."""
        self._last_progress = time.time()

    def work(self, has_work: bool) -> None:
        """See Reporter.work."""
        self._has_work = has_work

    def log(self, level: str, message: str) -> None:
        """See Reporter.log."""
        line = LogLine(time.time(), level, shown(message), trace_said())
        with self._lock:
            if len(self._logs) == LOG_LINES:
                self._logs.popleft()
                self._dropped += 1
            self._logs.append(line)
        self._changed.set()

    def span(self, span: Span) -> None:
        """See Reporter.span."""
        said = {name: shown(value) if isinstance(value, str) else value for name, value in span.attributes.items()}
        with self._lock:
            self._spans.append(msgspec.structs.replace(span, attributes=said, error=shown(span.error)))

    def ask_for_plan(self) -> None:
        """See Reporter.ask_for_plan."""
        with self._lock:
            self._asks_for_plan = True
        self._changed.set()

    def pulse(self) -> TaskPulse:
        """Return the newest state, and hand over the log lines, and what was asked, since the last pulse."""
        with self._lock:
            logs = list(self._logs)
            if self._dropped:
                told = f"{self._dropped} log lines before this one were dropped: more than {LOG_LINES} came between two reports"
                logs.insert(0, LogLine(logs[0].time, "WARNING", told))
            self._logs.clear()
            self._dropped = 0
            spans = list(self._spans)
            self._spans.clear()
            asks_for_plan, self._asks_for_plan = self._asks_for_plan, False
            return TaskPulse(
                run=self._run,
                state=self._state,
                trace=self._trace or self._lasting(),
                since=self._since,
                last_progress=self._last_progress,
                has_work=self._has_work,
                metrics=self.metrics,
                logs=logs,
                asks_for_plan=asks_for_plan,
                spans=spans,
            )

    def _lasting(self) -> str:
        if self._state is not State.STARTING or time.monotonic() - self._doing_since < MOMENT_SECONDS:
            return ""
        return shown(self._doing)


def shown(text: str) -> str:
    """Return a text as people get it: see hide; and not too long."""
    text = hide(text)
    return text if len(text) <= MESSAGE_CHARACTERS else f"{text[:MESSAGE_CHARACTERS]}… (cut, {counted(len(text), 'character')})"
