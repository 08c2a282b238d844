"""The answer to a pull."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocketmq_remoting.model import PullStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocketmq_remoting.batch import DecodedBatch
    from rocketmq_remoting.message import PulledMessage


@dataclass(frozen=True, slots=True)
class PullResult:
    """The answer to a pull.

    Attributes:
        status: FOUND; NO_NEW: the offset is the queue's end; NO_MATCHED: nothing here fits the filter (or it is being
            deleted), go on at `next_offset`; OFFSET_ILLEGAL: the offset is outside [min_offset, max_offset].
        next_offset: where to pull next; for OFFSET_ILLEGAL the broker's proposal, which skips messages.
        min_offset: first offset that the queue still has.
        max_offset: offset that the next message will get.
        batch: the messages at or above the offset asked for, as columns.
    """

    status: PullStatus
    next_offset: int
    min_offset: int
    max_offset: int
    batch: DecodedBatch

    @property
    def messages(self) -> Sequence[PulledMessage]:
        """The messages as objects."""
        return self.batch.messages()
