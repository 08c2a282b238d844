"""What amqp_source and jms_source have in common: options, and how they open tasks."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from connectors.amqp.dialects import Dialect
from connectors.amqp.options import TOPIC, broker_answers, names_problem, place_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.queues import QueueSource, Share, Subscription
from rocketconnect_sdk.queues.brokers import broker_problems
from rocketconnect_sdk.queues.values import VALUES

if TYPE_CHECKING:
    from connectors.amqp.subscription import SubscriptionSettings

SELECTOR = Option(
    "selector",
    "Which messages are wanted, as JMS writes it: region = 'eu' AND price > 10. Empty: all. Others stay in a queue.",
    default="",
)
SHARED = Option(
    "subscription.shared",
    "Several tasks share the messages of a topic out, over one durable subscription: where the broker has these, as Artemis. "
    "Otherwise one task reads a topic.",
    Kind.BOOL,
    "false",
)


def key_option(dialect: Dialect) -> Option:
    """What the key of a record is."""
    names = dialect.key_names
    doc = f"The key of a record: {names}. Empty: it has none."
    return Option("key", doc, default="", check=dialect.key_problem, fix=f"Write {names}.")


def names_option(key: str, doc: str) -> Option:
    """What is read."""
    return Option(
        key, doc, Kind.LIST, required=True, check=names_problem, fix="Write names, such as orders,payments.", example="orders"
    )


class MessageSource(QueueSource):
    """A source of messages of AMQP 1.0.

    Class attributes:
        dialect: The names of headers.
        names: The option with what is read.
        kind: The option with what that is: see options.TYPES; empty: it is not told.
    """

    extra = "amqp"
    packages = ("proton",)
    leaves = True
    dialect: ClassVar[Dialect]
    names: ClassVar[str]
    kind: ClassVar[str]

    def look(self, config: Config) -> Iterable[Problem]:
        """See QueueSource."""
        return run_checks(config, broker_problems, partial(_topic_problems, self), broker_answers)

    def origins(self, config: Config) -> Iterable[Origin]:
        """Its queues and topics. See Source."""
        for name in config[self.names]:
            yield Origin(self.names, place_of(config["url"]), f"{config[self.kind]}:{name}" if config[self.kind] else name)

    def most_tasks(self, config: Config) -> int:
        """See QueueSource. Each subscription of a topic has all its messages."""
        return 1 if config[self.kind] == TOPIC and not config["subscription.shared"] else super().most_tasks(config)

    def subscribe(self, config: Config, share: Share, context: TaskContext) -> Subscription:
        """See QueueSource."""
        from connectors.amqp.subscription import AmqpSubscription

        return AmqpSubscription(config, share, self.wanted(config, context.max_record_bytes, share.prefetch))

    def retire(self, config: Config, share: Share) -> None:
        """Removes durable subscriptions. See QueueSource."""
        if (
            config[self.kind] != TOPIC
            or share.number >= self.most_tasks(config)
            or (config["subscription.shared"] and share.number)
        ):
            return
        from connectors.amqp.client import Client
        from connectors.amqp.subscription import client_id, unsubscribe

        wanted = self.wanted(config, 0, 1)
        client = Client(config, client_id(share, wanted))
        try:
            for name in wanted.addresses:
                unsubscribe(client, share, wanted, name)
        finally:
            client.end()

    def wanted(self, config: Config, most_bytes: int, prefetch: int) -> "SubscriptionSettings":
        """What is read."""
        from connectors.amqp.messages import Shape
        from connectors.amqp.subscription import SubscriptionSettings

        form = config["value.format"]
        shape = Shape(self.dialect, VALUES[form], form, config["key"], most_bytes)
        return SubscriptionSettings(
            config[self.names],
            config[self.kind],
            config["selector"],
            is_shared=config[self.kind] == TOPIC and config["subscription.shared"],
            prefetch=prefetch,
            shape=shape,
        )


def _topic_problems(source: MessageSource, config: Config) -> Iterable[Problem]:
    is_topic = config[source.kind] == TOPIC
    if config["subscription.shared"] and not is_topic:
        yield Problem("subscription.shared", "true", "is a matter of topics", f"Set {source.kind}=topic, or remove it.")
    if is_topic and not config["subscription.shared"] and config.get("max.tasks", 1) > 1:
        why = "is more than the one task that can read a topic without a shared subscription"
        yield Problem("max.tasks", str(config["max.tasks"]), why, "Set subscription.shared=true, or max.tasks=1.")
