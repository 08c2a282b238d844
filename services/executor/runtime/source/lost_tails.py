"""What brokers have lost of what they had confirmed to a source: told with its range, passed with on.gap=skip only (invariant 5).

Pure, but for the reporter.
"""

from rocketconnect_sdk.errors import PermanentError
from rocketmq_remoting.errors import QueueGap
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.source.takeover import Floors, Ranges
from services.executor.runtime.task.reporter import Reporter

_WHAT = "The broker had confirmed what was sent there, or told of it"


class LostTails:
    """The losses of one source task. Used by its thread alone.

    With on.gap=fail a loss stays until the task is started with on.gap=skip, or its connector is reset: others may fill the offsets
    again, so that the queue alone would not tell it any more.

    Args:
        reporter: Is told, and counts.
        connector: The name of the connector, for the commands that it names.
        skip: on.gap=skip.
        ends: By queue the end that the broker had confirmed to earlier owners.
        lost: What earlier owners have found and nobody has accepted.
    """

    def __init__(self, reporter: Reporter, connector: str, *, skip: bool, ends: Floors, lost: Ranges) -> None:
        self._reporter = reporter
        self._accept = f"To go on without them: `rocketconnect connector update {connector} -s on.gap=skip`"
        self._how = (
            f"To send all of them again: `rocketconnect position reset {connector} --restart`; or go back as far as needed with "
            f"`rocketconnect position set {connector}`"
        )
        self._skip = skip
        self._unmet = dict(ends)
        self._lost: dict[MessageQueue, tuple[int, int]] = {}
        for queue, (start, end) in lost.items():
            self.found(QueueGap(queue, start, end, start, "lost"))

    @property
    def lost(self) -> Ranges:
        """What is lost and not accepted."""
        return self._lost

    @property
    def unmet(self) -> Floors:
        """The ends of earlier owners in the queues that this one has not met yet."""
        return self._unmet

    def known_end(self, queue: MessageQueue) -> int:
        """Where a queue ended that this task has not met yet; 0: nobody has said."""
        return self._unmet.get(queue, 0)

    def meet(self, queue: MessageQueue, end: int) -> None:
        """The queue ends here, with all in it that was sent to it before."""
        known = self._unmet.pop(queue, 0)
        if end < known:
            self.found(QueueGap(queue, end, known, end, "lost"))

    def found(self, gap: QueueGap) -> None:
        """These messages are lost."""
        if self._skip:
            self._reporter.metrics.gap_messages += gap.end - gap.start
            self._reporter.log("WARNING", f"{gap.lost}. {_WHAT}; skipped, as on.gap=skip says. {self._how}")
            return
        start, end = self._lost.get(gap.queue, (gap.start, gap.end))
        self._lost[gap.queue] = (min(start, gap.start), max(end, gap.end))

    @property
    def refusal(self) -> PermanentError | None:
        """Why the task can't go on; None: it can."""
        if not self._lost:
            return None
        gaps = [QueueGap(queue, start, end, start, "lost") for queue, (start, end) in sorted(self._lost.items())]
        return PermanentError(f"{'; '.join(gap.lost for gap in gaps)}. {_WHAT}. {self._how}. {self._accept}")
