"""A source task in Java: its thread polls, and ours makes batches of what it has polled.

Where reading goes on is a map, stored with the end of each poll. Its offsets are (epoch, number): they say nothing to Java. Numbers
begin at the clock of the machine, which never goes back: a process that is begun again under the same epoch, on the same machine,
gives higher ones, and none of its records is taken for one that is there. Records may come again: at least once.
"""

import hashlib
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from connectors.java.machine import raised, reason
from connectors.java.polling import Poller
from connectors.kafka_connect import stages
from connectors.kafka_connect.frames import Written, records_of
from connectors.kafka_connect.handles import Handles
from connectors.kafka_connect.jvm import Java, to_json
from connectors.kafka_connect.offsets import connector_context, offset_reader, partition_name
from connectors.kafka_connect.plugin import OfJava
from connectors.kafka_connect.topic_names import TopicNames
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.plugins.kafka_names import OFFSET
from rocketconnect_sdk.record import Position, Rejected, SourceBatch
from rocketconnect_sdk.source import SourceTask

_COMMIT_SECONDS = 5.0
"""How often the task hears of what is stored, also when that is nothing new."""


class JavaSourceTask(SourceTask):
    """See the module."""

    def __init__(self, source: OfJava, config: Config, told: Mapping[str, str], context: TaskContext) -> None:
        self._source, self._config, self._told, self._context = source, config, told, context
        self._java: Java | None = None
        self._task: Any = None
        self._connector: Any = None
        self._poller: Poller | None = None
        self._count = time.monotonic_ns()
        self._topics = TopicNames()
        self._offsets: dict[str, Any] = {}
        self._unconfirmed: dict[str, deque[tuple[int, Any]]] = {}
        self._commit_at = 0.0

    def start(self, positions: Mapping[str, Position]) -> None:
        """Starts Java's task, and with the first one the connector, which sees when another plan is due. See SourceTask."""
        if not self._context.stores:
            msg = f"{self._source.connector.name} can't be previewed: it may leave something behind, such as a replication slot"
            raise PermanentError(msg)
        self._end()
        self._offsets = {partition: position.resume.get(OFFSET) for partition, position in positions.items()}
        java = self._java = self._source.java(self._config)
        self._stages = stages.made(java, self._config.own)
        self._prepare(java)
        reader = offset_reader(java, positions)
        properties = java.strings(self._told)
        methods = {
            "configs": lambda: properties,
            "offsetStorageReader": lambda: reader,
            "transactionContext": lambda: None,
            "pluginMetrics": lambda: None,
        }
        try:
            if self._context.task == 0:
                connector = java.new(self._source.connector.name)
                connector.initialize(connector_context(java, positions, self._context.replan))
                connector.start(java.strings({key: text for key, text in self._told.items() if key != "task.class"}))
                self._connector = connector
            self._task = java.new(self._told["task.class"])
            self._task.initialize(java.proxy("org.apache.kafka.connect.source.SourceTaskContext", methods))
            self._task.start(properties)
        except java.jpype.JException as error:
            raise raised(error) from error
        self._committed = self._handles.committed(self._task, _metadata(java))
        self._poller = Poller(java, self._task, self._context.log)

    def poll(self) -> Sequence[SourceBatch] | None:
        """What Java's poll gave, by partition. See SourceTask."""
        self._commit_when_due()
        polled = self._poller.next() if self._poller is not None else None
        if polled is None:
            return None
        batches: list[SourceBatch] = []
        for entry in polled.stream().collect(self._by_partition).entrySet():
            batches += self._batches(entry.getKey(), entry.getValue())
        return batches

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
        try:
            for partition, position in positions.items():
                waiting = self._unconfirmed.get(partition, deque())
                while waiting and (self._context.epoch, waiting[0][0]) <= position.offset:
                    waiting.popleft()[1].forEach(self._committed)
            self._commit()
        except java.jpype.JException as error:
            raise raised(error) from error

    def close(self) -> None:
        """Stops Java's task. See SourceTask."""
        self._end()

    def _prepare(self, java: Java) -> None:
        handles = self._handles = Handles(java.jpype)
        self._failed = java.jpype.JClass("java.util.IdentityHashMap")()
        self._bytes = java.jpype.JClass("java.io.ByteArrayOutputStream")(1 << 16)
        out = java.jpype.JClass("java.io.DataOutputStream")(self._bytes)
        self._writer = handles.writer(self._stages.key, self._stages.value, out, self._failed)
        self._chain = self._stages.chain(handles, self._failed)
        self._by_partition = handles.by_partition(java.jpype.JClass("java.util.Collections").emptyMap())

    def _entered(self) -> Java:
        if self._java is None:
            msg = "the task was not started"
            raise RuntimeError(msg)
        return self._java

    def _batches(self, partition: Any, records: Any) -> list[SourceBatch]:
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
        if self._context.stores:
            self._unconfirmed.setdefault(name, deque()).append((self._count, records))
        return [batch]

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

    def _next(self) -> tuple[int, int]:
        self._count += 1
        return self._context.epoch, self._count

    def _commit_when_due(self) -> None:
        java = self._entered()
        if self._context.stores and self._task is not None and time.monotonic() >= self._commit_at:
            try:
                self._commit()
            except java.jpype.JException as error:
                raise raised(error) from error

    def _commit(self) -> None:
        self._commit_at = time.monotonic() + _COMMIT_SECONDS
        self._task.commit()

    def _end(self) -> None:
        java = self._java
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
        self._stages.close()
        self._java = None
        self._unconfirmed.clear()


def _metadata(java: Java) -> Any:
    """What commitRecord is told beside the record: of where it is now nothing, since that is no partition of Kafka."""
    partition = java.jpype.JClass("org.apache.kafka.common.TopicPartition")("", 0)
    return java.jpype.JClass("org.apache.kafka.clients.producer.RecordMetadata")(partition, -1, -1, -1, -1, -1)


def _rejected(record: Any, error: Any) -> Rejected:
    data = str(record.value()).encode(errors="backslashreplace")
    kind = str(error.getClass().getSimpleName())
    return Rejected(kind, reason(error), data[:65536], len(data), hashlib.sha256(data).hexdigest())
