"""Connectors of RocketMQ Connect in a process of their own: see tests.connectors.kafka_connect.child, whose orders these are."""

from typing import Any

from rocketconnect_sdk.configuration.connector_options import parse_sink, parse_source
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.converters.json.schema import from_json, to_json
from rocketconnect_sdk.errors import ConnectorError, RecordRefused
from rocketconnect_sdk.plugins.loader import find
from rocketconnect_sdk.record import Rejected, SinkBatch
from rocketconnect_sdk.sink import BufferedSink
from rocketconnect_sdk.source import Source
from services.executor.secrets.resolving import resolve
from tests.connectors.kafka_connect import child


def source(order: dict[str, Any]) -> Any:
    """The batches of a source, until it has given so many records, from positions."""
    return [
        {
            "partition": batch.partition,
            "values": [f"Rejected {each.reason}" if isinstance(each, Rejected) else repr(each) for each in batch.values],
            "keys": batch.keys,
            "schema": None if batch.schema is None else to_json(batch.schema),
            "topics": batch.topics,
            "headers": batch.headers,
            "times": batch.timestamps_ms,
            "offsets": batch.offsets,
            "end": batch.offsets[-1],
            "resume": batch.resume,
        }
        for batch in child.batches_of(order)
    ]


def plan(order: dict[str, Any]) -> Any:
    """What the tasks of a source are told, as it is stored."""
    connector = find(order["config"]["connector.class"])
    assert isinstance(connector, Source)
    try:
        return list(connector.plan(resolve(parse_source(connector, order["config"])), 2, {}).tasks)
    except ConnectorError as error:
        return f"{type(error).__name__}: {error}"


def sink(order: dict[str, Any]) -> Any:
    """What a sink says of each batch of decoded values, and what is durable in the end."""
    connector = find(order["config"]["connector.class"])
    assert isinstance(connector, BufferedSink)
    config = resolve(parse_sink(connector, order["config"]))
    task = connector.open(config, connector.plan(config, 1).tasks[0], TaskContext())
    task.start()
    schema = from_json(order["schema"]) if "schema" in order else None
    said: list[object] = []
    for queue, offset, values in order["batches"]:
        size = len(values)
        columns: dict[str, Any] = {"keys": ["k"] * size, "timestamps_ms": [7] * size, "headers": [{"h": "x"}] * size}
        try:
            task.put(SinkBatch(queue, queue.partition("/")[0], values, range(offset, offset + size), schema=schema, **columns))
            said.append("")
        except RecordRefused as refusal:
            said.append({str(index): why for index, why in refusal.refused.items()})
        except ConnectorError as error:
            said.append(f"{type(error).__name__}: {error}")
    durable: list[object] = []
    for flush in (False, True):
        try:
            durable.append(dict(task.durable(flush)))
        except ConnectorError as error:
            durable.append(f"{type(error).__name__}: {error}")
    task.close()
    return [said, *durable]


def found(order: dict[str, Any]) -> Any:
    """Of which connector a name is."""
    return find(order["name"]).name


if __name__ == "__main__":
    child.main({**child.DO, "source": source, "plan": plan, "sink": sink, "found": found})
