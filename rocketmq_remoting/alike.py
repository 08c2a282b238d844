"""Which queue of a topic stands for a queue of another topic, or of another cluster. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocketmq_remoting.model import MessageQueue


def queue_alike(broker: str, number: int, queues: Sequence[MessageQueue]) -> MessageQueue:
    """Return the queue that stands for a queue elsewhere; always the same, so that what was in one queue stays in one.

    Of the broker of the same name, else of one that the name chooses; of the same number, where it has so many.

    Args:
        broker: of the queue elsewhere.
        number: of it.
        queues: those that there are, at least one.
    """
    brokers = sorted({queue.broker for queue in queues})
    name = broker if broker in brokers else brokers[crc32(broker.encode()) % len(brokers)]
    fitting = sorted(queue for queue in queues if queue.broker == name)
    return fitting[number % len(fitting)]
