"""When nothing that an earlier owner has sent can arrive any more."""

from collections.abc import Callable, Iterable

from rocketmq_remoting.client import Client
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.rocketmq.tail import BARRIER_SECONDS

BROKER_SETTLES = 0.5
"""Seconds: a broker that answers has by then worked off, or refused, whatever reached it before (it refuses requests that waited
for more than 0.2 s)."""


def settle(client: Client, brokers: Iterable[str], pause: Callable[[float], object]) -> None:
    """Returns when all that was sent to these brokers before can be read.

    A request that an earlier owner, or an earlier connection, has written may still be in the socket of a broker that was
    stopped: the first barrier shows that the broker runs, and after the second one nothing older is left.

    Raises:
        RetriableError: a broker is away; call it again.
    """
    for broker in sorted(set(brokers)):
        client.barrier(broker, BARRIER_SECONDS)
        pause(BROKER_SETTLES)
        client.barrier(broker, BARRIER_SECONDS)


def settled_end(client: Client, queue: MessageQueue, known: int, pause: Callable[[float], object]) -> int:
    """The end of a queue; where it is before a known one, after the broker has worked off what was sent to it.

    Raises:
        RetriableError: the broker is away; call it again.
    """
    end = client.max_offset(queue)
    if end < known:
        settle(client, [queue.broker], pause)
        end = client.max_offset(queue)
    return end
