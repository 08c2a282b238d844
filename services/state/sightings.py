"""When a task was last heard of, and since when it is stuck: by this service's own clock, whatever the worker's says."""

from dataclasses import dataclass

from services.state.model import Assignment, Moment, Report, State

_STUCK_STATES = {State.RUNNING, State.STARTING, State.IDLE}
"""The states in which a lack of progress has no known reason."""


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
