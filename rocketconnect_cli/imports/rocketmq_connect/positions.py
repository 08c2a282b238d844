"""Where a source of RocketMQ Connect is, as a position here. Pure."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from rocketconnect_cli.imports.rocketmq_connect.stores import Place
from rocketconnect_sdk.plugins.kafka_names import BROUGHT, OFFSET, partition_name

Position = dict[str, str]
"""In the form of `positions:alter`."""

_SLOT = "a slot of PostgreSQL is where it is, and a new one is made: with snapshot.mode=never it begins at the changes from now on"
_LOG = "a place in the binary log is known by the server and its transactions: see snapshot.mode for where it begins"
_FILE = "a file is known by its inode here: start it, stop it, and move its position (rocketconnect position set)"
WHY_NOT: Mapping[str, str] = {
    "file_source": _FILE,
    "mysql_cdc_source": _LOG,
    "postgres_cdc_source": _SLOT,
    "redis_replication_source": "it does not say in which history of the server it is",
}


_END = 253_402_300_800_000
"""Milliseconds until the year 10000."""
_GROWN = "ES_POSITION"
"""Ends the key of the last value of the field that grows, behind the name of the index."""


class Unplaced(Exception):
    """There is no position here for a place there. It says why."""


def brought(plugin: str, config: Mapping[str, str], places: Sequence[Place]) -> tuple[list[Position], list[str]]:
    """The positions, and why others are none.

    Args:
        plugin: Ours.
        config: Ours.
        places: Theirs.
    """
    read = _READERS.get(plugin) or (_of_plugin if "." in plugin else _of_none(plugin))
    positions, reasons = [], []
    for partition, offset in places:
        try:
            positions.append(read(config, partition, offset))
        except (Unplaced, ValueError, TypeError, KeyError, OverflowError) as error:
            why = str(error) if isinstance(error, Unplaced) else "it is no place that such a connector gives"
            reasons.append(f"{partition_name(partition)} at {json.dumps(offset, sort_keys=True)} is not brought: {why}")
    return positions, reasons


def instead(plugin: str, config: Mapping[str, str], places: Sequence[Place]) -> dict[str, str]:
    """Options that say where a source begins, where positions can't: the last values come again, and none is left out."""
    offsets = [offset for _, offset in places]
    if plugin == "jdbc_source" and config.get("mode") == "timestamp" and config.get("db.timezone", "UTC") == "UTC":
        times = [time for each in offsets if isinstance(time := each.get("timestamp"), int) and 0 <= time < _END]
        return {"timestamp.initial": datetime.fromtimestamp(min(times) // 1000, UTC).isoformat()} if times else {}
    if plugin == "elasticsearch_source" and (field := config.get("incrementing.field")):
        values = [value for each in offsets for key, value in each.items() if key.endswith(_GROWN) and isinstance(value, int)]
        return {"query": json.dumps({"range": {field: {"gte": min(values)}}})} if values else {}
    return {}


def _of_table(config: Mapping[str, str], partition: Mapping[str, Any], offset: Mapping[str, Any]) -> Position:
    """Of jdbc_source: the mode and the table, and the values that the next row is behind."""
    mode = config.get("mode", "bulk")
    name = next((str(text) for key, text in partition.items() if key.partition("-")[0] in ("table", "query")), "")
    number, time = offset.get("incrementing"), offset.get("timestamp")
    if mode == "timestamp":
        msg = "rows of one time are told apart by their key, which it does not say: set timestamp.initial"
        raise Unplaced(msg)
    if "incrementing" not in mode or number is None or int(number) < 0 or (mode != "incrementing" and time is None):
        msg = "it says no row"
        raise Unplaced(msg)
    if mode != "incrementing" and config.get("db.timezone", "UTC") != "UTC":
        msg = "its time is one of db.timezone: set timestamp.initial"
        raise Unplaced(msg)
    nanos = int(offset.get("timestamp_nanos") or 0)
    times = [] if mode == "incrementing" else [int(time or 0) // 1000 * 1_000_000 + nanos // 1000]
    return {"partition": f"{mode} {_table(config, name)}", "offset": json.dumps([*times, int(number)])}


def _table(config: Mapping[str, str], name: str) -> str:
    """As databases name them here: PostgreSQL with the schema, others alone."""
    parts = name.split(".")
    kind = urlsplit(config.get("connection.url", "").removeprefix("jdbc:")).scheme
    if kind.startswith("postgres"):
        return ".".join(parts[-2:]) if len(parts) > 1 else f"public.{name}"
    return parts[-1]


def _of_oplog(config: Mapping[str, str], partition: Mapping[str, Any], offset: Mapping[str, Any]) -> Position:
    """Of mongodb_source: a second, and a number in it."""
    del partition
    kind = "oplog" if config.get("capture.mode") == "oplog" else "changes"
    return {"partition": kind, "offset": json.dumps([int(offset["ts"]), int(offset.get("increment") or 0), 0])}


def _of_queue(config: Mapping[str, str], partition: Mapping[str, Any], offset: Mapping[str, Any]) -> Position:
    """Of rocketmq_source: the first life of a topic."""
    del config
    queue = f"{partition['topic']}/{partition['brokerName']}/{int(partition['queueId'])}"
    return {"partition": queue, "offset": json.dumps([0, int(offset["queueOffset"])])}


def _of_plugin(config: Mapping[str, str], partition: Mapping[str, Any], offset: Mapping[str, Any]) -> Position:
    """Of a plugin of Kafka Connect: the same maps."""
    del config
    return {"partition": partition_name(partition), "offset": BROUGHT, "resume": json.dumps({OFFSET: offset}, sort_keys=True)}


def _of_none(plugin: str) -> "_Reader":
    """Of a source whose places have no counterpart."""

    def read(config: Mapping[str, str], partition: Mapping[str, Any], offset: Mapping[str, Any]) -> Position:
        del config, partition, offset
        raise Unplaced(WHY_NOT.get(plugin, "its form has no counterpart here"))

    return read


_Reader = Callable[[Mapping[str, str], Mapping[str, Any], Mapping[str, Any]], Position]

_READERS: Mapping[str, _Reader] = {
    "jdbc_source": _of_table,
    "mongodb_source": _of_oplog,
    "rocketmq_source": _of_queue,
}
