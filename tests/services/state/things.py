"""What the other services and workers say, with everything that a test does not care about filled in."""

from typing import Any

from services.state.core import AssignmentsTold, ConnectorsTold, Effects, Event, Reported, States, step
from services.state.model import (
    PLAN,
    Assignment,
    Connector,
    ConnectorView,
    Key,
    LogLine,
    Moment,
    Report,
    StaleReport,
    State,
    TargetState,
    TaskView,
)

LEASE = 5.0


def connector(uid: str = "u1", *, revision: int = 1, wanted: TargetState = TargetState.RUNNING, name: str = "") -> Connector:
    return Connector(uid, name or f"name-{uid}", revision, wanted, 1)


def assignment(task: int = 0, uid: str = "u1", **more: Any) -> Assignment:
    fields: dict[str, Any] = {
        "worker": "w1",
        "epoch": 10,
        "generation": 1,
        "revision": 1,
        "revoked": False,
        "config": {} if task == PLAN else {"part": str(task)},
        "unowned": State.UNASSIGNED,
        "reason": "",
        "failures": 0,
    }
    return Assignment(key=Key(uid, task), **fields | more)


def report(task: int = 0, uid: str = "u1", **more: Any) -> Report:
    fields: dict[str, Any] = {
        "worker": "w1",
        "generation": 1,
        "epoch": 10,
        "state": State.RUNNING,
        "trace": "",
        "since": 50.0,
        "last_progress": 60.0,
        "has_work": False,
        "restarts": 0,
        "stall_after": None,
    }
    return Report(key=Key(uid, task), **fields | more)


def line(message: str, time: float = 1.0, task: int = 0) -> LogLine:
    return LogLine(0, time, "INFO", message, task, "w1")


class StatesOnPaper:
    """The core with a clock that is moved by hand."""

    def __init__(self) -> None:
        self.states = States(LEASE)
        self.now = Moment(1000.0, 2000.0)

    def pass_time(self, seconds: float) -> None:
        self.now = Moment(self.now.monotonic + seconds, self.now.wall + seconds)

    def step(self, event: Event) -> Effects:
        return step(self.states, event, self.now)

    def want(self, *connectors: Connector, snapshot: bool = False, deleted: tuple[str, ...] = ()) -> None:
        self.step(ConnectorsTold(snapshot, connectors, deleted))

    def assign(self, *assignments: Assignment, snapshot: bool = False, removed: tuple[Key, ...] = ()) -> None:
        self.step(AssignmentsTold(snapshot, assignments, removed))

    def report(self, *reports: Report) -> tuple[StaleReport, ...]:
        return self.step(Reported(reports)).refused

    def say(self, receipt: int, *reports: Report, worker: str = "w1") -> Effects:
        """What a worker says, with the receipt of what it said before."""
        return self.step(Reported(reports, (), worker, receipt))

    def view(self, name: str = "name-u1") -> ConnectorView:
        return self.states.view(name, self.now)

    def task(self, number: int = 0) -> TaskView:
        return next(task for task in self.view().tasks if task.task == number)
