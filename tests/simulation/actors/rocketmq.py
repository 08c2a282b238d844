"""A broker: queues of messages that only grow. A message is its encoded properties, RCPOS among them."""

from rocketmq_remoting.model import MessageQueue
from tests.simulation.world import Process, Reply, World

BROKER = "broker"
TOPIC = "t"
QUEUES = tuple(MessageQueue(TOPIC, BROKER, number) for number in range(3))
MOST_QUEUES = 6
BROKER_SETTLES = 0.5
"""See runtime/queues.BROKER_SETTLES."""


class BrokerStore:
    """What is durable: all that was ever confirmed (flushed synchronously)."""

    def __init__(self) -> None:
        self.queues: dict[MessageQueue, list[bytes]] = {queue: [] for queue in QUEUES}
        self.writable = len(QUEUES)

    def resize(self, queues: int) -> None:
        """From now on so many queues can be written to; those that there were can still be read."""
        for number in range(queues):
            self.queues.setdefault(MessageQueue(TOPIC, BROKER, number), [])
        self.writable = queues


class Broker(Process):
    """Sends and pulls. Once it goes on after a stop it works off its sockets in any order, each of them in its own."""

    def __init__(self, world: World, store: BrokerStore) -> None:
        super().__init__(world, BROKER)
        self._store = store
        self._busy_until: dict[int, float] = {}
        self._unsettled_until = 0.0

    def pause(self, seconds: float) -> None:
        super().pause(seconds)
        self._unsettled_until = self.paused_until + BROKER_SETTLES / 2

    def handle(self, method: str, args: object, reply: Reply) -> None:
        match method, args:
            case "send", (MessageQueue() as queue, list(messages), int(connection)):
                # A request that waits in one socket may be overtaken by those of other connections, not by its own.
                random = self.world.random
                at = self.world.now + random.choice((0.0005, 0.0005, 0.05, 0.3))
                if self.world.now < self._unsettled_until:
                    at = random.uniform(self.world.now, self._unsettled_until)
                at = self._busy_until[connection] = max(self._busy_until.get(connection, 0.0) + 1e-6, at)
                self.world.at(at, lambda: self._append(queue, messages, reply), self)
            case "barrier", _:
                reply(None)
            case "queues", bool(writable):
                found = sorted(self._store.queues)
                reply(tuple(found[: self._store.writable] if writable else found))
            case "end", MessageQueue() as queue:
                reply(len(self._store.queues[queue]))
            case "pull", (dict(starts), int(most)):
                reply({queue: self._store.queues[queue][start : start + most] for queue, start in starts.items()})

    def _append(self, queue: MessageQueue, messages: list[bytes], reply: Reply) -> None:
        if not self.point("broker: before it stores a send"):
            self.after(0.0, lambda: self._append(queue, messages, reply))
            return
        log = self._store.queues[queue]
        at = len(log)
        log.extend(messages)
        if self.point("broker: between store and confirm"):
            reply(at)
        else:
            self.after(0.0, lambda: reply(at))
