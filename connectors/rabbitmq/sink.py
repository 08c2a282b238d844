"""Topics into exchanges of RabbitMQ."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from connectors.rabbitmq.options import EXCHANGE, HEADER, SERVER, TEXTS, pairs_problem
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.queues.brokers import broker_problems
from rocketconnect_sdk.sink import Guarantee
from rocketconnect_sdk.writes import (
    FORM,
    TEMPLATE_FIX,
    Addressing,
    Connection,
    Template,
    WriteSink,
    template_option,
    template_problem,
)

if TYPE_CHECKING:
    from connectors.rabbitmq.client import Client


def _headers_problem(pairs: Iterable[str]) -> str | None:
    given = tuple(pairs)
    return pairs_problem(given) or next(filter(None, (template_problem(pair.partition("=")[2]) for pair in given)), None)


class RabbitmqSink(WriteSink):
    """Publishes records to exchanges of RabbitMQ. A batch is done when the server has confirmed each message."""

    name = "rabbitmq_sink"
    extra = "rabbitmq"
    packages = ("pika",)
    guarantee = Guarantee.AT_LEAST_ONCE
    options = (
        *SERVER,
        template_option(
            "exchange",
            f"The exchange. {FORM} stand for what a record has. Empty: the default one, whose routing keys are names of queues.",
        ),
        Option(
            "exchange.declare",
            "Tasks make exchanges that are not there: durable ones of this type. Empty: they have to be there.",
            default="",
            choices=("", "direct", "fanout", "headers", "topic"),
        ),
        template_option(
            "routing.key", "The routing key, made in the same way: orders.${value.region}. It may be empty.", "${topic}"
        ),
        Option(
            "unroutable",
            "What becomes of a message that no queue takes. refuse: it is a bad record. retry: it is published again until there "
            "is a queue, or its retries end. drop: the server drops it, and nobody is told.",
            default="refuse",
            choices=("refuse", "retry", "drop"),
        ),
        template_option(
            "message.id",
            "The id of a message. The default is the same whenever a record is published again, so consumers can tell.",
            "${queue}/${offset}",
        ),
        template_option("correlation.id", "The correlation id. Empty: none."),
        template_option("message.type", "The type of a message, as applications have it. Empty: none."),
        template_option("priority", "The priority, from 0 to 255: 5, or ${header.priority}. Empty: none."),
        template_option("content.type", "What the payloads are: application/json. Empty: it is not said."),
        Option(
            "headers",
            "Headers of the messages, each NAME=TEXT, separated by commas: id=${key},trace=${header.trace}.",
            Kind.LIST,
            default="",
            check=_headers_problem,
            fix=f"Write NAME=TEXT. {TEMPLATE_FIX}",
        ),
        Option(
            "expiration",
            "How long a message waits in a queue at most. 0s: as long as the queue says.",
            Kind.DURATION,
            "0s",
            minimum=0,
        ),
        Option("persistent", "Durable queues keep messages on disk.", Kind.BOOL, "true"),
        *WriteSink.options,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See WriteSink."""
        return run_checks(config, broker_problems, _sense_problems, _exchange_problems)

    def addressing(self, config: Config) -> Addressing:
        """See WriteSink. A target is a routing key; one that is empty is none."""
        texts = {name: config[name] for name in (EXCHANGE, *TEXTS) if config[name]}
        headers = {f"{HEADER}{name}": text for name, _, text in (pair.partition("=") for pair in config["headers"])}
        more = {name: Template.of(text) for name, text in {**texts, **headers}.items()}
        return Addressing(target=Template.of(config["routing.key"]) if config["routing.key"] else None, more=more)

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See WriteSink."""
        from connectors.rabbitmq.publisher import RabbitmqConnection

        return RabbitmqConnection(config, f"rocketconnect-{context.connector_uid}-{context.task}")


def _sense_problems(config: Config) -> Iterable[Problem]:
    if not config["exchange"]:
        if config["exchange.declare"]:
            yield Problem("exchange.declare", config["exchange.declare"], "means nothing for the default exchange", "Set exchange.")
        if not config["routing.key"]:
            yield Problem("routing.key", "", "is empty, and that of the default exchange is the name of a queue", "Set it.")
    if config["unroutable"] == "drop":
        what = "loses messages that no queue takes, and nobody is told"
        yield Problem("unroutable", "drop", what, "Set unroutable=refuse, unless that does not matter.", is_warning=True)


@preflight()
def _exchange_problems(config: Config) -> Iterable[Problem]:
    from connectors.rabbitmq.client import looking

    with looking(config) as client:
        yield from _missing(config, client)


def _missing(config: Config, client: "Client") -> Iterable[Problem]:
    from connectors.rabbitmq.faults import NotThere

    name = config["exchange"]
    if not name or "${" in name or config["exchange.declare"]:
        return
    try:
        client.call("exchange_declare", exchange=name, passive=True)
    except NotThere as error:
        yield Problem("exchange", name, str(error), "Make the exchange, correct it, or set exchange.declare to a type.")
