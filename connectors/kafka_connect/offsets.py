"""Source partitions and offsets of Kafka Connect, which are maps, as partitions and positions of ours."""

from collections.abc import Callable, Mapping
from typing import Any

from connectors.kafka_connect.jvm import Java, to_java, to_json
from rocketconnect_sdk.plugins import kafka_names
from rocketconnect_sdk.plugins.kafka_names import OFFSET
from rocketconnect_sdk.record import Position


def partition_name(partition: Any) -> str:
    """The name of a partition, given as a map of Java, or null."""
    return kafka_names.partition_name(to_json(partition))


def offset_reader(java: Java, positions: Mapping[str, Position]) -> Any:
    """An OffsetStorageReader of stored positions."""

    def offset(partition: Any) -> Any:
        known = positions.get(partition_name(partition))
        stored = known.resume.get(OFFSET) if known else None
        return None if stored is None else to_java(stored)

    def offsets(partitions: Any) -> Any:
        found = java.jpype.JClass("java.util.HashMap")()
        for partition in partitions:
            found.put(partition, offset(partition))
        return found

    return java.proxy("org.apache.kafka.connect.storage.OffsetStorageReader", {"offset": offset, "offsets": offsets})


def connector_context(java: Java, positions: Mapping[str, Position], replan: Callable[[], None]) -> Any:
    """What a source connector asks its runtime."""
    failures: list[Any] = []
    reader = offset_reader(java, positions)
    methods = {
        "requestTaskReconfiguration": replan,
        "raiseError": failures.append,
        "offsetStorageReader": lambda: reader,
        "pluginMetrics": lambda: None,
    }
    return java.proxy("org.apache.kafka.connect.source.SourceConnectorContext", methods)
