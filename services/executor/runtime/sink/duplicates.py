"""Where a sink decides that a message is a duplicate: it is not above the mark of its source partition. Pure."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.sink import SourceMark
from services.executor.runtime.rocketmq.source_marks import Run, highest, increasing, runs


class LeftOut(NamedTuple):
    """Messages of a source partition that are left out because of its mark: as late ones, or as duplicates.

    Attributes:
        key: "connector uid/source partition id".
        epoch: Of the messages.
        mark: That they are not above.
        messages: How many.
        incarnation: Of the messages.
        highest: Their highest source offset.
    """

    key: str
    epoch: int
    mark: SourceMark
    messages: int
    incarnation: int
    highest: Offset

    @property
    def is_late(self) -> bool:
        """Whether it is their epoch, which is below the mark's."""
        return self.epoch < self.mark.epoch

    @property
    def is_there(self) -> bool:
        """Whether their records are in the queue, as far as the mark tells."""
        is_same = self.incarnation == self.mark.incarnation or (
            self.incarnation < self.mark.incarnation and self.epoch > self.mark.epoch
        )
        return is_same and self.highest <= self.mark.offset

    @property
    def closes(self) -> bool:
        """Whether they are all that can be there: what follows of their sender is new."""
        return self.is_there and self.highest == self.mark.offset and not self.is_late


class Selected(NamedTuple):
    """Which messages of a queue are new: their indexes, or None for all of them; the marks that have moved; what is left out."""

    kept: Sequence[int] | None
    moved: dict[str, SourceMark]
    left_out: Sequence[LeftOut] = ()


def select(raws: Sequence[bytes], marks: Mapping[str, SourceMark]) -> Selected:
    """Which messages of a queue are new.

    A message is a duplicate when it is not above the mark of its source partition, and it is late when its epoch is below the
    mark's: a producer that had lost its lease sent it, and its successor sends it again (invariant 3). Messages of other
    producers are always new.

    Args:
        raws: Their encoded properties.
        marks: By "connector uid/source partition id": the highest place seen in the queue before.
    """
    kept: list[Sequence[int]] = []
    moved: dict[str, SourceMark] = {}
    left_out: list[LeftOut] = []
    for run in runs(raws):
        if run.offsets is None:
            kept.append(range(run.start, run.stop))
            continue
        before = moved.get(run.key) or marks.get(run.key)
        if before is not None and run.epoch < before.epoch:
            # Invariant 5: not in silence. It is right after a pause, and a loss should epochs ever go back.
            left_out.append(LeftOut(run.key, run.epoch, before, run.stop - run.start, run.incarnation, highest(run.offsets)))
            continue
        fresh, mark = _fresh(run, run.offsets, before)
        kept.append(fresh)
        if mark is not None:
            moved[run.key] = mark
        duplicates = run.stop - run.start - len(fresh)
        above = mark or before
        if duplicates and above is not None:
            # Not in silence either: it is right after an unclean end, and a loss where somebody forged the mark.
            left_out.append(LeftOut(run.key, run.epoch, above, duplicates, run.incarnation, highest(run.offsets)))
    if sum(map(len, kept)) == len(raws):
        return Selected(None, moved)
    return Selected(list(chain.from_iterable(kept)), moved, left_out)


def there_up_to(mark: SourceMark | None, epoch: int, incarnation: int) -> Offset | None:
    """Up to which source offset of an incarnation, sent under an epoch, everything is there; empty: nothing; None: all of it.

    A lower incarnation than the mark's is of before a position was moved by hand, unless a newer owner sends it: epochs never go
    back, so the position service does not know any more of that move, its store having been put back from a backup. What it sends
    then are the records behind the position of the backup; which of them are there is told by their offsets alone.
    """
    if mark is None or incarnation > mark.incarnation:
        return ()
    if incarnation < mark.incarnation and epoch <= mark.epoch:
        return None
    return mark.offset


def behind(raws: Sequence[bytes]) -> dict[str, SourceMark]:
    """The marks behind messages of a queue of which none is a duplicate, by their encoded properties."""
    return {run.key: SourceMark(run.epoch, run.incarnation, run.offsets[-1]) for run in runs(raws) if run.offsets is not None}


def _fresh(run: Run, offsets: Sequence[Offset], mark: SourceMark | None) -> tuple[Sequence[int], SourceMark | None]:
    """The new ones of a run, by index, and the mark behind them."""
    seen = there_up_to(mark, run.epoch, run.incarnation)
    if seen is None:
        return (), None
    if offsets[0] > seen and increasing(offsets):
        return range(run.start, run.stop), SourceMark(run.epoch, run.incarnation, offsets[-1])
    fresh = []
    for index, offset in enumerate(offsets, run.start):
        if offset > seen:
            seen = offset
            fresh.append(index)
    return fresh, SourceMark(run.epoch, run.incarnation, seen) if fresh else None
