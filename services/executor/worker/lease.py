"""A worker's lease: until when, and whom to ask to extend it. Pure: no I/O, no clock of its own.

All times are seconds since the worker's machine started, suspensions included. Whoever confirms, the lease counts from before the
question was sent: the answers may be late, and the others count from when they got it.
"""


class WorkerLease:
    """The lease of one worker.

    Attributes:
        seconds: The full length, as the cluster service said last.
        until: When it ends.
        heard: When the question was sent that the cluster service has answered last.
    """

    def __init__(self) -> None:
        self.seconds = 5.0
        self.until = 0.0
        self.heard = 0.0
        self._interval = 1.0

    @property
    def pause(self) -> float:
        """Seconds between two questions."""
        return min(self._interval, self.seconds / 4)

    def holds(self, now: float) -> bool:
        """Whether it has not ended."""
        return now < self.until

    def needs_others(self, now: float) -> bool:
        """Whether the cluster service has been silent for so long that the position service has to confirm what runs."""
        return now >= self.heard + self.seconds / 2

    def patience(self, sent: float) -> float:
        """How long to wait for the answer of the cluster service to a question that is sent now."""
        # A call that is stuck leaves half of the lease for other means; when these are used already it may take its time.
        return self.seconds / 2 if self.needs_others(sent) else max(self.seconds / 4, self.heard + self.seconds / 2 - sent)

    def joined(self, sent: float, seconds: float, interval: float) -> None:
        """The cluster service has let this worker in."""
        self._interval = interval
        self.answered(sent, seconds)

    def answered(self, sent: float, seconds: float) -> None:
        """The cluster service has renewed it."""
        self.heard = sent
        self.seconds = seconds
        self.confirmed(sent, seconds)

    def confirmed(self, sent: float, seconds: float) -> None:
        """Somebody has: the position service confirms the epochs of all that runs for as long."""
        self.until = max(self.until, sent + seconds)
