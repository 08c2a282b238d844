"""From what a connector wants to the units that shall exist: planning, and the change from one generation to the next."""

from collections.abc import Sequence
from dataclasses import replace

from rocketconnect_kit.errors import FailedPrecondition
from services.cluster.decisions.events import ConnectorsChanged, ReportPlan
from services.cluster.model import PLAN, Connector, Key, Plan, PlanState, Unit
from services.cluster.state import State


def take_connectors(state: State, event: ConnectorsChanged) -> None:
    """Take over what the config service says."""
    for connector in event.connectors:
        _take_connector(state, connector)
    known = state.tables.connectors
    gone = set(known) - {connector.uid for connector in event.connectors} if event.snapshot else set(event.deleted)
    for uid in sorted(gone & set(known)):
        state.put_connector(replace(known[uid], deleted=True, plan_state=PlanState.VOID))


def _take_connector(state: State, new: Connector) -> None:
    old = state.tables.connectors.get(new.uid)
    if old is None:
        plan_state = PlanState.VOID
    elif new.restarts != old.restarts:
        plan_state = PlanState.VOID
        _start_over(state, new.uid)
    elif not (old.is_active and new.is_active):
        plan_state = PlanState.VOID
    elif old.plan_state is PlanState.CURRENT and _planned_from(old) != _planned_from(new):
        plan_state = PlanState.STALE
    else:
        plan_state = old.plan_state
    state.put_connector(replace(new, plan_state=plan_state))


def _planned_from(connector: Connector) -> tuple[object, ...]:
    return connector.revision, connector.name, connector.config, connector.type


def _start_over(state: State, uid: str) -> None:
    """Stop all units of a connector and forget how often they failed."""
    for unit in state.units_of(uid):
        if unit.is_held:
            state.revoke(replace(unit, failures=0, given_up=False))
        else:
            state.drop_unit(unit.key)


def take_plan(state: State, event: ReportPlan, unit: Unit, now: float) -> int:
    """Let a reported plan hold, and return its generation. `unit` is the PLAN under which it was made.

    The same tasks from the same revision are the same generation, as long as it is the newest; otherwise a new one begins. A PLAN
    that was revoked ends, but its result is not used: it is of a configuration that no longer holds.
    """
    uid = event.connector_uid
    if unit.revoked:
        state.take_back(unit)
        return state.tables.generations.get(uid, 0)
    connector = state.tables.connectors[uid]
    before = state.tables.plans.get(uid)
    same = before is not None and (before.generation, before.revision, before.config, before.tasks) == (
        state.tables.generations.get(uid, 0),
        connector.revision,
        connector.config,
        event.tasks,
    )
    generation = before.generation if before is not None and same else state.tables.next_generation(uid)
    state.tables.generations.put(uid, generation)
    # What was asked while this one was made may be about what it could not see.
    asked = before is not None and before.asked
    plan = Plan(uid, generation, connector.revision, event.epoch, connector.config, event.tasks, event.replan_after, asked)
    state.tables.plans.put(uid, plan)
    state.drop_unit(unit.key)
    state.put_connector(replace(connector, plan_state=PlanState.CURRENT))
    state.schedule_replan(uid, now)
    return generation


def take_opened(state: State, uid: str, opened: int) -> None:
    """Have a connector planned again, above a generation that was opened, if there has been none so high here.

    Then the store has gone back (invariant 3): the position service refuses all tasks of the present plan, and what the plans in
    between gave to whom is not known any more.
    """
    if opened <= state.tables.generations.get(uid, 0):
        return
    state.tables.generations.put(uid, opened)
    state.put_connector(replace(state.tables.connectors[uid], plan_state=PlanState.VOID))


def ask(state: State, unit: Unit, now: float) -> None:
    """Have a connector planned again soon, since a task of it asks. `unit` is held by who asks.

    Raises:
        FailedPrecondition: FENCED: the task is being replaced, and the one that takes its place sees for itself.
    """
    uid = unit.key.connector_uid
    plan = state.tables.plans.get(uid)
    if plan is None or unit.revoked or unit.generation != plan.generation:
        message = f"task {unit.key.task} of {uid} is not of the newest plan, or is to stop: its request for a new one does nothing"
        raise FailedPrecondition("FENCED", message, connector_uid=uid, task=str(unit.key.task), epoch=str(unit.epoch))
    if not plan.asked:
        state.tables.plans.put(uid, replace(plan, asked=True))
        state.replan_soon(uid, now)


def replan_due(state: State, now: float) -> None:
    """Have the connectors planned again whose time has come; their tasks go on meanwhile."""
    for uid in sorted(uid for uid, due in state.replan_at.items() if due <= now):
        del state.replan_at[uid]
        connector = state.tables.connectors[uid]
        if connector.is_active and connector.plan_state is PlanState.CURRENT:
            state.put_connector(replace(connector, plan_state=PlanState.STALE))
            state.tables.plans.put(uid, replace(state.tables.plans[uid], asked=False))


def settle(state: State) -> None:
    """Bring the units of every connector that changed in line with what it wants."""
    while state.unsettled:
        # Sorted: the same events have the same effects, in the same order, in every process.
        uids = sorted(state.unsettled)
        state.unsettled.clear()
        for uid in uids:
            _settle_connector(state, uid)


def _settle_connector(state: State, uid: str) -> None:
    connector = state.tables.connectors.get(uid)
    if connector is None:
        return
    units = state.units_of(uid)
    for unit in units:
        wanted = state.is_wanted(unit)
        state.note_demand(unit, wanted=wanted)
        if wanted:
            continue
        if not unit.is_held:
            state.drop_unit(unit.key)
        elif not unit.revoked:
            state.revoke(unit)
    if connector.is_active:
        # What has just been dropped is still among them; it has made the connector one that changed, so this is done once more.
        _add_missing(state, connector, units)
    elif not state.units_of(uid):
        state.tables.plans.drop(uid)
        state.forget_replan(uid)
        if connector.deleted:
            state.tables.connectors.drop(uid)
            state.tables.drop_generations()


def _add_missing(state: State, connector: Connector, units: Sequence[Unit]) -> None:
    uid = connector.uid
    if connector.plan_state is not PlanState.CURRENT and not any(unit.key.task == PLAN for unit in units):
        state.put_unit(Unit(Key(uid, PLAN), state.tables.next_generation(uid), connector.revision))
    plan = state.tables.plans.get(uid)
    if plan is None or connector.plan_state is PlanState.VOID:
        return
    # A new plan may give a partition to another task, so its first task starts only when the last one of the old plan has ended.
    if any(unit.key.task != PLAN and unit.generation != plan.generation for unit in units):
        return
    there = {unit.key.task for unit in units}
    for task in range(len(plan.tasks)):
        if task not in there:
            state.put_unit(Unit(Key(uid, task), plan.generation, plan.revision))
