"""Topics of a task: found, or made when the configuration says so."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.letters.dead_letters import replay_topic
from rocketconnect_sdk.options import Config
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import InvalidRequest, NoPermission
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.rocketmq.internal_topics import OF_GROUPS
from services.executor.runtime.task_runtime import TaskRuntime

ROCKETMQ_PREFIX = "%DLQ%"
"""Begins the names of the dead-letter topics that RocketMQ makes itself, one for each consumer group."""

_ROCKETMQ_QUEUES = 1
"""So many queues a broker gives what it keeps for a group (DLQ_NUMS_PER_GROUP, retryQueueNums), and sends to the first only."""


@dataclass(frozen=True, slots=True)
class TopicMaker:
    """Gives the queues of topics.

    Attributes:
        client: RocketMQ.
        auto_create: topic.auto.create.
        queues: Of a topic that is made.
        topic_type: Of a topic that is made.
    """

    client: Client
    auto_create: bool
    queues: int
    topic_type: str

    @classmethod
    def of(cls, client: Client, config: Config) -> "TopicMaker":
        """As a configuration says."""
        return cls(client, config["topic.auto.create"], config["topic.queues"], config["topic.type"])

    def find(
        self,
        topic: str,
        *,
        writable: bool,
        queues: int | None = None,
        read_queues: int | None = None,
        plain: bool = False,
        broker: str | None = None,
    ) -> list[MessageQueue]:
        """The queues of a topic, sorted; makes the topic when there is none.

        Args:
            topic: The topic.
            writable: Those that can be written to, instead of those that can be read.
            queues: How many a topic that is made has; None: as configured.
            read_queues: How many of them can be read; None: all.
            plain: It has to be of the normal type, and is made whatever the configuration says: a dead-letter topic.
            broker: A topic that is made is on this one; None: on all.

        Raises:
            PermanentError: there is no such topic and it is not to be made, RocketMQ refuses to make it, or its type is wrong.
            RetriableError, SystemAway: of RocketMQ: for now.
        """
        if not self.client.topic_exists(topic):
            if self.client.topic_on_broker(topic):
                # Making it would change the one that is there.
                msg = f"topic {topic} is on its broker, and is not announced yet: RocketMQ announces it within 30 s"
                raise SystemAway(msg)
            self._make(topic, queues or self.queues, read_queues, plain=plain, broker=broker)
        elif plain:
            self._refuse_batch(topic)
        found = self.client.queues(topic, writable=writable)
        if not found:
            what = "written to" if writable else "read"
            msg = f"topic {topic} has no queue that can be {what}: give it the permission, for instance with RocketMQ's mqadmin"
            raise PermanentError(msg)
        return found

    def _refuse_batch(self, topic: str) -> None:
        try:
            topic_type = self.client.topic_config(topic).topic_type
        except NoPermission:
            # Whoever may not ask may still send.
            return
        if topic_type == "batch":
            msg = f"topic {topic} is a batch topic, which has no tags, by which corrected dead letters are known: name another one"
            raise PermanentError(msg)

    def _make(self, topic: str, queues: int, read_queues: int | None, *, plain: bool, broker: str | None) -> None:
        if not self.auto_create and not plain:
            msg = f"topic {topic} does not exist: create it, or let it be created with topic.auto.create=true"
            raise PermanentError(msg)
        if topic.startswith(OF_GROUPS):
            # As RocketMQ itself does it with the first message that a group gives back.
            queues, read_queues, plain = _ROCKETMQ_QUEUES, _ROCKETMQ_QUEUES, True
        try:
            topic_type = "normal" if plain else self.topic_type
            brokers = None if broker is None else [broker]
            # Another task may have made it since we looked, with its own number of queues.
            self.client.create_topic(
                topic, queues=queues, read_queues=read_queues, topic_type=topic_type, brokers=brokers, keep=True
            )
        except InvalidRequest as error:
            raise PermanentError(str(error)) from error


def dead_letter_queues(runtime: TaskRuntime, topics: TopicMaker) -> list[MessageQueue]:
    """The queues of the dead-letter topic, which is made when there is none; empty: none is configured."""
    topic = runtime.policy.dead_letter_topic
    if not topic:
        return []
    config = runtime.config
    count: int = config["errors.deadletterqueue.write.queue.nums"]
    # Fewer read queues than write queues would hide dead letters from every consumer.
    readable = max(count, config["errors.deadletterqueue.read.queue.nums"])
    if topic.startswith(ROCKETMQ_PREFIX):
        count = readable = _ROCKETMQ_QUEUES
    make = partial(topics.find, topic, writable=True, queues=count, read_queues=readable, plain=True)
    return runtime.attempts.insist(f"looking for the dead-letter topic {topic}", make)


def replay_queues(runtime: TaskRuntime, topics: TopicMaker, dead: Sequence[MessageQueue]) -> list[MessageQueue]:
    """What task 0 of a sink with dead letters reads besides its topics: through it they come back, in their order, hence one queue.

    It is made with the first run, so that a running sink need not learn of it. A site that lets nobody make topics goes without.
    """
    if not dead or runtime.spec.task != 0:
        return []
    topic = replay_topic(runtime.spec.connector_uid)
    make = partial(topics.find, topic, writable=False, queues=1, plain=True, broker=dead[0].broker)
    try:
        return runtime.attempts.insist(f"looking for the replay topic {topic}", make)
    except (PermanentError, NoPermission) as error:
        fix = f"make {topic} with one queue and restart the connector"
        runtime.reporter.log("WARNING", f"dead letters can't be replayed to this connector: {error}; {fix}")
        return []


def clusters(runtime: TaskRuntime, topics: Iterable[str]) -> Mapping[str, str]:
    """The RocketMQ cluster of each broker that has one of these topics, by its name."""
    found: dict[str, str] = {}
    for topic in sorted(topics):
        route = runtime.attempts.insist(f"looking for topic {topic}", partial(runtime.client.route, topic))
        found |= {broker.name: broker.cluster for broker in route.brokers}
    return found
