"""What the state service is told, once a second and soon after each change: all that is new, and that the rest is as it was."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import grpc
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.status import decode
from services.executor import wire
from services.executor.contract.assignment import Assigned, Key
from services.executor.contract.messages import LogLine, TaskPulse
from services.executor.contract.metrics import TaskMetrics
from services.executor.contract.task import State
from services.executor.worker.task_lines import TaskLines

INTERVAL_SECONDS = 1.0
_COALESCE_SECONDS = 0.05

LOG_LINES = 1_000
"""Lines kept for a task while the state service is away; older ones are dropped, and counted."""

LOG_CHARACTERS = 1 << 20
"""About how many characters of log lines go into one report; the rest goes into the next."""

_FAILURES = (State.FAILED, State.RESTARTING)

Send = Callable[[states.ReportTasksRequest], Awaitable[states.ReportTasksResponse]]

_log = get_logger(__name__)


@dataclass(slots=True, eq=False)
class _Entry:
    assigned: Assigned
    restarts: int
    state: State = State.STARTING
    trace: str = ""
    since: float = field(default_factory=time.time)
    last_progress: float = 0.0
    has_work: bool = False
    metrics: TaskMetrics = field(default_factory=TaskMetrics)
    logs: deque[LogLine] = field(default_factory=deque)
    dropped: int = 0
    changes: int = 1
    delivered: int = 0
    """How many of the changes the state service knows."""
    is_last: bool = False
    _lines: TaskLines = field(init=False)

    def __post_init__(self) -> None:
        self._lines = TaskLines(self.assigned)

    @property
    def said(self) -> tuple[object, ...]:
        return self.state, self.trace, self.since, self.last_progress, self.has_work, self.metrics

    @property
    def is_news(self) -> bool:
        """The state service does not know the newest of it."""
        return self.delivered != self.changes

    def change(self, state: State, trace: str) -> None:
        if state is not self.state:
            self.since = time.time()
        self.state, self.trace = state, trace
        self.changes += 1

    def add_logs(self, lines: Iterable[LogLine]) -> None:
        self.logs.extend(lines)
        while len(self.logs) > LOG_LINES:
            self.logs.popleft()
            self.dropped += 1

    def say(self, lines: Sequence[LogLine]) -> None:
        """Keep them for the next report, and put them into the log of this process."""
        self._lines.say(lines)
        self.add_logs(lines)

    def take_logs(self, room: int) -> list[LogLine]:
        """The oldest lines, so many that their text fits."""
        taken: list[LogLine] = []
        if self.dropped and self.logs:
            told = f"{self.dropped} log lines before this one were dropped: the state service did not take them in time"
            taken.append(LogLine(self.logs[0].time, "WARNING", told))
            self.dropped = 0
        while self.logs and len(self.logs[0].message) <= room:
            room -= len(self.logs[0].message)
            taken.append(self.logs.popleft())
        return taken

    def put_back(self, lines: list[LogLine]) -> None:
        later = list(self.logs)
        self.logs.clear()
        self.add_logs([*lines, *later])


class Reports:
    """Keeps the newest word of each unit, and sends all of them together. For the thread of the loop.

    Args:
        worker_id: Who reports.
        send: Calls the state service; raises grpc.RpcError.
        on_refused: Called when somebody else owns a unit that was reported under this epoch (invariant 3).
    """

    def __init__(self, worker_id: str, send: Send, on_refused: Callable[[Key, int], None]) -> None:
        self._worker_id = worker_id
        self._send = send
        self._on_refused = on_refused
        self._entries: dict[Key, _Entry] = {}
        self._changed = asyncio.Event()
        self._sending = asyncio.Lock()
        self._is_away = False
        self._receipt = 0
        """Of the last report: the state service knows what was said by then. 0: everything is to be said again."""
        self._has_left = False
        """Something that was reported is not ours any more, which only a whole report can say."""

    def started(self, assigned: Assigned, restarts: int) -> None:
        """A run begins."""
        entry = self._entries.get(assigned.key)
        if entry is None or entry.assigned.epoch != assigned.epoch:
            # What was logged before may still have to be told.
            entry = self._entries[assigned.key] = _Entry(assigned, restarts, logs=entry.logs if entry else deque())
        entry.restarts, entry.is_last = restarts, False
        entry.change(State.STARTING, entry.trace if restarts else "waiting for its process")
        self._changed.set()

    def pulse(self, assigned: Assigned, pulse: TaskPulse) -> None:
        """What a run says of itself."""
        entry = self._entry(assigned)
        if entry is None:
            return
        before = entry.said
        urgent = (pulse.state, pulse.trace) != (entry.state, entry.trace) or pulse.logs
        entry.state, entry.trace, entry.since = pulse.state, pulse.trace, pulse.since
        entry.last_progress, entry.has_work, entry.metrics = pulse.last_progress, pulse.has_work, pulse.metrics
        entry.say(pulse.logs)
        if entry.said != before:
            entry.changes += 1
        if urgent:
            self._changed.set()

    def waiting(self, assigned: Assigned, reason: str) -> None:
        """A planning tries on, until what it needs answers."""
        self._say(assigned, State.WAITING, reason)

    def restarting(self, assigned: Assigned, restarts: int, reason: str, *, is_lost: bool = True) -> None:
        """A run was lost, or has ended to begin anew, and will be started again."""
        self._say(assigned, State.RESTARTING, reason, restarts=restarts, is_error=is_lost)

    def ended(self, assigned: Assigned, state: State, trace: str) -> None:
        """The last word on a unit: it is forgotten when it was delivered."""
        self._say(assigned, state, trace, is_last=True)

    def forget(self, key: Key, epoch: int) -> None:
        """The unit is no longer ours under this epoch: say nothing more, but for a last word that is still to be delivered."""
        entry = self._entries.get(key)
        if entry is not None and entry.assigned.epoch == epoch and not entry.is_last:
            self._drop(key)

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            try:
                async with asyncio.timeout(INTERVAL_SECONDS):
                    await self._changed.wait()
                # Changes come in groups; one report tells them all.
                await asyncio.sleep(_COALESCE_SECONDS)
            except TimeoutError:
                pass  # the interval is over
            if not await self.flush():
                # The state service is away: the newest is kept, and sent when it answers again.
                await asyncio.sleep(INTERVAL_SECONDS)

    async def flush(self) -> bool:
        """Send what there is now; return whether it arrived."""
        async with self._sending:
            self._changed.clear()
            if not self._entries:
                return True
            receipt = 0 if self._has_left else self._receipt
            # Until the answer is there: without one it is not known what has arrived.
            self._receipt, self._has_left = 0, False
            sent = [(entry, entry.changes, logs) for entry, logs in self._with_logs() if not receipt or entry.is_news or logs]
            request = states.ReportTasksRequest(worker_id=self._worker_id, receipt=receipt)
            request.reports.extend(self._report(entry, logs) for entry, _, logs in sent)
            response: states.ReportTasksResponse | None = None
            try:
                response = await self._send(request)
            except grpc.RpcError as error:
                self._note_away(decode(error).message)
                return False
            finally:
                # Also when the caller did not want to wait any longer.
                if response is None:
                    for entry, _, logs in sent:
                        entry.put_back(logs)
            self._note_back()
            self._receipt = response.receipt
            for entry, changes, _ in sent:
                self._delivered(entry, changes)
            if receipt and not response.receipt:
                self._changed.set()
        for refused in response.refused:
            self._on_refused(Key(refused.connector_uid, refused.task), refused.epoch)
        return True

    def _say(
        self,
        assigned: Assigned,
        state: State,
        trace: str,
        *,
        restarts: int | None = None,
        is_last: bool = False,
        is_error: bool = True,
    ) -> None:
        entry = self._entry(assigned)
        if entry is None:
            return
        is_news = trace not in ("", entry.trace)
        if is_error and state in _FAILURES and entry.state is not State.FAILED:
            # A run that fails has counted its error; one whose process died could not.
            entry.metrics = replace(entry.metrics, errors=entry.metrics.errors + 1)
        entry.change(state, trace)
        entry.restarts = entry.restarts if restarts is None else restarts
        entry.has_work, entry.is_last = False, is_last
        if is_news:
            entry.say([LogLine(time.time(), "WARNING" if state in (State.RESTARTING, State.WAITING) else "ERROR", trace)])
        self._changed.set()

    def _entry(self, assigned: Assigned) -> _Entry | None:
        entry = self._entries.get(assigned.key)
        return entry if entry is not None and entry.assigned.epoch == assigned.epoch else None

    def _report(self, entry: _Entry, logs: list[LogLine]) -> states.TaskReport:
        key = entry.assigned.key
        report = states.TaskReport(
            connector_uid=key.connector_uid,
            task=key.task,
            generation=entry.assigned.generation,
            epoch=entry.assigned.epoch,
            state=wire.state(entry.state),
            trace=entry.trace,
            since=wire.timestamp(entry.since),
            has_work=entry.has_work,
            metrics=wire.metrics(entry.metrics),
            logs=[wire.log(line, key.task, self._worker_id) for line in logs],
            restarts=entry.restarts,
            stall_after=wire.stall_after(entry.assigned),
        )
        if entry.last_progress:
            report.last_progress.CopyFrom(wire.timestamp(entry.last_progress))
        return report

    def _with_logs(self) -> Iterator[tuple[_Entry, list[LogLine]]]:
        room = LOG_CHARACTERS
        for entry in self._entries.values():
            logs = entry.take_logs(room)
            room -= sum(len(line.message) for line in logs)
            yield entry, logs

    def _delivered(self, entry: _Entry, changes: int) -> None:
        entry.delivered = changes
        key = entry.assigned.key
        if entry.is_last and entry.changes == changes and not entry.logs and self._entries.get(key) is entry:
            self._drop(key)

    def _drop(self, key: Key) -> None:
        del self._entries[key]
        self._has_left = True

    def _note_away(self, cause: str) -> None:
        if not self._is_away:
            _log.warning("the state service does not take reports; the newest is kept", cause=cause)
        self._is_away = True

    def _note_back(self) -> None:
        if self._is_away:
            _log.info("the state service takes reports again")
        self._is_away = False
