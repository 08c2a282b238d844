"""Source partitions and offsets of RocketMQ Connect, which are maps, as partitions and positions of ours."""

from collections.abc import Callable, Mapping
from typing import Any

from connectors.rocketmq_connect.api import PluginJava
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.plugins.kafka_names import OFFSET, partition_name
from rocketconnect_sdk.record import Position

_WHOLE = ("Byte", "Short", "Integer", "Long", "BigInteger")
_BROKEN = ("Float", "Double")


def name_of(java: PluginJava, partition: Any) -> str:
    """The name of a RecordPartition, or of null."""
    return partition_name(None if partition is None else json_of(java, partition.getPartition(), "a partition"))


def json_of(java: PluginJava, value: Any, of: str) -> Any:
    """A value of a partition or of an offset as JSON has it.

    Args:
        java: Its Java.
        value: It.
        of: What it is of, for people.

    Raises:
        PermanentError: JSON has no such value, so that it could not be stored.
    """
    if value is None or isinstance(value, java.known("java.lang.String")):
        return None if value is None else str(value)
    if isinstance(value, java.known("java.util.Map")):
        return {str(entry.getKey()): json_of(java, entry.getValue(), f"{of}, {entry.getKey()}") for entry in value.entrySet()}
    if isinstance(value, java.known("java.util.List")):
        return [json_of(java, each, of) for each in value]
    kind = str(value.getClass().getName())
    short = kind.rpartition(".")[2]
    if short == "Boolean":
        return bool(value)
    if short in _WHOLE:
        return int(str(value))
    if short in _BROKEN and str(value) not in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    msg = f"{of} is a {kind} ({str(value)[:100]}), which can't be stored: only text, numbers, true, false, lists and maps can"
    raise PermanentError(msg)


def java_of(java: PluginJava, value: Any) -> Any:
    """JSON as a value of Java, as RocketMQ Connect gives what it has stored: whole numbers are Integer where they fit."""
    if isinstance(value, dict):
        made = java.known("java.util.HashMap")()
        for key, each in value.items():
            made.put(java.jpype.JString(key), java_of(java, each))
        return made
    if isinstance(value, list):
        listed = java.known("java.util.ArrayList")()
        for each in value:
            listed.add(java_of(java, each))
        return listed
    if isinstance(value, bool):
        return java.known("java.lang.Boolean").valueOf(value)
    if isinstance(value, int):
        return whole(java, value)
    if isinstance(value, float):
        return java.known("java.lang.Double")(value)
    return None if value is None else java.jpype.JString(value)


def whole(java: PluginJava, value: int) -> Any:
    """A whole number as the smallest of Integer, Long and BigInteger that has room for it."""
    if -(1 << 31) <= value < 1 << 31:
        return java.known("java.lang.Integer")(value)
    return java.known("java.lang.Long")(value) if -(1 << 63) <= value < 1 << 63 else java.known("java.math.BigInteger")(str(value))


def offset_reader(java: PluginJava, positions: Mapping[str, Position]) -> Any:
    """An OffsetStorageReader of stored positions."""

    def read(partition: Any) -> Any:
        known = positions.get(name_of(java, partition))
        stored = known.resume.get(OFFSET) if known else None
        return None if stored is None else java.api("data.RecordOffset")(java_of(java, stored))

    def read_all(partitions: Any) -> Any:
        found = java.known("java.util.HashMap")()
        for partition in partitions:
            if (offset := read(partition)) is not None:
                found.put(partition, offset)
        return found

    return java.proxy("storage.OffsetStorageReader", {"readOffset": read, "readOffsets": read_all})


def connector_context(java: PluginJava, replan: Callable[[], None], failed: Callable[[Any], None]) -> Any:
    """What a connector tells its runtime: that another plan is due, and that it can't go on."""
    return java.proxy("component.connector.ConnectorContext", {"requestTaskReconfiguration": replan, "raiseError": failed})
