"""Where a consumer group was reset to by RocketMQ's tools, as brokers tell it in the answer to a pull."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketmq_remoting.errors import ProtocolError
from rocketmq_remoting.model import PullStatus
from rocketmq_remoting.protocol.requests import number, pull_status

if TYPE_CHECKING:
    from rocketmq_remoting.protocol.frame import Frame


def reset_offset(frame: Frame, offset: int) -> int | None:
    """Return where the group is to go on that pulled at an offset; None: nobody has reset it.

    A broker with `useServerSideResetOffset` tells it once, in the answer to the first pull of the group behind the reset. The code
    is that of an offset outside of the queue, but the offset that was asked for is within.
    """
    if pull_status(frame) is not PullStatus.OFFSET_ILLEGAL:
        return None
    try:
        first, end, to = number(frame, "minOffset"), number(frame, "maxOffset"), number(frame, "nextBeginOffset")
    except ProtocolError:
        # Who reads the answer raises it.
        return None
    # A tool may name an offset of before what the broker has deleted meanwhile.
    return max(first, min(to, end)) if first <= offset <= end else None
