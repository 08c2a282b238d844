"""The decisions of the cluster service: `step(state, events, now, random) -> effects`.

Synchronous, without I/O, clock or randomness of its own: the same events at the same times give the same effects, so that a
simulation can run it bit for bit. Times are seconds of one monotonic clock.

How one owner of each task at any time comes about: a unit is given only when nobody holds it; who holds one keeps it until it
releases it itself, its session ends in good order, its process is known to have ended when the worker registers again, or its lease
and the send deadline have passed while somebody else lives. The lease of a process that is known to be gone ends with it.
"""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random

from rocketconnect_kit.errors import FailedPrecondition, ServiceError
from services.cluster.assignment.demands import why_nobody
from services.cluster.decisions import drains, plans
from services.cluster.decisions.events import (
    ConnectorsChanged,
    Deregister,
    Drain,
    Effects,
    Event,
    Offer,
    Register,
    Release,
    ReportPlan,
    RequestPlan,
    Tick,
    Undrain,
    WorkerGone,
)
from services.cluster.model import PLAN, Changes, Key, Unit, Worker
from services.cluster.state import HeldBack, State
from services.cluster.view import view_of

TICK_SECONDS = 1.0
"""A Tick is due at least so often."""

_AWAY_SECONDS = 3.0


def step(state: State, events: Sequence[Event], now: float, random: Random) -> Effects:
    """Let events happen to the state, in order, and return what follows from all of them together.

    Never raises for a bad event: its reply is then the error. Work is given out once, after the last event.
    """
    with _collection_put_off():
        return _step(state, events, now, random)


@contextmanager
def _collection_put_off() -> Iterator[None]:
    """Keep Python from looking for cycles: a step makes rows by the ten thousand, in none, and each look goes over all of them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _step(state: State, events: Sequence[Event], now: float, random: Random) -> Effects:
    _catch_up(state, now)
    plans.settle(state)
    replies = tuple(_happen(state, event, now, random) for event in events)
    spoken_of = _distribute(state, now)
    changes = state.tables.take_changes()
    views = {key: view_of(state, key) for key in spoken_of | _shown_by(state, changes)}
    return Effects(replies, changes, views, min(state.next_event(now), now + TICK_SECONDS))


def _happen(state: State, event: Event, now: float, random: Random) -> int | ServiceError:
    try:
        reply: int | ServiceError = _handle(state, event, now, random)
    except ServiceError as error:
        reply = error
    plans.settle(state)
    return reply


def heartbeat(state: State, worker_id: str, session: int, now: float) -> None:
    """Renew the lease of a worker. Changes nothing durable, so it needs no step.

    Raises:
        FailedPrecondition: WORKER_FENCED.
    """
    check_session(state, worker_id, session)
    if not state.leases.is_any_alive(now):
        # This service was out of reach: where this worker got through again, the others will.
        _restart_leases(state, now)
    # Also when the lease has ended meanwhile: as long as the worker has not been judged, nothing was taken from it.
    state.leases.renew(worker_id, now)


def check_session(state: State, worker_id: str, session: int) -> None:
    """Return if the session of the worker holds.

    Raises:
        FailedPrecondition: WORKER_FENCED.
    """
    worker = state.tables.workers.get(worker_id)
    if worker is None or worker.ended or worker.session != session:
        message = f"session {session} of worker {worker_id} has ended: stop everything and register again"
        raise FailedPrecondition("WORKER_FENCED", message, worker_id=worker_id, session=str(session))


def _catch_up(state: State, now: float) -> None:
    """Let pass what time alone has brought about since the last step."""
    if now - state.last_step > _AWAY_SECONDS:
        # This process itself was not scheduled; the heartbeats of that time may still wait to be read.
        _restart_leases(state, now)
    state.last_step = now
    # While nobody lives who could go on with what they held, nothing is won by judging workers, and they can go on in place when
    # they are back. But there must be an end for who can't come back, and for what is to be stopped.
    for worker in state.leases.over(now):
        if state.leases.is_any_alive(now) or state.leases.is_cut(worker) or state.has_revoked(worker):
            state.judge_worker(worker, now)
    for worker in [id_ for id_, at in state.ended_at.items() if now >= at + state.policy.forget_workers_after]:
        state.forget_worker(worker)
    plans.replan_due(state, now)


def _restart_leases(state: State, now: float) -> None:
    state.leases.restart([worker.id for worker in state.tables.workers.values() if not worker.ended], now)


def _handle(state: State, event: Event, now: float, random: Random) -> int:
    match event:
        case Register():
            return _register(state, event, now)
        case Offer():
            check_session(state, event.worker_id, event.session)
            worker = state.tables.workers[event.worker_id]
            state.tables.workers.put(worker.id, replace(worker, plugins=event.plugins))
        case Deregister():
            check_session(state, event.worker_id, event.session)
            state.end_worker(event.worker_id, now)
            if not state.tables.workers[event.worker_id].drained:
                state.forget_worker(event.worker_id)
        case Drain():
            drains.drain(state, event.worker_id, now, force=event.force)
        case Undrain():
            drains.undrain(state, event.worker_id, now)
        case WorkerGone():
            # Of this session: a process that was started since then has another one, and keeps it.
            check_session(state, event.worker_id, event.session)
            state.leases.cut(event.worker_id, now)
        case Release():
            _release(state, event, now, random)
        case ReportPlan():
            return _report_plan(state, event, now)
        case RequestPlan():
            check_session(state, event.worker_id, event.session)
            plans.ask(state, _held(state, event.key, event.epoch, event.worker_id), now)
        case ConnectorsChanged():
            plans.take_connectors(state, event)
        case Tick():
            pass
    return 0


def _register(state: State, event: Register, now: float) -> int:
    before = state.tables.workers.get(event.worker_id)
    if before is not None and not before.ended:
        _require_gone(state, before, event, now)
    session = state.tables.next_number()
    for unit in state.free_units_of(event.worker_id):
        state.held_back[unit.key] = HeldBack(now, event.worker_id)
    if before is None or before.ended:
        state.arrivals.joined(event.worker_id, now)
    drained = before is not None and before.drained
    worker = Worker(
        event.worker_id,
        session,
        event.address,
        event.labels,
        event.plugins,
        event.weight,
        drained=drained,
        pid=event.pid,
        process=event.process,
    )
    state.tables.workers.put(worker.id, worker)
    state.ended_at.pop(worker.id, None)
    state.leases.renew(worker.id, now)
    return session


def _require_gone(state: State, before: Worker, event: Register, now: float) -> None:
    """Return if nothing of the session before can be at work any more, though its lease may not have ended.

    So it is when the same process asks again (it was fenced and has stopped everything, or an answer was lost), or when its
    successor on the same machine has seen that it ended; its hosts died with it. Another machine that has the same id (by mistake,
    or since its supervisor lost sight of the first one) knows nothing of the process there: it waits for the lease as others do.

    Raises:
        FailedPrecondition: WORKER_ID_IN_USE.
    """
    if before.process and before.process in {event.process, *event.ended_processes}:
        return
    leases = state.leases
    until = leases.until(before.id)
    if until is None or leases.is_cut(before.id) or leases.is_over(before.id, now) or not state.holds_any(before.id):
        return
    left = until + leases.timing.send_deadline - now
    message = (
        f"worker id {before.id} is in use: its process at {before.address} is not known to have ended, and may be at work for "
        f"another {left:.1f} s at least; if that is another worker, give each its own --worker-id, else this one is let in then"
    )
    raise FailedPrecondition("WORKER_ID_IN_USE", message, worker_id=before.id, address=before.address)


def _release(state: State, event: Release, now: float, random: Random) -> None:
    check_session(state, event.worker_id, event.session)
    unit = _held(state, event.key, event.epoch, event.worker_id)
    lasted = now - state.given_at.get(unit.key, now)
    free = state.take_back(unit)
    retry = state.policy.retry
    if event.permanent:
        state.put_unit(replace(free, failures=free.failures + 1, given_up=True))
    elif event.failed:
        failures = retry.count(free.failures, lasted)
        state.put_unit(replace(free, failures=failures, given_up=failures >= retry.limit))
        state.held_back[unit.key] = HeldBack(now + retry.delay(failures, random), event.worker_id)
    elif not unit.revoked:
        # It ended by itself and without an error, which no task does for good: not again in a tight loop.
        state.held_back[unit.key] = HeldBack(now + retry.first, event.worker_id)
    plans.take_opened(state, event.key.connector_uid, event.opened_generation)


def _report_plan(state: State, event: ReportPlan, now: float) -> int:
    check_session(state, event.worker_id, event.session)
    plan = state.tables.plans.get(event.connector_uid)
    if plan is not None and plan.epoch == event.epoch:
        # The same report again: its answer was lost.
        return plan.generation
    unit = _held(state, Key(event.connector_uid, PLAN), event.epoch, event.worker_id)
    return plans.take_plan(state, event, unit, now)


def _held(state: State, key: Key, epoch: int, worker_id: str) -> Unit:
    """Return a unit that the worker holds under the epoch.

    Invariant 3: whoever speaks under another epoch is refused.
    """
    unit = state.tables.units.get(key)
    if unit is None or unit.worker != worker_id or unit.epoch != epoch:
        what = f"the planning of {key.connector_uid}" if key.task == PLAN else f"task {key.task} of {key.connector_uid}"
        message = f"worker {worker_id} does not hold {what} under epoch {epoch}: drop it"
        raise FailedPrecondition("FENCED", message, connector_uid=key.connector_uid, task=str(key.task), epoch=str(epoch))
    return unit


def _distribute(state: State, now: float) -> set[Key]:
    """Give out what can be given, take back what must move, and return the units whose reason to wait has changed."""
    candidates, drained = state.candidates(now), state.drained(now)
    waiting = {key: state.leases.is_alive(held.worker, now) for key, held in state.held_back.items() if now < held.until}
    # Most steps are a Tick at which nothing has changed: they do not pay for what 2,000 tasks cost.
    tables = state.tables
    given = (candidates, drained, waiting, tables.connectors.version, tables.plans.version, tables.units.version)
    if given == state.distributed:
        return set()
    state.distributed = given
    wanted, current = dict(state.demands), dict(state.owners)
    for key, held in state.held_back.items():
        if key in wanted and key not in current:
            wanted[key] = wanted[key]._replace(last=held.worker)
            if waiting.get(key, False):
                current[key] = held.worker
    demands = list(wanted.values())
    for key in drains.next_to_move(drained, candidates, tables.units, demands, current):
        del current[key]
    moves = state.policy.strategy(candidates, demands, current)
    state.arrivals.taken_in(now)
    given_out = []
    for move in moves:
        unit = tables.units[move.key]
        if unit.is_held and not unit.revoked:
            state.revoke(unit)
        elif not unit.is_held and move.key not in waiting:
            given_out.append((unit, move.target))
    state.give(given_out, now)
    plans.settle(state)
    placed = {move.key for move in moves} | set(current)
    reasons = {demand.key: why_nobody(demand, candidates, drained) for demand in demands if demand.key not in placed}
    changed = {key for key in reasons.keys() | state.reasons.keys() if reasons.get(key) != state.reasons.get(key)}
    state.reasons = reasons
    return changed


def _shown_by(state: State, changes: Changes) -> set[Key]:
    """Return the units whose view the changes touch."""
    connectors = changes.connectors.keys() | changes.plans.keys()
    return set(changes.units) | {unit.key for uid in connectors for unit in state.units_of(uid)}
