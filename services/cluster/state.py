"""The whole state of the cluster service: durable tables, and what is made anew after a start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from services.cluster.assignment import balanced
from services.cluster.assignment.demands import demand_of
from services.cluster.assignment.model import Candidate, Demand, Strategy
from services.cluster.decisions.arrivals import Arrivals
from services.cluster.decisions.leases import Leases, Timing
from services.cluster.decisions.retry import RetryPolicy
from services.cluster.model import PLAN, Connector, Key, PlanState, Unit
from services.cluster.tables import Tables

FOREVER = float("inf")

BURST_SECONDS = 3.0
"""The first of several tasks that ask for a new plan is waited with so long: one planning is for all."""

PLANS_APART_SECONDS = 10.0
"""So long after a plan was made is one made that tasks ask for: a source that asks at each poll does not plan all the time."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How the service decides."""

    timing: Timing = field(default_factory=Timing)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    strategy: Strategy = balanced.assign
    forget_workers_after: float = 600.0
    """Seconds for which a worker whose session ended is still listed."""
    rebalance_delay: float = 10.0
    """Seconds for which a worker that was gone has to stay before tasks of others move to it; doubles with each further time."""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Not to be given out before `until`; counted for `worker`, who had it, so that nothing else moves meanwhile.

    Afterwards, until somebody holds it, it is known that this worker had it last.
    """

    until: float
    worker: str


class State:
    """What the service knows at a moment. Only `core.step` and what it calls change it; not for several threads.

    Made from the tables of a store: every worker that was not ended gets a full lease, and every replanning its full time.
    """

    def __init__(self, tables: Tables, policy: Policy, now: float) -> None:
        self.tables = tables
        self.policy = policy
        self.leases = Leases(policy.timing)
        self.leases.restart((worker.id for worker in tables.workers.values() if not worker.ended), now)
        self.ended_at = {worker.id: now for worker in tables.workers.values() if worker.ended and not worker.drained}
        # How long they have run is not stored: to a task that may have run for days its next failure is the first one.
        self.given_at = {unit.key: -FOREVER for unit in tables.units.values() if unit.is_held}
        self.held_back: dict[Key, HeldBack] = {}
        self.settled: set[Key] = set()
        """Whose last owner was judged: what it had sent was not under way any more when the unit became free. After a start it is
        not known of any."""
        holding = {unit.worker for unit in tables.units.values()}
        self.arrivals = Arrivals(policy.rebalance_delay, policy.forget_workers_after, set(tables.workers) - holding)
        self.distributed: tuple[object, ...] | None = None
        """From what it was last found that there is nothing to give out or to move."""
        self.replan_at: dict[str, float] = {}
        self.planned_at: dict[str, float] = {}
        """When each plan was made, as far as this process has seen it; else when it was started."""
        self.reasons: dict[Key, str] = {}
        self.unsettled: set[str] = set(tables.connectors)
        """Connectors that changed, or units of which did: what they want may be another thing than what there is."""
        self.demands: dict[Key, Demand] = {}
        """What each unit that shall have an owner asks of one; of connectors that are settled."""
        self.owners: dict[Key, str] = {}
        """Who holds each of these and is not to stop it."""
        self.last_step = now
        self._keys_of: dict[str, set[Key]] = {}
        for key in tables.units:
            self._keys_of.setdefault(key.connector_uid, set()).add(key)
        for uid in tables.plans:
            self.schedule_replan(uid, now)

    def units_of(self, uid: str) -> list[Unit]:
        """Return the units of a connector, by task; its PLAN first."""
        units = self.tables.units
        return [units[key] for key in sorted(self._keys_of.get(uid, ()))]

    def put_unit(self, unit: Unit) -> None:
        """Store a unit."""
        if self.tables.units.get(unit.key) != unit:
            self.tables.units.change(unit.key, unit)
            self._keys_of.setdefault(unit.key.connector_uid, set()).add(unit.key)
            self.unsettled.add(unit.key.connector_uid)

    def drop_unit(self, key: Key) -> None:
        """Forget a unit and everything about it."""
        self.tables.units.drop(key)
        keys = self._keys_of.get(key.connector_uid, set())
        keys.discard(key)
        if not keys:
            self._keys_of.pop(key.connector_uid, None)
        for notes in (self.held_back, self.reasons, self.given_at, self.demands, self.owners):
            notes.pop(key, None)
        self.settled.discard(key)
        self.unsettled.add(key.connector_uid)

    def put_connector(self, connector: Connector) -> None:
        """Store a connector."""
        self.tables.connectors.put(connector.uid, connector)
        self.unsettled.add(connector.uid)

    def give(self, moves: Sequence[tuple[Unit, str]], now: float) -> None:
        """Let workers own units that nobody holds, each under a new epoch (higher than every one before, never used again)."""
        units, epochs = self.tables.units, self.tables.next_epochs(len(moves))
        for (unit, worker), epoch in zip(moves, epochs, strict=True):
            key = unit.key
            self.held_back.pop(key, None)
            self.given_at[key] = now
            # Not by replace(), which takes three times as long: there may be twenty thousand.
            given = Unit(key, unit.generation, unit.revision, epoch, worker, failures=unit.failures, given_up=unit.given_up)
            units.change(key, given)
            # What its connector wants is the same as before.
            self.owners[key] = worker

    def take_back(self, unit: Unit) -> Unit:
        """Let nobody own a unit any more; return it as it is now. Only when its owner surely has stopped it."""
        self.given_at.pop(unit.key, None)
        self.settled.discard(unit.key)
        free = replace(unit, worker="", revoked=False)
        self.put_unit(free)
        return free

    def revoke(self, unit: Unit) -> None:
        """Tell the owner of a unit to stop it. It stays the owner until it has released it, or is known to have ended."""
        self.put_unit(replace(unit, revoked=True))

    def has_revoked(self, worker: str) -> bool:
        """Return whether the worker is to stop anything that it holds."""
        return any(unit.revoked for unit in self.tables.units.values() if unit.worker == worker)

    def holds_any(self, worker: str) -> bool:
        """Return whether the worker holds anything."""
        return any(unit.worker == worker for unit in self.tables.units.values())

    def free_units_of(self, worker: str) -> list[Unit]:
        """Let nobody own what a worker held; return that as it is now."""
        return [self.take_back(unit) for unit in [unit for unit in self.tables.units.values() if unit.worker == worker]]

    def judge_worker(self, worker: str, now: float) -> None:
        """End the session of a worker whose lease and the send deadline have passed, and free what it held."""
        held = {unit.key for unit in self.tables.units.values() if unit.worker == worker}
        self.end_worker(worker, now)
        self.settled |= held

    def end_worker(self, worker: str, now: float) -> None:
        """End the session of a worker that surely does nothing any more, and free what it held."""
        row = replace(self.tables.workers[worker], ended=True)
        self.tables.workers.put(worker, row)
        self.leases.forget(worker)
        self.arrivals.left(worker, now)
        if not row.drained:
            self.ended_at[worker] = now
        self.free_units_of(worker)

    def forget_worker(self, worker: str) -> None:
        """Remove a worker that holds nothing."""
        self.tables.workers.drop(worker)
        self.leases.forget(worker)
        self.ended_at.pop(worker, None)

    def candidates(self, now: float) -> list[Candidate]:
        """Return the workers that can take units now, by id."""
        return self._alive(now, drained=False)

    def drained(self, now: float) -> list[Candidate]:
        """Return the workers that could, were they not drained, by id."""
        return self._alive(now, drained=True)

    def _alive(self, now: float, *, drained: bool) -> list[Candidate]:
        alive = [worker for worker in self.tables.workers.values() if self.leases.is_alive(worker.id, now)]
        return [
            Candidate(worker.id, worker.labels, worker.plugins, worker.weight, self.arrivals.intake(worker.id, now))
            for worker in sorted(alive, key=lambda worker: worker.id)
            if worker.drained == drained
        ]

    def schedule_replan(self, uid: str, now: float) -> None:
        """Note when a connector is to be planned again, as its plan says."""
        self.replan_at.pop(uid, None)
        self.planned_at[uid] = now
        plan = self.tables.plans[uid]
        if plan.replan_after is not None:
            self.replan_at[uid] = now + plan.replan_after
        if plan.asked:
            self.replan_soon(uid, now)

    def replan_soon(self, uid: str, now: float) -> None:
        """Have a connector planned again when all that ask together have asked, and not too often."""
        due = max(now + BURST_SECONDS, self.planned_at[uid] + PLANS_APART_SECONDS)
        self.replan_at[uid] = min(due, self.replan_at.get(uid, FOREVER))

    def forget_replan(self, uid: str) -> None:
        """Of a connector that has no plan any more."""
        self.replan_at.pop(uid, None)
        self.planned_at.pop(uid, None)

    def note_demand(self, unit: Unit, *, wanted: bool) -> None:
        """Keep what a unit asks for and who has it, for decisions; `wanted` is what `is_wanted` says of it."""
        self.owners.pop(unit.key, None)
        if unit.given_up or not wanted:
            self.demands.pop(unit.key, None)
            return
        self.demands[unit.key] = demand_of(unit.key, self.config_of(unit))
        if unit.is_held and not unit.revoked:
            self.owners[unit.key] = unit.worker

    def is_wanted(self, unit: Unit) -> bool:
        """Whether the unit, as it is, shall have an owner. One that is not is dropped as soon as nobody holds it."""
        uid = unit.key.connector_uid
        connector = self.tables.connectors[uid]
        if not connector.is_active:
            return False
        if unit.key.task == PLAN:
            return connector.plan_state is not PlanState.CURRENT and unit.revision == connector.revision
        plan = self.tables.plans.get(uid)
        return connector.plan_state is not PlanState.VOID and plan is not None and unit.generation == plan.generation

    def config_of(self, unit: Unit) -> Mapping[str, str]:
        """Return the configuration that a unit runs with; empty for one of an older generation, which is being stopped."""
        return self.configs_of(unit)[0]

    def configs_of(self, unit: Unit) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return the configuration that a unit runs with, and what its plan gave it; a PLAN was given nothing.

        Both are empty for one of an older generation, which is being stopped.
        """
        uid, task = unit.key
        if task == PLAN:
            return self.tables.connectors[uid].config, {}
        plan = self.tables.plans.get(uid)
        return (plan.config, plan.tasks[task]) if plan is not None and plan.generation == unit.generation else ({}, {})

    def next_event(self, now: float) -> float:
        """Return when time alone changes something next."""
        return min(
            self.leases.next_event(now),
            min((held.until for held in self.held_back.values() if held.until > now), default=FOREVER),
            min(self.replan_at.values(), default=FOREVER),
        )
