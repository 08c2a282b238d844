"""When a task was last heard of, since when it is stuck, and how often it was started again.

Times are of this service's own clock, whatever the worker's says.
"""

from dataclasses import dataclass

from services.state.model import Assignment, Moment, Report, State

_STUCK_STATES = {State.RUNNING, State.STARTING, State.IDLE}
"""The states in which a lack of progress has no known reason."""

_AFTER_A_FAILURE = {State.FAILED, State.RESTARTING}


@dataclass(frozen=True, slots=True)
class Sighting:
    """The newest report of a task. `at` is None when it is known only from before this service was started."""

    report: Report
    at: Moment | None
    stuck_since: Moment | None = None
    """Since when it has work and makes no progress, without a known reason."""

    def silent_for(self, now: Moment) -> float:
        """Return the seconds since it was heard of; infinite when that was before this service was started."""
        return float("inf") if self.at is None else now.monotonic - self.at.monotonic


@dataclass(frozen=True, slots=True)
class Holding:
    """An assignment, and since when this service knows it. `at` is None when it is known only from before the start."""

    assignment: Assignment
    at: Moment | None
    restarts: int = 0
    """How often its task was started again after a failure before this epoch: in this plan generation, by whomever."""
    failed: bool = False
    """It has failed since it was given to a worker last."""


def hold(before: Holding | None, assignment: Assignment, reported: Report | None, now: Moment) -> Holding:
    """Return the holding after an assignment was told.

    Args:
        before: What was known of the same task.
        assignment: What is told.
        reported: The last report of the task.
        now: The present moment.
    """
    failed = not assignment.worker and assignment.unowned in _AFTER_A_FAILURE
    if before is None or before.assignment.generation != assignment.generation:
        # All but the last of the failures in a row were followed by a start, and that one too when somebody holds it.
        return Holding(assignment, now, max(0, assignment.failures - (not assignment.worker)), failed)
    old = before.assignment
    same_owner = (old.worker, old.epoch) == (assignment.worker, assignment.epoch)
    restarts, failed = before.restarts, failed or before.failed or assignment.failures > old.failures
    if assignment.epoch != old.epoch:
        restarts += reported.restarts if reported is not None and reported.epoch == old.epoch else 0
        if assignment.worker and failed:
            restarts, failed = restarts + 1, False
    return Holding(assignment, before.at if same_owner else now, restarts, failed)


def why_moved(before: Holding | None, assignment: Assignment, reported: Report | None) -> str:
    """Return why a task starts again under another epoch, for people; empty: it does not, or it failed and that is told already.

    Args:
        before: What was known of the same task.
        assignment: What is told.
        reported: The last report of the task.
    """
    worker = assignment.worker
    if before is None or not worker or assignment.epoch == before.assignment.epoch:
        return ""
    if assignment.generation != before.assignment.generation:
        return ""
    told = reported.worker if reported is not None and reported.epoch == before.assignment.epoch else ""
    owner = before.assignment.worker or told
    if not owner:
        return ""
    if assignment.settled:
        return f"{owner} was lost; " + ("it is back and starts the task again" if owner == worker else f"{worker} takes it over")
    if owner != worker:
        return f"moves from {owner} to {worker}"
    return "" if assignment.failures or before.assignment.revoked else f"{owner} has joined anew and starts the task again"


def see(before: Sighting | None, report: Report, now: Moment) -> Sighting:
    """Return the sighting after a report.

    Progress is a change of `last_progress`, whose value is not compared with any clock: those of workers may be wrong.
    """
    if not report.has_work or report.state not in _STUCK_STATES:
        return Sighting(report, now)
    same_run = before is not None and before.report.epoch == report.epoch
    if before is None or not same_run or before.report.last_progress != report.last_progress:
        return Sighting(report, now, stuck_since=now)
    return Sighting(report, now, stuck_since=before.stuck_since or now)
