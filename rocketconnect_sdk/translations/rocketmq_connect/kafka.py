"""Topics of Kafka, and plugins of Kafka Connect."""

import json

from rocketconnect_sdk.configuration.option_texts import items
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.translations.draft import Draft
from rocketconnect_sdk.translations.rocketmq_connect.common import PACKAGE
from rocketconnect_sdk.translations.tables import Named, Nothing, Table

_TOPICS, _CONFIGS = "kafka.topics", "kafka.connector.configs"


def _topic(draft: Draft) -> None:
    """Without a topic, records go to topics with the names of those of Kafka."""
    named = draft.take("rocketmq.topic", "connect.topicname", "connect-topicname", "topic")
    topics = items(draft.peek(_TOPICS))
    if named:
        draft.set("topic", named, "rocketmq.topic")
    elif topics:
        draft.set("topic", topics[0], _TOPICS)
        draft.set("topic.template", "${topic}", _TOPICS)
    for key in ("key.converter", "value.converter", "key-converter", "value-converter"):
        draft.drop(key, "keys and values pass as they are in Kafka")
    draft.set("key.converter", "bytes")
    draft.set("value.converter", "bytes")


def _plugin(draft: Draft) -> None:
    """The configuration of a plugin of Kafka Connect, which an adapter holds as one JSON object."""
    own = _texts(draft.take(_CONFIGS))
    if own is None or not own.get(CLASS.key):
        fix = 'Write {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", ...}.'
        draft.refuse(_CONFIGS, "is no JSON object that names the class of a plugin of Kafka Connect", fix)
        return
    if own.pop("plugin.path", ""):
        fix = "Install it with rocketconnect plugins install, on the executors."
        draft.warn(_CONFIGS, "has plugin.path, and executors say where plugins are", fix)
    for key in ("key.converter", "value.converter"):
        draft.drop(key, "the plugin has converters of its own")
    for key, text in own.items():
        draft.set(key, text, _CONFIGS)


def _texts(text: str) -> dict[str, str] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    return {key: each if isinstance(each, str) else json.dumps(each) for key, each in value.items()}


_ADAPTER = f"{PACKAGE}kafka.connector.KafkaRocketmq"
_MAPPER = {"rocketmq.recordPartition.kafkaTopicPartition.mapper": Nothing("a queue is a partition of Kafka")}

TABLES = (
    Table(
        "kafka_source",
        (f"{PACKAGE}kafka.connector.KafkaSourceConnector",),
        {
            "kafka.bootstrap.server": Named("bootstrap.servers"),
            "kafka.group.id": Nothing("positions are those of the connector, and no group is made"),
        },
        _topic,
        told=("Bodies are Kafka's values, and not JSON of their bytes.",),
    ),
    Table("", (f"{_ADAPTER}SourceConnector",), {}, _plugin),
    Table("", (f"{_ADAPTER}SinkConnector",), _MAPPER, _plugin, sink=True),
)
