"""A source task of RocketMQ Connect in Java. Each record brings where reading goes on behind it, as a map.

Its offsets are (epoch, number), as those of the sources of Kafka Connect (connectors.kafka_connect.source_task): they say nothing
to Java, and records may come again.
"""

import hashlib
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from connectors.java.machine import raised, reason
from connectors.java.polling import Poller
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
from rocketconnect_sdk.source import SourceTask

_COMMIT_SECONDS = 5.0
"""How often the task hears of what is stored, also when that is nothing new."""
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


class PluginSourceTask(SourceTask):
    """See the module."""

    def __init__(self, source: OfPlugin, config: Config, told: Mapping[str, str], context: TaskContext) -> None:
        self._source, self._config, self._told, self._context = source, config, told, context
        self._java: PluginJava | None = None
        self._task: Any = None
        self._connector: Any = None
        self._poller: Poller | None = None
        self._failed: list[Any] = []
        self._count = time.monotonic_ns()
        self._offsets: dict[str, Any] = {}
        self._unconfirmed: dict[str, deque[tuple[int, Any]]] = {}
        self._commit_at = 0.0

    def start(self, positions: Mapping[str, Position]) -> None:
        """Starts Java's task, and with the first one the connector, which sees when another plan is due. See SourceTask."""
        if not self._context.stores:
            msg = f"{self._source.connector.name} can't be previewed: it may leave something behind in its system"
            raise PermanentError(msg)
        self.close()
        self._offsets = {partition: position.resume.get(OFFSET) for partition, position in positions.items()}
        java = self._java = self._source.java(self._config)
        self._reader = Reader(java)
        properties = java.key_values(self._told)
        reader = offset_reader(java, positions)
        methods = {
            "offsetStorageReader": lambda: reader,
            "getConnectorName": lambda: self._context.connector,
            "getTaskName": lambda: f"{self._context.connector}-{self._context.task}",
            "configs": lambda: properties,
        }
        try:
            if self._context.task == 0:
                connector = java.new(self._source.connector.name)
                connector.init(connector_context(java, self._context.replan, self._failed.append))
                connector.start(java.key_values({key: text for key, text in self._told.items() if key != "task.class"}))
                self._connector = connector
            self._task = java.new(self._told["task.class"])
            self._task.init(java.proxy("component.task.source.SourceTaskContext", methods))
            self._task.start(properties)
        except java.jpype.JException as error:
            raise raised(error) from error
        self._poller = Poller(java, self._task, self._context.log)

    def poll(self) -> Sequence[SourceBatch] | None:
        """What Java's poll gave, by partition. See SourceTask."""
        self._commit_when_due()
        if self._failed:
            raise PermanentError(reason(self._failed[0]))
        polled = self._poller.next() if self._poller is not None else None
        if polled is None:
            return None
        records: dict[str, list[Any]] = {}
        java = self._entered()
        for record in polled:
            if record is not None:
                position = record.getPosition()
                records.setdefault(name_of(java, position.getPartition() if position is not None else None), []).append(record)
        return [batch for partition, each in records.items() for batch in self._batches(partition, each)]

    @property
    def keep_alive_seconds(self) -> float:
        """So that acknowledgements go on while nothing is polled. See SourceTask."""
        return _COMMIT_SECONDS

    def keep_alive(self) -> None:
        """Acknowledges. See SourceTask."""
        self._commit_when_due()

    def committed(self, positions: Mapping[str, Position]) -> None:
        """Tells of each record that the topic has, then of all. See SourceTask."""
        java = self._entered()
        sent = java.known("java.util.HashMap")()
        sent.put("send.status", "SEND_OK")
        try:
            for partition, position in positions.items():
                waiting = self._unconfirmed.get(partition, deque())
                while waiting and (self._context.epoch, waiting[0][0]) <= position.offset:
                    self._task.commit(waiting.popleft()[1], sent)
            self._commit()
        except java.jpype.JException as error:
            raise raised(error) from error

    def close(self) -> None:
        """Stops Java's task. See SourceTask."""
        java, self._java = self._java, None
        if java is None:
            return
        poller, self._poller = self._poller, None
        if poller is not None:
            poller.end()
        task, self._task = self._task, None
        connector, self._connector = self._connector, None
        for each in (task, connector):
            try:
                if each is not None:
                    each.stop()
            except java.jpype.JException as error:
                self._context.log.warning("stopping %s: %s", self._source.connector.name, reason(error))
        if poller is not None:
            poller.end()
        self._unconfirmed.clear()
        self._failed = []

    def _entered(self) -> PluginJava:
        if self._java is None:
            msg = "the task was not started"
            raise RuntimeError(msg)
        return self._java

    def _batches(self, partition: str, records: Sequence[Any]) -> Iterator[SourceBatch]:
        """Records of one partition in their order; those of one schema that follow each other are one batch."""
        alike: list[_Read] = []
        for record in records:
            read = self._read(record)
            if alike and alike[0].schemas != read.schemas and not isinstance(read.value, Rejected):
                yield self._batch(partition, alike)
                alike = []
            alike.append(read)
        yield self._batch(partition, alike)

    def _batch(self, partition: str, records: Sequence[_Read]) -> SourceBatch:
        java = self._entered()
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
            self._unconfirmed.setdefault(partition, deque()).append((number, record.java))
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

    def _next(self) -> tuple[int, int]:
        self._count += 1
        return self._context.epoch, self._count

    def _commit_when_due(self) -> None:
        java = self._entered()
        if self._task is not None and time.monotonic() >= self._commit_at:
            try:
                self._commit()
            except java.jpype.JException as error:
                raise raised(error) from error

    def _commit(self) -> None:
        self._commit_at = time.monotonic() + _COMMIT_SECONDS
        self._task.commit()


def _rejected(record: Any, why: str) -> Rejected:
    data = str(record.getData()).encode(errors="backslashreplace")
    return Rejected("Unfit", why, data[:_SHOWN], len(data), hashlib.sha256(data).hexdigest())
