"""Draining: a worker keeps its session and what it runs, gets nothing new, and its tasks move to others, one after the other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rocketconnect_kit.errors import FailedPrecondition, NotFound
from services.cluster.assignment.demands import demand_of
from services.cluster.assignment.model import Candidate, Demand
from services.cluster.model import PLAN, Key, Unit, Worker
from services.cluster.state import State

_NAMED = 20
"""So many connectors are named in a refusal."""


def drain(state: State, worker_id: str, now: float, *, force: bool) -> None:
    """Drain a worker, until `undrain`; it may be drained already. With `force` what nobody else can take stops.

    Raises:
        NotFound: WORKER_NOT_FOUND.
        FailedPrecondition: NO_OTHER_WORKER, without `force`: nobody else takes work, or not all that this worker holds.
    """
    worker = _known(state, worker_id)
    others = [candidate for candidate in state.candidates(now) if candidate.id != worker_id]
    held = [unit for unit in state.tables.units.values() if unit.worker == worker_id and not unit.revoked]
    stranded = [unit for unit in held if not _is_placeable(demand_of(unit.key, state.config_of(unit)), others)]
    if not force:
        _refuse(state, worker, others, stranded)
    state.tables.workers.put(worker_id, replace(worker, drained=True))
    for unit in stranded:
        state.revoke(unit)


def undrain(state: State, worker_id: str, now: float) -> None:
    """Let a worker take work again; it may not be drained.

    Raises:
        NotFound: WORKER_NOT_FOUND.
    """
    worker = _known(state, worker_id)
    if not worker.drained:
        return
    state.tables.workers.put(worker_id, replace(worker, drained=False))
    if worker.ended:
        state.ended_at[worker_id] = now
    else:
        state.arrivals.joined(worker_id, now)


def next_to_move(
    drained: Sequence[Candidate],
    others: Sequence[Candidate],
    units: Mapping[Key, Unit],
    demands: Iterable[Demand],
    current: Mapping[Key, str],
) -> list[Key]:
    """Return what is to leave the drained workers now: of each one task, when the one before has been released."""
    if not drained:
        return []
    leaving = {unit.worker for unit in units.values() if unit.revoked}
    waiting = {worker.id for worker in drained} - leaving
    first: dict[str, Key] = {}
    for demand in demands if waiting else ():
        owner = current.get(demand.key, "")
        # A PLAN is short, and ends by itself.
        if owner not in waiting or demand.key.task == PLAN or not units[demand.key].is_held:
            continue
        if (owner not in first or demand.key < first[owner]) and _is_placeable(demand, others):
            first[owner] = demand.key
    return sorted(first.values())


def _known(state: State, worker_id: str) -> Worker:
    worker = state.tables.workers.get(worker_id)
    if worker is None:
        message = f"there is no worker {worker_id!a}: `rocketconnect worker list` shows those there are"
        raise NotFound("WORKER_NOT_FOUND", message, worker_id=worker_id)
    return worker


def _is_placeable(demand: Demand, workers: Sequence[Candidate]) -> bool:
    return any(worker.can_take(demand) for worker in workers)


def _refuse(state: State, worker: Worker, others: Sequence[Candidate], stranded: Sequence[Unit]) -> None:
    """Raise when the worker can not be drained without stopping anything."""
    names = sorted({state.tables.connectors[unit.key.connector_uid].name for unit in stranded})
    if names:
        shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        problem = f"no other executor can take what it runs of {shown}"
        fix = "start one that offers their plugins and has their labels, or force it: then they stop"
    elif not others and not worker.drained:
        problem, fix = "it is the last executor that takes work", "start another one first, or force it"
    else:
        return
    message = f"worker {worker.id} is not drained: {problem}. What to do: {fix}"
    raise FailedPrecondition("NO_OTHER_WORKER", message, worker_id=worker.id, connectors=",".join(names[:_NAMED]))
