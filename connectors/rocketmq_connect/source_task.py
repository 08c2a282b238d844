"""A source task of RocketMQ Connect in Java. Each record brings where reading goes on behind it, as a map."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from connectors.java.machine import reason
from connectors.java.source_task import JavaSourceTask
from connectors.rocketmq_connect.api import PluginJava, texts_of
from connectors.rocketmq_connect.maps import connector_context, json_of, name_of, offset_reader
from connectors.rocketmq_connect.plugin import OfPlugin
from connectors.rocketmq_connect.reading import Reader
from connectors.rocketmq_connect.unfit import Unfit
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.plugins.kafka_names import OFFSET
from rocketconnect_sdk.record import Position, Rejected, SourceBatch
from rocketconnect_sdk.schema import Schema

_TOPIC = "topic"
"""The extension that names the topic of a record."""
_SHOWN = 65_536


class _Read(NamedTuple):
    """A record of Java as one of ours; its value may be a Rejected."""

    java: Any
    schemas: tuple[Schema | None, Schema | None]
    key: Any
    value: Any
    time: int | None
    extensions: Mapping[str, str]


class PluginSourceTask(JavaSourceTask[PluginJava]):
    """See the module."""

    def __init__(self, source: OfPlugin, config: Config, told: Mapping[str, str], context: TaskContext) -> None:
        super().__init__(source.connector.name, "something behind in its system", told, context)
        self._source, self._config = source, config
        self._failed: list[Any] = []

    def _opened(self) -> PluginJava:
        java = self._source.java(self._config)
        self._reader = Reader(java)
        self._sent = java.known("java.util.HashMap")()
        self._sent.put("send.status", "SEND_OK")
        return java

    def _watched(self, java: PluginJava, connector: Any, told: Mapping[str, str], positions: Mapping[str, Position]) -> None:
        del positions
        connector.init(connector_context(java, self._context.replan, self._failed.append))
        connector.start(java.key_values(told))

    def _begun(self, java: PluginJava, task: Any, positions: Mapping[str, Position]) -> None:
        properties = java.key_values(self._told)
        reader = offset_reader(java, positions)
        methods = {
            "offsetStorageReader": lambda: reader,
            "getConnectorName": lambda: self._context.connector,
            "getTaskName": lambda: f"{self._context.connector}-{self._context.task}",
            "configs": lambda: properties,
        }
        task.init(java.proxy("component.task.source.SourceTaskContext", methods))
        task.start(properties)

    def _check(self) -> None:
        if self._failed:
            raise PermanentError(reason(self._failed[0]))

    def _batches(self, java: PluginJava, polled: Any) -> Sequence[SourceBatch]:
        records: dict[str, list[Any]] = {}
        for record in polled:
            if record is not None:
                position = record.getPosition()
                records.setdefault(name_of(java, position.getPartition() if position is not None else None), []).append(record)
        return [batch for partition, each in records.items() for batch in self._of(java, partition, each)]

    def _confirm(self, records: Any) -> None:
        self._task.commit(records, self._sent)

    def _ended(self) -> None:
        self._failed = []

    def _of(self, java: PluginJava, partition: str, records: Sequence[Any]) -> Iterator[SourceBatch]:
        """Records of one partition in their order; those of one schema that follow each other are one batch."""
        alike: list[_Read] = []
        for record in records:
            read = self._read(record)
            if alike and alike[0].schemas != read.schemas and not isinstance(read.value, Rejected):
                yield self._batch(java, partition, alike)
                alike = []
            alike.append(read)
        yield self._batch(java, partition, alike)

    def _batch(self, java: PluginJava, partition: str, records: Sequence[_Read]) -> SourceBatch:
        for record in records:
            position = record.java.getPosition()
            offset = position.getOffset() if position is not None else None
            if offset is not None and offset.getOffset() is not None:
                self._offsets[partition] = json_of(java, offset.getOffset(), "an offset")
        schemas = next((record.schemas for record in records if not isinstance(record.value, Rejected)), (None, None))
        batch = SourceBatch(
            partition,
            [record.value for record in records],
            [self._next() for _ in records],
            [record.key for record in records] if any(record.key is not None for record in records) else None,
            [record.time for record in records],
            [record.extensions for record in records] if any(record.extensions for record in records) else None,
            [record.extensions.get(_TOPIC, "").strip() for record in records],
            schemas[1],
            schemas[0],
            size=sum(len(record.value) for record in records if isinstance(record.value, bytes | str)),
            resume={OFFSET: self._offsets.get(partition)},
        )
        for record, (_, number) in zip(records, batch.offsets, strict=True):
            self._waits(partition, number, record.java)
        return batch

    def _read(self, record: Any) -> _Read:
        time_, extensions = record.getTimestamp(), texts_of(record.getExtensions())
        told = None if time_ is None else int(time_), extensions
        try:
            key_schema, key = self._reader.value(record.getKeySchema(), record.getKey())
        except Unfit as error:
            return _Read(record, (None, None), None, _rejected(record, f"the key can't be read: {error}"), *told)
        try:
            schema, value = self._reader.value(record.getSchema(), record.getData())
        except Unfit as error:
            return _Read(record, (None, None), None, _rejected(record, str(error)), *told)
        return _Read(record, (key_schema, schema), key, value, *told)


def _rejected(record: Any, why: str) -> Rejected:
    data = str(record.getData()).encode(errors="backslashreplace")
    return Rejected("Unfit", why, data[:_SHOWN], len(data), hashlib.sha256(data).hexdigest())
