"""Messages of other brokers: RabbitMQ, ActiveMQ, MQTT."""

from urllib.parse import urlsplit

from rocketconnect_sdk.translations.draft import Draft
from rocketconnect_sdk.translations.rocketmq_connect.common import PACKAGE, TO_LOWER
from rocketconnect_sdk.translations.tables import Named, Nothing, Rule, Table

_NAME, _TYPE = "destinationName", "destinationType"
_JMS_TOPICS = "jms.durable.topic"
"""The exchange that RabbitMQ's client for JMS sends messages of topics to."""

_OPENWIRE, _AMQP = 61616, {"amqp": 5672, "amqps": 5671}
_ENCRYPTED = ("ssl", "wss", "mqtts", "amqps")

_SESSION = Nothing("messages are acknowledged when the topic has them")
_SESSIONS: dict[str, Rule] = {
    "jms.session.acknowledge.mode": _SESSION,
    "jms.session.transacted": _SESSION,
    "sessionAcknowledgeMode": _SESSION,
    "sessionTransacted": _SESSION,
}


def _rabbitmq(draft: Draft) -> None:
    draft.address("amqp", "host", "port")
    kind, name = draft.take(_TYPE, default="queue").lower(), draft.take(_NAME)
    if not name:
        return
    if kind == "queue":
        draft.set("queues", name, _NAME)
        return
    # There JMS makes a queue for each subscriber of a topic; here it has a name, and stays.
    draft.set("queues", f"rocketconnect-{name}", _NAME)
    draft.set("declare", "classic", _TYPE)
    draft.set("bindings", f"{_JMS_TOPICS}={name}", _NAME)
    draft.warn(_TYPE, f"means the exchange {_JMS_TOPICS} of JMS", "Name another one in `bindings`, as EXCHANGE=ROUTING.KEY.")


def _activemq(draft: Draft) -> None:
    text = draft.take("activemqUrl")
    first, comma, _ = text.removeprefix("failover:").lstrip("(").partition(",")
    parts = urlsplit(first.partition(")")[0])
    if not text:
        return
    if comma:
        draft.warn("activemqUrl", "names several brokers, and the first one is read", "Give the one to be read as `url`.")
    scheme = "amqps" if parts.scheme in _ENCRYPTED else "amqp"
    port = parts.port
    if parts.scheme not in _AMQP:
        port = _AMQP[scheme] if port in (None, _OPENWIRE, _OPENWIRE + 1) else port
        fix = "Give `url` with the port of the broker's connector for AMQP, where it is another one."
        draft.warn("activemqUrl", f"is OpenWire's; messages are read by AMQP 1.0, from port {port}", fix)
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    draft.set("url", f"{scheme}://{shown}{f':{port}' if port else ''}", "activemqUrl")


def _mqtt(draft: Draft) -> None:
    text = draft.take("mqttBrokerUrl")
    if text:
        parts = urlsplit(text if "//" in text else f"tcp://{text}")
        if parts.scheme in ("ws", "wss"):
            fix = "Give `url` with the port of the broker's listener for TCP."
            draft.refuse("mqttBrokerUrl", "speaks MQTT through web sockets, and here it is spoken through TCP", fix)
        draft.set("url", f"{'mqtts' if parts.scheme in _ENCRYPTED else 'mqtt'}://{parts.netloc}", "mqttBrokerUrl")
    fix = "Give the user and the password that the broker wants as `user` and `password`."
    for key in ("mqttAccessKey", "mqttSecretKey"):
        if key in draft and ("user" not in draft and "username" not in draft):
            draft.refuse(key, "signs the client's name, as Alibaba Cloud wants it", fix)
        draft.take(key)


TABLES = (
    Table(
        "rabbitmq_source",
        (f"{PACKAGE}rabbitmq.connector.RabbitmqSourceConnector",),
        _SESSIONS,
        _rabbitmq,
    ),
    Table(
        "jms_source",
        (f"{PACKAGE}activemq.connector.ActivemqSourceConnector", f"{PACKAGE}activemq.connector.ActivemqConnector"),
        {
            **_SESSIONS,
            "activemqUsername": Named("user"),
            "activemqPassword": Named("password"),
            "messageSelector": Named("selector"),
            _TYPE: Named("destination.type", TO_LOWER),
            _NAME: Named("destinations"),
        },
        _activemq,
    ),
    Table(
        "mqtt_source",
        (f"{PACKAGE}mqtt.connector.MqttSourceConnector",),
        {"sourceTopic": Named("filters")},
        _mqtt,
        {"version": "3.1.1"},
    ),
    Table(
        "mqtt_sink",
        (f"{PACKAGE}mqtt.connector.MqttSinkConnector",),
        {"sinkTopic": Named("target.topic")},
        _mqtt,
        {"version": "3.1.1"},
    ),
)
