"""Messages of brokers that speak AMQP 1.0 into topics."""

from connectors.amqp.dialects import AMQP
from connectors.amqp.options import BROKER, TYPES
from connectors.amqp.reading import SELECTOR, SHARED, MessageSource, key_option, names_option
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.queues import PREFETCH
from rocketconnect_sdk.queues.values import VALUE_FORMAT


class AmqpSource(MessageSource):
    """Reads messages of brokers that speak AMQP 1.0, accepted when the topic has them; several tasks share a queue."""

    name = "amqp_source"
    dialect = AMQP
    names = "addresses"
    kind = "address.type"
    options = (
        *BROKER,
        names_option(names, "The addresses that are read, as the broker names them, separated by commas."),
        Option(
            kind,
            "What the addresses are, for brokers that tell queues and topics apart. Of a topic a durable subscription is made. "
            "Empty: the broker knows by the address.",
            default="",
            choices=("", *TYPES),
        ),
        SELECTOR,
        SHARED,
        VALUE_FORMAT,
        key_option(AMQP),
        PREFETCH,
    )
