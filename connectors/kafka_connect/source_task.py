"""A source task of Kafka Connect in Java: see connectors.java.source_task. Where reading goes on comes with each record."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from connectors.java.machine import reason
from connectors.java.source_task import JavaSourceTask
from connectors.kafka_connect import stages
from connectors.kafka_connect.frames import Written, records_of
from connectors.kafka_connect.handles import Handles
from connectors.kafka_connect.jvm import Java, to_json
from connectors.kafka_connect.offsets import connector_context, offset_reader, partition_name
from connectors.kafka_connect.plugin import OfJava
from connectors.kafka_connect.topic_names import TopicNames
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.plugins.kafka_names import OFFSET
from rocketconnect_sdk.record import Position, Rejected, SourceBatch


class KafkaSourceTask(JavaSourceTask[Java]):
    """See the module."""

    def __init__(self, source: OfJava, config: Config, told: Mapping[str, str], context: TaskContext) -> None:
        super().__init__(source.connector.name, "something behind, such as a replication slot", told, context)
        self._source, self._config = source, config
        self._topics = TopicNames()

    def _opened(self) -> Java:
        java = self._source.java(self._config)
        self._stages = stages.made(java, self._config.own)
        self._prepare(java)
        return java

    def _watched(self, java: Java, connector: Any, told: Mapping[str, str], positions: Mapping[str, Position]) -> None:
        connector.initialize(connector_context(java, positions, self._context.replan))
        connector.start(java.strings(told))

    def _begun(self, java: Java, task: Any, positions: Mapping[str, Position]) -> None:
        reader = offset_reader(java, positions)
        properties = java.strings(self._told)
        methods = {
            "configs": lambda: properties,
            "offsetStorageReader": lambda: reader,
            "transactionContext": lambda: None,
            "pluginMetrics": lambda: None,
        }
        task.initialize(java.proxy("org.apache.kafka.connect.source.SourceTaskContext", methods))
        task.start(properties)
        self._committed = self._handles.committed(task, _metadata(java))

    def _batches(self, java: Java, polled: Any) -> Sequence[SourceBatch]:
        del java
        return [self._batch(entry.getKey(), entry.getValue()) for entry in polled.stream().collect(self._by_partition).entrySet()]

    def _confirm(self, records: Any) -> None:
        records.forEach(self._committed)

    def _ended(self) -> None:
        self._stages.close()

    def _prepare(self, java: Java) -> None:
        handles = self._handles = Handles(java.jpype)
        self._failed = java.jpype.JClass("java.util.IdentityHashMap")()
        self._bytes = java.jpype.JClass("java.io.ByteArrayOutputStream")(1 << 16)
        out = java.jpype.JClass("java.io.DataOutputStream")(self._bytes)
        self._writer = handles.writer(self._stages.key, self._stages.value, out, self._failed)
        self._chain = self._stages.chain(handles, self._failed)
        self._by_partition = handles.by_partition(java.jpype.JClass("java.util.Collections").emptyMap())

    def _batch(self, partition: Any, records: Any) -> SourceBatch:
        """Records of one partition, in their order, and where reading goes on behind them."""
        name = partition_name(partition)
        self._failed.clear()
        stream = records.stream()
        for step in self._chain:
            stream = stream.map(step).filter(self._handles.not_null)
        changed = stream.collect(self._handles.to_list)
        self._bytes.reset()
        changed.forEach(self._writer)
        written = self._with_rejected(changed, records_of(bytes(self._bytes.toByteArray())))
        if (offset := to_json(records.get(records.size() - 1).sourceOffset())) is not None:
            self._offsets[name] = offset
        batch = SourceBatch(
            name,
            [each.value for each, _ in written],
            [self._next() for _ in written],
            [each.key for each, _ in written] if any(each.key is not None for each, _ in written) else None,
            [None if each.time < 0 else each.time for each, _ in written],
            [headers for _, headers in written] if any(headers for _, headers in written) else None,
            [self._topics.of(each.topic) for each, _ in written],
            size=sum(len(each.value) for each, _ in written if isinstance(each.value, bytes)),
            resume={OFFSET: self._offsets.get(name)},
        )
        batch.end = self._next()
        self._waits(name, self._count, records)
        return batch

    def _with_rejected(self, records: Any, written: Any) -> list[tuple[Any, Mapping[str, str]]]:
        """Each record that was written, with its headers; a Rejected is the value of one that could not be."""
        if self._failed.isEmpty():
            each = list(written)
            return [(one, self._headers(records.get(index)) if one.headers else {}) for index, one in enumerate(each)]
        made: list[tuple[Any, Mapping[str, str]]] = []
        for record in records:
            error = self._failed.get(record)
            if error is None:
                one = next(written)
                made.append((one, self._headers(record) if one.headers else {}))
            else:
                made.append((Written(None, _rejected(record, error), str(record.topic() or ""), -1, 0), {}))  # type: ignore[arg-type]
        return made

    def _headers(self, record: Any) -> dict[str, str]:
        topic = record.topic()
        made = {}
        for header in record.headers():
            data = self._stages.header.fromConnectHeader(topic, header.key(), header.schema(), header.value())
            made[str(header.key())] = "" if data is None else bytes(data).decode(errors="backslashreplace")
        return made


def _metadata(java: Java) -> Any:
    """What commitRecord is told beside the record: of where it is now nothing, since that is no partition of Kafka."""
    partition = java.jpype.JClass("org.apache.kafka.common.TopicPartition")("", 0)
    return java.jpype.JClass("org.apache.kafka.clients.producer.RecordMetadata")(partition, -1, -1, -1, -1, -1)


def _rejected(record: Any, error: Any) -> Rejected:
    data = str(record.value()).encode(errors="backslashreplace")
    kind = str(error.getClass().getSimpleName())
    return Rejected(kind, reason(error), data[:65536], len(data), hashlib.sha256(data).hexdigest())
