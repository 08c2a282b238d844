"""Sources that others send to: the author writes what they speak, the rest is here.

    class MySource(ListenSource):
        def protocol(self, config, context): ...   # a Protocol; see listeners.http for what is spoken over HTTP

At least once: who sends something is told that it is done when the topic has it and the position is stored, and not before. Who is
told something else, or nothing, sends it again.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem, SystemAway
from rocketconnect_sdk.listeners.inbox import Delivery, Inbox, Outcome
from rocketconnect_sdk.listeners.options import LISTEN, address_of, tls_of, tls_problems
from rocketconnect_sdk.listeners.server import Datagrams, Listener, Protocol, drained
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.queues import QueueSource, Received, Share, Subscription

__all__ = ["LISTEN", "Datagrams", "Inbox", "ListenSource", "Outcome", "Protocol", "Received", "drained", "tls_problems"]

_HIGHEST = 65_535


class ListenSource(QueueSource):
    """A source that listens on a port, and answers when the topic has what came. It is at least once.

    Task N of a plan listens on the N-th port from that of `listen` on, on the machine of the executor that runs it. When it moves
    to another executor, it listens there: clients find it by a name or a balancer in front of all of them, or `worker.labels` keeps
    it where it is.
    """

    options: ClassVar[Sequence[Option]] = LISTEN

    @abstractmethod
    def protocol(self, config: Config, context: TaskContext) -> Protocol | Datagrams:
        """What is spoken, or heard: datagrams that find no room are lost, since nobody is told.

        Raises:
            PermanentError: the configuration can't be used.
        """

    def look(self, config: Config) -> Iterable[Problem]:
        """See QueueSource."""
        return tls_problems(config)

    def most_tasks(self, config: Config) -> int:
        """See QueueSource: as many as there are ports."""
        return _HIGHEST + 1 - address_of(config["listen"])[1]

    def subscribe(self, config: Config, share: Share, context: TaskContext) -> Subscription:
        """See QueueSource."""
        return _Listening(self.protocol(config, context), config, share, context)


def tell(deliveries: Sequence[Delivery], outcome: Outcome) -> None:
    """Says what has become of what clients have sent. All that was taken by a task is answered by this."""
    for delivery in deliveries:
        delivery.settle(outcome)


class _Listening(Subscription):
    """Those who are connected, as a subscription to what they send."""

    def __init__(self, protocol: Protocol | Datagrams, config: Config, share: Share, context: TaskContext) -> None:
        host, port = address_of(config["listen"])
        self._place = f"{host or '*'}:{port + share.number}"
        self._inbox = Inbox(context.buffer_bytes, share.prefetch, config["answer.timeout"])
        tls = tls_of(config)
        self._listener = Listener(host, port + share.number, protocol, self._inbox, tls, config["connections.max"], context.log)
        context.log.info("listening on %s%s", self._place, " with TLS" if tls else "")

    def receive(self, limit: int, size: int, seconds: float) -> Sequence[Received]:
        """See Subscription."""
        if not self._listener.is_alive:
            msg = f"nobody listens on {self._place} any more"
            raise SystemAway(msg)
        return self._inbox.take(limit, size, seconds)

    def ack(self, tags: Sequence[Any]) -> None:
        """See Subscription: those who wait are told."""
        tell(tags, Outcome.STORED)

    def nack(self, tags: Sequence[Any]) -> None:
        """See Subscription."""
        tell(tags, Outcome.AGAIN)

    def ping(self, tags: Sequence[Any]) -> None:
        """See Subscription. Nothing is to be kept."""

    def close(self) -> None:
        """See Subscription."""
        self._inbox.close()
        self._listener.close()
