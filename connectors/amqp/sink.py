"""Topics into brokers that speak AMQP 1.0."""

from connectors.amqp.options import BROKER, TYPES
from connectors.amqp.sending import COMMON, TEXTS, MessageSink, message_id_option
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.writes import FORM, WriteSink, template_option


class AmqpSink(MessageSink):
    """Sends records to brokers that speak AMQP 1.0. A batch is done when the broker has accepted each message."""

    name = "amqp_sink"
    target = "address"
    kind = "address.type"
    body = "body"
    texts = {name: name for name in (*TEXTS, "subject", "content.type")}  # noqa: RUF012 - see MessageSink
    options = (
        *BROKER,
        template_option("address", f"The address, as the broker names it. {FORM} stand for what a record has.", "${topic}"),
        Option(
            "address.type",
            "What the address is, for brokers that tell queues and topics apart. Empty: the broker knows by the address.",
            default="",
            choices=("", *TYPES),
        ),
        Option(
            "body",
            "What values become. data: bytes. text: a string. value: what JSON says, as maps, lists and numbers of AMQP.",
            default="data",
            choices=("data", "text", "value"),
        ),
        message_id_option("${queue}/${offset}"),
        template_option("subject", "The subject. Empty: none."),
        template_option("content.type", "What the bodies are: application/json. Empty: it is not said."),
        *COMMON,
        *WriteSink.options,
    )
