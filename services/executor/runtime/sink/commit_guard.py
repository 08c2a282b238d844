"""What a batch passes immediately before its target is changed for good, and what it is under until it has been."""

from collections.abc import Callable, Sequence
from typing import Self

from services.executor.runtime.errors.attempts import FENCED
from services.executor.runtime.errors.policy import RecordFailed
from services.executor.runtime.positions.client import Fenced
from services.executor.runtime.sink.dead_letters import SinkDeadLetters
from services.executor.runtime.sink.decode.part import BadRecord
from services.executor.runtime.sink.refusals import RejectedRecords
from services.executor.runtime.task_runtime import TaskRuntime


class CommitGuard:
    """Of one batch: bad records are out of the way, and the target is still this task's.

    Write in its context (`with gate:`): the lease knows of the change from the call to the end of the block. May be used again
    for a new try.

    Args:
        runtime: What every task has.
        letters: Where bad records go.
        bad: Those that are known before anything is written.
        place: Names the place of a record, for people.
        skipping: What `position set` is to be told to leave out a record alone; empty: it can't.
    """

    def __init__(
        self,
        runtime: TaskRuntime,
        letters: SinkDeadLetters,
        bad: Sequence[BadRecord],
        place: Callable[[BadRecord], str],
        skipping: Callable[[BadRecord], str],
    ) -> None:
        self._runtime = runtime
        self._letters = letters
        self._bad = bad
        self._place = place
        self._skipping = skipping
        self._gone: set[tuple[str, int, int | None]] = set()
        self._changing = False

    def __enter__(self) -> Self:
        """A try begins."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """It is over."""
        if self._changing:
            self._changing = False
            self._runtime.lease.end_change()

    def __call__(self, refused: Sequence[BadRecord]) -> None:
        """See engines.Ready.

        Raises:
            RejectedRecords: errors.tolerance is none.
            Fenced, SystemAway: the target is not this task's, or not known to be.
            Stopped, GaveUp: while dead letters were sent.
        """
        for record in refused:
            try:
                self._runtime.policy.check(record.failure, self._place(record), self._skipping(record))
            except RecordFailed as error:
                raise RejectedRecords(str(error), refused) from None
        # Invariant 5: the dead letter comes first. With the batch the target stores a position behind the record.
        self._leave_out([*self._bad, *refused])
        # Invariant 3: nothing becomes visible without a lease.
        if self._runtime.control.fenced:
            raise Fenced(FENCED)
        if not self._changing:
            self._runtime.lease.begin_change()
            self._changing = True

    def _leave_out(self, records: Sequence[BadRecord]) -> None:
        fresh = [record for record in records if (record.queue, record.offset, record.row) not in self._gone]
        if fresh:
            self._letters.send(fresh)
            self._gone.update((record.queue, record.offset, record.row) for record in fresh)
