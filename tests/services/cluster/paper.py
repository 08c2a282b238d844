"""A cluster whose clock the test moves, with its durable rows kept apart as a disk would keep them."""

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from rocketconnect_kit.errors import ServiceError
from services.cluster.decisions import core
from services.cluster.decisions.events import (
    ConnectorsChanged,
    Deregister,
    Effects,
    Event,
    Register,
    Release,
    ReportPlan,
    RequestPlan,
    Tick,
)
from services.cluster.model import PLAN, Changes, Connector, Key, Unit
from services.cluster.state import Policy, State
from services.cluster.tables import Tables
from services.cluster.view import AssignmentView

MakeConnector: TypeAlias = Callable[..., Connector]


class ClusterOnPaper:
    """The core with a clock that is moved by hand and a disk that holds exactly what the effects said."""

    def __init__(self, policy: Policy | None = None, seed: int = 1) -> None:
        self.policy = policy or Policy()
        self.now = 1000.0
        self.random = Random(seed)
        self.disk: list[Changes] = []
        self.state = State(Tables(), self.policy, self.now)
        self.views: dict[Key, AssignmentView] = {}
        self.sessions: dict[str, int] = {}

    def step(self, event: Event) -> Effects:
        effects = core.step(self.state, [event], self.now, self.random)
        self.disk.append(effects.changes)
        for key, view in effects.views.items():
            if view is None:
                self.views.pop(key, None)
            else:
                self.views[key] = view
        return effects

    def answer(self, event: Event) -> int:
        [reply] = self.step(event).replies
        if isinstance(reply, ServiceError):
            raise reply
        return reply

    def kill_and_restart(self) -> None:
        """Lose everything that is not on the disk."""
        tables = Tables()
        for changes in self.disk:
            tables.apply(changes)
        self.state = State(tables, self.policy, self.now)
        self.step(Tick())

    def pass_time(self, seconds: float, *, beating: bool = True) -> None:
        """Let time pass in ticks; the workers that are known send heartbeats unless told not to."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(self.now + 0.25, end)
            if beating:
                self.beat(*self.sessions)
            self.step(Tick())

    def beat(self, *workers: str) -> None:
        for worker in workers:
            core.heartbeat(self.state, worker, self.sessions[worker], self.now)

    def register(
        self,
        worker: str,
        *,
        plugins: tuple[str, ...] = ("file_source",),
        process: str = "first",
        ended: tuple[str, ...] = (),
        **labels: str,
    ) -> int:
        session = self.answer(
            Register(worker, f"{worker}:1", labels, frozenset(plugins), process=process, ended_processes=frozenset(ended))
        )
        self.sessions[worker] = session
        return session

    def deregister(self, worker: str) -> None:
        self.answer(Deregister(worker, self.sessions.pop(worker)))

    def connectors(self, *connectors: Connector, deleted: tuple[str, ...] = ()) -> None:
        self.answer(ConnectorsChanged(snapshot=False, connectors=connectors, deleted=deleted))

    def plan(self, uid: str, tasks: int, *, part: str = "part", replan_after: float | None = None) -> int:
        """Report a plan as the worker that holds the PLAN does."""
        unit = self.unit(uid, PLAN)
        configs = tuple({part: str(number)} for number in range(tasks))
        session = self.sessions[unit.worker]
        return self.answer(ReportPlan(unit.worker, session, uid, unit.epoch, configs, replan_after))

    def ask_for_plan(self, uid: str, task: int, *, epoch: int = 0) -> None:
        """Ask for a new plan as a task does; epoch: not of the present owner, but this one."""
        unit = self.unit(uid, task)
        self.answer(RequestPlan(unit.worker, self.sessions[unit.worker], unit.key, epoch or unit.epoch))

    def plan_again(self, uid: str) -> None:
        """Have a connector planned again, as time does."""
        self.state.replan_at[uid] = self.now
        self.step(Tick())

    def release(self, uid: str, task: int, *, failed: bool = False, permanent: bool = False, opened_generation: int = 0) -> None:
        unit = self.unit(uid, task)
        session = self.sessions[unit.worker]
        self.answer(Release(unit.worker, session, unit.key, unit.epoch, failed, permanent, opened_generation))

    def release_revoked(self) -> int:
        """Release everything that was revoked, as the workers do; return how many."""
        revoked = [unit for unit in self.state.tables.units.values() if unit.revoked and unit.worker in self.sessions]
        for unit in revoked:
            self.release(unit.key.connector_uid, unit.key.task)
        return len(revoked)

    def unit(self, uid: str, task: int) -> Unit:
        return self.state.tables.units[Key(uid, task)]

    def has(self, uid: str, task: int) -> bool:
        return Key(uid, task) in self.state.tables.units

    def owners(self, uid: str) -> dict[int, str]:
        """Return who holds each task of a connector; its PLAN is task -1."""
        return {unit.key.task: unit.worker for unit in self.state.units_of(uid)}

    def epochs(self, uid: str) -> dict[int, int]:
        return {unit.key.task: unit.epoch for unit in self.state.units_of(uid)}
