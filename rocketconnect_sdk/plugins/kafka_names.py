"""How partitions, offsets and topics of Kafka Connect are written here: by its plugins, and by who brings them over. Pure."""

import json
import re
from collections.abc import Mapping
from typing import Any

OFFSET = "offset"
"""Under what key a position of a source has the map of its offset."""
BROUGHT = "[0,0]"
"""The offset of a position that was brought from elsewhere, before all that tasks give: its map says where reading goes on."""

_NEEDS_KAFKA = ("org.apache.kafka.connect.mirror.", "org.apache.iceberg.connect.", "io.tabular.iceberg.connect.")
_WRONG_IN_TOPIC = re.compile(r"[^A-Za-z0-9%|_-]")


def partition_name(partition: Mapping[str, Any] | None) -> str:
    """What a source partition, a map of JSON, is called here. The same map has the same name, whatever the order of its keys."""
    return json.dumps(partition or {}, sort_keys=True, separators=(",", ":"))


def partition_of(name: str) -> dict[str, Any] | None:
    """The map that is called so; None: this is the name of none."""
    try:
        found = json.loads(name)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def topic_name(topic: str) -> str:
    """What a topic of Kafka is called in RocketMQ, which allows fewer characters: shop.public.orders is shop_public_orders."""
    return _WRONG_IN_TOPIC.sub("_", topic)


def needs_kafka(class_name: str) -> bool:
    """Whether a connector speaks to Kafka itself, beside what Kafka Connect does for it: it can't run without one."""
    return class_name.startswith(_NEEDS_KAFKA)
