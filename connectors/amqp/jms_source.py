"""Messages of JMS into topics, over AMQP 1.0."""

from connectors.amqp.dialects import JMS
from connectors.amqp.options import BROKER, QUEUE, TYPES
from connectors.amqp.reading import SELECTOR, SHARED, MessageSource, key_option, names_option
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.queues import PREFETCH
from rocketconnect_sdk.queues.values import VALUE_FORMAT


class JmsSource(MessageSource):
    """Reads messages of queues and topics of JMS (ActiveMQ, Artemis) over AMQP 1.0, with the headers that JMS gives them."""

    name = "jms_source"
    dialect = JMS
    names = "destinations"
    kind = "destination.type"
    options = (
        *BROKER,
        names_option(names, "The queues or topics that are read, separated by commas."),
        Option(
            kind,
            "What the destinations are. Of a topic a durable subscription is made.",
            default=QUEUE,
            choices=TYPES,
        ),
        SELECTOR,
        SHARED,
        VALUE_FORMAT,
        key_option(JMS),
        PREFETCH,
    )
