"""What is shown, from what is known: pure functions.

A task:

| what is known                                             | what is shown                                                     |
|-----------------------------------------------------------|-------------------------------------------------------------------|
| nobody holds it                                           | UNASSIGNED, RESTARTING or FAILED as the cluster says; the reason, |
|                                                           | and what its last owner reported                                  |
| a worker holds it and has not reported it yet             | STARTING for the length of a lease, then UNASSIGNED               |
| its worker has not reported for longer than a lease       | UNASSIGNED: "worker X has not reported for N s"                   |
| it has work and made no progress for `stall_after`, and   | STALLED                                                           |
| does not say that it waits                                |                                                                   |
| its worker reports                                        | what the worker reports                                           |
| a worker reports an epoch that the cluster has not told   | what the worker reports: the news of the cluster are on the way   |

A connector shows the worst of its tasks and its planning, in the order of `State`. The worst is what needs a person first: FAILED
and STALLED do not end by themselves, RESTARTING and UNASSIGNED may, WAITING and STARTING do, and the rest is health. Its planning
counts as follows:

| planning                           | without tasks                               | while tasks of an earlier plan run           |
|------------------------------------|---------------------------------------------|----------------------------------------------|
| under way                          | UNASSIGNED: "being planned by worker X"     | does not count                               |
| nobody can take it                 | UNASSIGNED: the reason                      | UNASSIGNED: the reason, and that tasks go on |
| failed, restarting, stalled, waits | as it is                                    | as it is, and that tasks go on               |
| over, and gave no tasks            | IDLE (or PAUSED): "its plan has no tasks"   |                                              |
| not begun                          | UNASSIGNED: "waits to be planned"           | does not count                               |

TargetState STOPPED: STOPPED when no task is left; before that the worst of those that are.
"""

from collections.abc import Sequence

from services.state.model import BADNESS, PLAN, Connector, ConnectorView, Key, Moment, State, TargetState, TaskView
from services.state.sightings import Holding, Sighting

_NEEDS_ATTENTION = {State.FAILED, State.STALLED, State.RESTARTING, State.UNASSIGNED, State.WAITING}


def derive_task(key: Key, holding: Holding | None, sighting: Sighting | None, now: Moment, lease: float) -> TaskView:
    """Return what a task shows. At least one of `holding` and `sighting` is there; `lease` is in seconds."""
    if holding is None or (sighting is not None and sighting.report.epoch > holding.assignment.epoch):
        if sighting is None:
            msg = f"nothing is known of {key}"
            raise ValueError(msg)
        same_plan = holding is not None and holding.assignment.generation == sighting.report.generation
        return _as_reported(key, sighting, holding if same_plan else None, now, lease)
    seen = sighting if sighting is not None and sighting.report.epoch == holding.assignment.epoch else None
    if not holding.assignment.worker:
        return _unowned(key, holding, seen)
    if seen is None:
        return _not_yet_reported(key, holding, now, lease)
    return _as_reported(key, seen, holding, now, lease)


def _unowned(key: Key, holding: Holding, seen: Sighting | None) -> TaskView:
    assignment = holding.assignment
    failed = assignment.unowned in {State.FAILED, State.RESTARTING}
    said = seen.report.trace if seen is not None and failed else ""
    trace = "\n".join(part for part in (said, assignment.reason) if part) or "waits to be given to a worker"
    return TaskView(
        task=key.task,
        state=assignment.unowned,
        trace=trace,
        worker="",
        epoch=assignment.epoch,
        generation=assignment.generation,
        since=_known_since(holding),
        last_progress=seen.report.last_progress if seen is not None else None,
        metrics=seen.report.metrics if seen is not None else b"",
        restarts=holding.restarts + (seen.report.restarts if seen is not None else 0),
        config=assignment.config,
    )


def _not_yet_reported(key: Key, holding: Holding, now: Moment, lease: float) -> TaskView:
    assignment, at = holding.assignment, holding.at
    waited = float("inf") if at is None else now.monotonic - at.monotonic
    late = waited > lease
    return TaskView(
        task=key.task,
        state=State.UNASSIGNED if late else State.STARTING,
        trace=_silence(assignment.worker, waited) if late else f"worker {assignment.worker} has been told to start it",
        worker=assignment.worker,
        epoch=assignment.epoch,
        generation=assignment.generation,
        since=(at or now).wall,
        restarts=holding.restarts,
        config=assignment.config,
    )


def _as_reported(key: Key, sighting: Sighting, holding: Holding | None, now: Moment, lease: float) -> TaskView:
    report = sighting.report
    state, trace, since = report.state, report.trace, report.since
    silent = sighting.silent_for(now)
    if silent > lease:
        state, trace = State.UNASSIGNED, _silence(report.worker, silent)
        since = report.since if sighting.at is None else sighting.at.wall + lease
    elif report.stall_after is not None and sighting.stuck_since is not None:
        stuck = now.monotonic - sighting.stuck_since.monotonic
        if stuck >= report.stall_after:
            state = State.STALLED
            since = sighting.stuck_since.wall + report.stall_after
            trace = f"has work to do and has made no progress for {stuck:.0f} s" + (f"; it says: {trace}" if trace else "")
    return TaskView(
        task=key.task,
        state=state,
        trace=trace,
        worker=report.worker,
        epoch=report.epoch,
        generation=report.generation,
        since=since,
        last_progress=report.last_progress,
        metrics=report.metrics,
        restarts=report.restarts + (holding.restarts if holding is not None else 0),
        config=holding.assignment.config if holding is not None else {},
    )


def _known_since(holding: Holding) -> float | None:
    return holding.at.wall if holding.at is not None else None


def _silence(worker: str, seconds: float) -> str:
    if seconds == float("inf"):
        return f"worker {worker} has not reported since the state service was started"
    return f"worker {worker} has not reported for {seconds:.0f} s"


def derive_connector(
    connector: Connector,
    units: Sequence[TaskView],
    *,
    task_revision: int,
    planned_revision: int,
    planner: str,
) -> ConnectorView:
    """Return what a connector shows.

    Args:
        connector: as it is wanted.
        units: its tasks, and its planning if there is one now.
        task_revision: the revision that its tasks run; 0 without tasks.
        planned_revision: the revision whose planning has ended last; 0: none.
        planner: the worker that planned it last.
    """
    planning = next((unit for unit in units if unit.task == PLAN), None)
    tasks = tuple(sorted((unit for unit in units if unit.task != PLAN), key=lambda unit: unit.task))
    parts = [(task.state, f"task {task.task}: {task.trace}" if task.trace else "") for task in tasks]
    if connector.wanted is TargetState.STOPPED:
        ending = f"is being stopped: {len(tasks)} of its tasks have not ended yet"
        parts = [(state, "; ".join(filter(None, (ending, said)))) for state, said in parts] or [(State.STOPPED, "")]
    elif planning is not None:
        parts += _planning_part(connector, planning, tasks, task_revision)
    elif not tasks:
        parts = [_nothing_there(connector, planned_revision)]
    state = min((state for state, _ in parts), key=BADNESS.__getitem__)
    said = [text for part, text in parts if part is state and text]
    trace = said[0] + (f" (and {len(said) - 1} more)" if len(said) > 1 else "") if said else ""
    return ConnectorView(connector, state, trace, planner, task_revision, tasks)


def _planning_part(
    connector: Connector, planning: TaskView, tasks: Sequence[TaskView], task_revision: int
) -> list[tuple[State, str]]:
    healthy = planning.state not in _NEEDS_ATTENTION
    if tasks:
        go_on = f"the tasks of revision {task_revision} go on"
        said = f"planning of revision {connector.revision}: {planning.trace or planning.state}; {go_on}"
        return [] if healthy else [(planning.state, said)]
    if healthy:
        return [(State.UNASSIGNED, f"being planned by worker {planning.worker}")]
    return [(planning.state, f"planning: {planning.trace or planning.state}")]


def _nothing_there(connector: Connector, planned_revision: int) -> tuple[State, str]:
    if planned_revision == connector.revision:
        state = State.PAUSED if connector.wanted is TargetState.PAUSED else State.IDLE
        return state, "its plan has no tasks: there is nothing to do now"
    return State.UNASSIGNED, "waits to be planned: the cluster service has not begun with it"
