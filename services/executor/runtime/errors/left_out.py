"""A record is left out: it is counted, and told where that is wanted."""

from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.task.reporter import Reporter
from services.executor.secrets.resolving import hide

_TOLD = 1_000


def leave_out(policy: ErrorPolicy, reporter: Reporter, failure: Failure, where: str) -> None:
    """Counts a record that does not go on, skipped where it does not become a dead letter; `where`: its place, for people."""
    metrics = reporter.metrics
    metrics.errors += 1
    if not policy.dead_letter_topic:
        metrics.records_skipped += 1
    metrics.last_left_out = hide(policy.tell(failure, where))[:_TOLD]
    if policy.log:
        reporter.log("WARNING", policy.describe(failure, where))
