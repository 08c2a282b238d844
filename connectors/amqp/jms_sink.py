"""Topics into queues and topics of JMS, over AMQP 1.0."""

from connectors.amqp.options import BROKER, QUEUE, TYPES
from connectors.amqp.sending import COMMON, TEXTS, MessageSink, message_id_option
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.writes import FORM, WriteSink, template_option


class JmsSink(MessageSink):
    """Sends records to queues and topics of JMS (ActiveMQ, Artemis) over AMQP 1.0, as messages that clients of JMS read."""

    name = "jms_sink"
    is_jms = True
    target = "destination"
    kind = "destination.type"
    body = "message.kind"
    texts = {**{name: name for name in TEXTS}, "subject": "message.type"}  # noqa: RUF012 - see MessageSink
    options = (
        *BROKER,
        template_option("destination", f"The queue or topic. {FORM} stand for what a record has.", "${topic}"),
        Option("destination.type", "What the destination is.", default=QUEUE, choices=TYPES),
        Option(
            "message.kind",
            "What records become. text: a TextMessage. bytes: a BytesMessage. map: a MapMessage of a row or a JSON object. "
            "stream: a StreamMessage of a list.",
            default="text",
            choices=("text", "bytes", "map", "stream"),
        ),
        message_id_option("ID:${queue}/${offset}"),
        template_option("message.type", "JMSType. Empty: none."),
        *COMMON,
        *WriteSink.options,
    )
