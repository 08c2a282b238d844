"""What amqp_sink and jms_sink have in common: options, and how they open tasks."""

from collections.abc import Iterable
from typing import ClassVar

from connectors.amqp.options import broker_answers, pairs_problem
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.queues.brokers import broker_problems
from rocketconnect_sdk.sink import Guarantee
from rocketconnect_sdk.writes import TEMPLATE_FIX, Addressing, Connection, Template, WriteSink, template_option

TEXTS = ("message.id", "correlation.id", "reply.to", "group.id", "priority")
_TIME_TO_LIVE = Option(
    "time.to.live",
    "How long a message waits at most; the broker drops it then, or moves it away. 0s: as long as the broker says.",
    Kind.DURATION,
    "0s",
    minimum=0,
    maximum=(1 << 32) // 1000 - 1,
)
COMMON = (
    template_option("correlation.id", "The correlation id: ${key}. Empty: none."),
    template_option("reply.to", "Where an answer is wanted. Empty: nowhere."),
    template_option("group.id", "The group: brokers give messages of one group to one consumer, in their order. ${key}, or empty."),
    template_option("priority", "The priority, from 0 to 9: 5, or ${header.priority}. Empty: that of the broker, mostly 4."),
    Option(
        "properties",
        "Application properties of the messages, each NAME=TEXT, separated by commas: id=${key},trace=${header.trace}.",
        Kind.LIST,
        default="",
        check=pairs_problem,
        fix=f"Write NAME=TEXT. {TEMPLATE_FIX}",
    ),
    Option(
        "headers.enabled",
        "Headers of records are application properties, too, but for those that amqp_source and jms_source have made of fields.",
        Kind.BOOL,
        "true",
    ),
    _TIME_TO_LIVE,
    Option("persistent", "The broker keeps messages on disk.", Kind.BOOL, "true"),
    Option(
        "duplicate.detection",
        "Messages have their id in _AMQ_DUPL_ID, by which Artemis drops what it has had already.",
        Kind.BOOL,
        "false",
    ),
)


def message_id_option(default: str) -> Option:
    """What the id of a message is."""
    doc = "The id of a message. The default is the same whenever a record is sent again, so who reads can tell."
    return template_option("message.id", doc, default)


class MessageSink(WriteSink):
    """A sink of messages of AMQP 1.0.

    Class attributes:
        is_jms: Messages have what JMS wants to know.
        target: The option with the address.
        kind: The option with what that is.
        body: The option with what values become.
        texts: By the names of texts of messages the options that make them.
    """

    extra = "amqp"
    packages = ("proton",)
    guarantee = Guarantee.AT_LEAST_ONCE
    is_jms: ClassVar[bool] = False
    target: ClassVar[str]
    kind: ClassVar[str]
    body: ClassVar[str]
    texts: ClassVar[dict[str, str]]

    def look(self, config: Config) -> Iterable[Problem]:
        """See WriteSink."""
        return run_checks(config, broker_problems, _sense_problems, broker_answers)

    def addressing(self, config: Config) -> Addressing:
        """See WriteSink. A record without a value is a message without a body."""
        texts = {name: config[option] for name, option in self.texts.items() if config[option]}
        properties = {f"property.{name}": text for name, _, text in (pair.partition("=") for pair in config["properties"])}
        more = {name: Template.of(text) for name, text in {**texts, **properties}.items()}
        return Addressing(target=Template.of(config[self.target]), more=more, messages=True)

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See WriteSink."""
        from connectors.amqp.publisher import AmqpConnection
        from connectors.amqp.shaping import Making

        making = Making(
            body=config[self.body],
            is_jms=self.is_jms,
            kind=config[self.kind],
            durable=config["persistent"],
            ttl=config["time.to.live"],
            headers=config["headers.enabled"],
            duplicates=config["duplicate.detection"],
        )
        name = f"rocketconnect-{context.connector_uid}-{context.task}"
        return AmqpConnection(config, name, making, is_fixed="${" not in config[self.target])


def _sense_problems(config: Config) -> Iterable[Problem]:
    if config["duplicate.detection"] and not config["message.id"]:
        yield Problem(
            "message.id", "", "is empty, and duplicate.detection needs it", "Leave it out, which gives each record its own."
        )
    if not config["persistent"]:
        what = "loses messages when the broker ends"
        yield Problem("persistent", "false", what, "Set persistent=true, unless that does not matter.", is_warning=True)
