"""Messages of queues of RabbitMQ into topics."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from connectors.rabbitmq.messages import KEYS, key_problem
from connectors.rabbitmq.options import (
    LONGEST,
    PORTS,
    QUEUE_TYPE,
    SERVER,
    arguments_of,
    pairs_problem,
)
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.queues import PREFETCH, QueueSource, Share, Subscription
from rocketconnect_sdk.queues.brokers import broker_problems
from rocketconnect_sdk.queues.values import VALUE_FORMAT

if TYPE_CHECKING:
    from connectors.rabbitmq.client import Client

_MISSING = "Make the queue, correct `queues`, or set declare=quorum or declare=classic, by which the tasks make it."


def _queues_problem(queues: Iterable[str]) -> str | None:
    names = tuple(queues)
    if not names:
        return "names no queue"
    if len(set(names)) < len(names):
        return "names a queue twice"
    long = next((name for name in names if len(name.encode()) > LONGEST), None)
    return None if long is None else f"has a name of more than {LONGEST} bytes"


class RabbitmqSource(QueueSource):
    """Reads messages of queues of RabbitMQ, acknowledged when the topic has them; several tasks share them out."""

    name = "rabbitmq_source"
    extra = "rabbitmq"
    packages = ("pika",)
    options = (
        *SERVER,
        Option(
            "queues",
            "The queues that are read, separated by commas.",
            Kind.LIST,
            required=True,
            check=_queues_problem,
            fix="Write the names of queues, such as orders,payments.",
            example="orders",
        ),
        Option(
            "declare",
            "Tasks make queues that are not there: durable ones of this type. Empty: they have to be there.",
            default="",
            choices=("", "classic", "quorum"),
        ),
        Option(
            "declare.arguments",
            "Arguments of queues that are made, each NAME=VALUE, separated by commas: x-message-ttl=60000. Numbers, true and false "
            "are what they are, everything else is text.",
            Kind.LIST,
            default="",
            check=pairs_problem,
            fix="Write NAME=VALUE, such as x-message-ttl=60000.",
        ),
        Option(
            "bindings",
            "Tasks bind the queues to exchanges, each EXCHANGE=ROUTING.KEY, separated by commas: orders=eu.#.",
            Kind.LIST,
            default="",
            check=pairs_problem,
            fix="Write EXCHANGE=ROUTING.KEY, such as orders=eu.#.",
        ),
        VALUE_FORMAT,
        Option(
            "key",
            f"The key of a record: {KEYS}. Empty: it has none.",
            default="",
            check=key_problem,
            fix=f"Write {KEYS}.",
        ),
        PREFETCH,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See QueueSource."""
        return run_checks(config, broker_problems, _declare_problems, _queue_problems)

    def origins(self, config: Config) -> Iterable[Origin]:
        """Its queues. See Source."""
        parts = urlsplit(config["url"])
        place = f"amqp://{parts.hostname}:{parts.port or PORTS[parts.scheme]}/{config['virtual.host']}"
        for name in config["queues"]:
            yield Origin("queues", place, name)

    def subscribe(self, config: Config, share: Share, context: TaskContext) -> Subscription:
        """See QueueSource."""
        from connectors.rabbitmq.subscription import RabbitmqSubscription

        return RabbitmqSubscription(config, share, context)


def _declare_problems(config: Config) -> Iterable[Problem]:
    if config["declare.arguments"] and not config["declare"]:
        yield Problem("declare.arguments", config.raw["declare.arguments"], "means nothing without declare", "Set it to a type.")
    if QUEUE_TYPE in arguments_of(config["declare.arguments"]):
        yield Problem(
            "declare.arguments", config.raw["declare.arguments"], f"has {QUEUE_TYPE}, and `declare` says that", "Remove it."
        )


@preflight()
def _queue_problems(config: Config) -> Iterable[Problem]:
    from connectors.rabbitmq.client import looking

    with looking(config) as client:
        yield from _missing(config, client)


def _missing(config: Config, client: "Client") -> Iterable[Problem]:
    from connectors.rabbitmq.faults import NotThere

    there: Mapping[str, str] = {"queue_declare": "queues", "exchange_declare": "bindings"}
    exchanges = list(dict.fromkeys(pair.partition("=")[0] for pair in config["bindings"]))
    names = {"queue_declare": () if config["declare"] else config["queues"], "exchange_declare": exchanges}
    for method, option in there.items():
        for name in names[method]:
            try:
                client.call(method, **{option[:-1] if option == "queues" else "exchange": name}, passive=True)
            except NotThere as error:
                yield Problem(option, config.raw[option], str(error), _MISSING if option == "queues" else "Make it, or correct it.")
                client.reopen()
