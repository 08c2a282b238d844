"""A sink task in Java. Positions move to what its preCommit says is durable: it is asked about each offset.flush.interval.ms."""

import time
from collections.abc import Mapping
from typing import Any

from connectors.java.log import JAVA_LOG
from connectors.java.machine import raised, reason
from connectors.kafka_connect import stages
from connectors.kafka_connect.handles import Handles
from connectors.kafka_connect.jvm import Java
from connectors.kafka_connect.plugin import OfJava
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RecordRefused, RetriableError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import BufferedSinkTask, FlushPolicy, QueuePosition

INTERVAL = "offset.flush.interval.ms"
_UNLIMITED = 1 << 50
"""What is not durable is held by Java, which knows its own limits: Kafka Connect does not look at it either."""
_PART = 10_000
"""So many records go into Java at once."""


class JavaSinkTask(BufferedSinkTask):
    """See the module."""

    def __init__(self, sink: OfJava, config: Config, told: Mapping[str, str], context: TaskContext) -> None:
        self._sink, self._config, self._told, self._context = sink, config, told, context
        self._java: Java | None = None
        self._task: Any = None
        self._queues: dict[tuple[str, int], str] = {}
        self._given: dict[str, int] = {}
        self._paused: set[tuple[str, int]] = set()
        self._waits: list[float] = []
        self._refused: dict[tuple[str, int, int], str] = {}
        self._wanted: str = ""
        self._commit_at = 0.0
        self._wants_commit = False

    @property
    def flush(self) -> FlushPolicy:
        """Its own time: see durable. See SinkTask."""
        return FlushPolicy(bytes=_UNLIMITED)

    def start(self) -> Mapping[str, QueuePosition]:
        """Starts Java's task, which stores no positions for us. See SinkTask."""
        self.close()
        java = self._sink.java(self._config)
        self._stages = stages.made(java, self._config.own)
        self._java = java
        JAVA_LOG.follow(self._context.log)
        self._handles = Handles(java.jpype)
        self._queues, self._given, self._paused, self._refused = {}, {}, set(), {}
        self._commit_at = time.monotonic() + self._interval
        properties = java.strings(self._told)
        try:
            self._task = java.new(self._told["task.class"])
            self._task.initialize(self._task_context(java, properties))
            self._task.start(properties)
        except java.jpype.JException as error:
            raise raised(error) from error
        return {}

    def put(self, batch: SinkBatch) -> None:
        """Gives records to Java. See BufferedSinkTask."""
        java = self._entered()
        nothing = java.jpype.JClass("java.util.Collections").emptyList()
        self._refuse_late()
        if not len(batch):
            self._call(java, nothing)
            return self._refuse_late()
        partition = self._partition(java, batch.queue)
        if partition in self._paused:
            # Whoever has paused a queue is given time, and says when it goes on.
            self._call(java, nothing)
            self._refuse_late()
            if partition in self._paused:
                msg = f"{self._sink.connector.name} takes no records of {batch.queue} now"
                raise RetriableError(msg, wait=1)
        records, refused = self._records(java, batch, partition)
        try:
            self._call(java, records)
        finally:
            # Also where the batch was not taken: it is given again, and what is bad in it is reported again.
            for index, offset in enumerate(batch.offsets if self._refused else ()):
                if (why := self._refused.pop((*partition, offset), None)) is not None:
                    refused[index] = why
        self._given[batch.queue] = batch.offsets[-1] + 1
        self._refuse_late()
        if refused:
            raise RecordRefused(refused, None)
        return None

    def _refuse_late(self) -> None:
        """A record that was taken can't become a dead letter any more: nothing moves beyond it."""
        for (topic, number, offset), why in list(self._refused.items()):
            msg = f"{self._sink.connector.name} refuses a record that it has taken before, at {topic}/{number}/{offset}: {why}"
            raise PermanentError(msg)

    def durable(self, flush: bool) -> Mapping[str, int]:
        """What preCommit says. See BufferedSinkTask."""
        java = self._entered()
        self._refuse_late()
        if not any(self._given.values()) or not (flush or self._wants_commit or time.monotonic() >= self._commit_at):
            return {}
        self._wants_commit = False
        self._commit_at = time.monotonic() + self._interval
        offsets = java.jpype.JClass("java.util.HashMap")()
        for (topic, number), queue in self._queues.items():
            if self._given.get(queue):
                metadata = java.jpype.JClass("org.apache.kafka.clients.consumer.OffsetAndMetadata")(self._given[queue])
                offsets.put(_topic_partition(java, topic, number), metadata)
        try:
            done = self._task.preCommit(offsets)
        except java.jpype.JException as error:
            raise raised(error) from error
        reached = {}
        for entry in done.entrySet() if done is not None else ():
            queue = self._queues.get((str(entry.getKey().topic()), int(entry.getKey().partition())), "")
            if queue in self._given:
                reached[queue] = min(int(entry.getValue().offset()), self._given[queue])
        return reached

    def close(self) -> None:
        """Closes the queues, and stops Java's task. See SinkTask."""
        java, self._java = self._java, None
        if java is None:
            return
        task, self._task = self._task, None
        partitions = java.jpype.JClass("java.util.ArrayList")()
        for topic, number in self._queues:
            partitions.add(_topic_partition(java, topic, number))
        if task is not None:
            for end in (lambda: task.close(partitions), task.stop):
                try:
                    end()
                except java.jpype.JException as error:
                    self._context.log.warning("stopping %s: %s", self._sink.connector.name, reason(error))
        self._stages.close()
        JAVA_LOG.leave(self._context.log)

    @property
    def _interval(self) -> float:
        return float(self._config.raw.get(INTERVAL, "10000")) / 1000

    def _entered(self) -> Java:
        if self._java is None or self._task is None:
            msg = "the task was not started"
            raise RuntimeError(msg)
        return self._java

    def _partition(self, java: Java, queue: str) -> tuple[str, int]:
        """The partition of Kafka that a queue is to Java; told of it when it is met first."""
        topic, _, number = queue.split("/")
        partition = topic, int(number)
        known = self._queues.setdefault(partition, queue)
        if known != queue:
            msg = (
                f"the queues {known} and {queue} of two brokers would both be partition {number} of {topic} to "
                f"{self._sink.connector.name}, which tells records apart by it: topics on one broker can be read"
            )
            raise PermanentError(msg)
        if queue not in self._given:
            try:
                self._task.open(java.jpype.JClass("java.util.List").of(_topic_partition(java, *partition)))
            except java.jpype.JException as error:
                raise raised(error) from error
            self._given[queue] = 0
        return partition

    def _call(self, java: Java, records: Any) -> None:
        self._waits.clear()
        try:
            self._task.put(records)
        except java.jpype.JException as error:
            found = raised(error)
            if isinstance(found, RetriableError) and self._waits:
                found.wait = self._waits[-1]
            raise found from error
        if self._wanted:
            raise PermanentError(self._wanted)

    def _records(self, java: Java, batch: SinkBatch, partition: tuple[str, int]) -> tuple[Any, dict[int, str]]:
        """A list of SinkRecords behind the transformations, and what can't be one of them, by index."""
        whole = java.jpype.JClass("java.util.ArrayList")()
        bad: dict[int, str] = {}
        for begin in range(0, len(batch), _PART):
            part = batch.slice(begin, begin + _PART)
            made = self._part(java, part, partition, bad, begin)
            whole.addAll(made)
        return whole, bad

    def _part(self, java: Java, batch: SinkBatch, partition: tuple[str, int], bad: dict[int, str], begin: int) -> Any:
        jpype, size = java.jpype, len(batch)
        row = jpype.JArray(jpype.JByte)
        columns = [jpype.JArray(row)(size) for _ in range(2)]
        for column, texts in zip(columns, (batch.keys, batch.values), strict=True):
            for index, text in enumerate(texts or ()):
                if text is not None:
                    column[index] = row(text if isinstance(text, bytes) else str(text).encode())
        times = [-1 if time is None else time for time in batch.timestamps_ms or [-1] * size]
        numbers = [jpype.JArray(jpype.JLong)(list(each)) for each in (batch.offsets, times)]
        unread = jpype.JClass("java.util.HashMap")()
        failed = jpype.JClass("java.util.IdentityHashMap")()
        make = self._handles.maker(*partition, self._stages.key, self._stages.value, (*columns, *numbers), unread)
        records = jpype.JClass("java.util.stream.IntStream").range(0, size).mapToObj(make).collect(self._handles.to_list)
        for index, headers in enumerate(batch.headers or ()):
            if headers and records.get(index) is not None:
                self._add_headers(records.get(index), headers)
        stream = records.stream().filter(self._handles.not_null)
        for step in self._stages.chain(self._handles, failed):
            stream = stream.map(step).filter(self._handles.not_null)
        changed = stream.collect(self._handles.to_list)
        bad.update({begin + int(entry.getKey()): reason(entry.getValue()) for entry in unread.entrySet()})
        if failed.isEmpty():
            return changed
        places = {offset: index for index, offset in enumerate(batch.offsets)}
        left = jpype.JClass("java.util.ArrayList")()
        for record in changed:
            if (error := failed.get(record)) is None:
                left.add(record)
            else:
                bad[begin + places[int(record.originalKafkaOffset())]] = reason(error)
        return left

    def _add_headers(self, record: Any, headers: Mapping[str, str]) -> None:
        for name, text in headers.items():
            read = self._stages.header.toConnectHeader(record.topic(), name, text.encode())
            record.headers().add(name, read)

    def _task_context(self, java: Java, properties: Any) -> Any:
        def wait(milliseconds: Any) -> None:
            self._waits.append(int(milliseconds) / 1000)

        def go_back(*places: Any) -> None:
            self._wanted = (
                f"{self._sink.connector.name} wants to read from {', '.join(map(str, places))}, and offsets that a sink keeps "
                "itself are not supported"
            )

        def pause(*partitions: Any) -> None:
            self._paused.update(_places(partitions))

        def resume(*partitions: Any) -> None:
            self._paused.difference_update(_places(partitions))

        def request_commit() -> None:
            self._wants_commit = True

        def assignment() -> Any:
            known = java.jpype.JClass("java.util.HashSet")()
            for topic, number in self._queues:
                known.add(_topic_partition(java, topic, number))
            return known

        def report(record: Any, error: Any) -> Any:
            place = str(record.originalTopic()), int(record.originalKafkaPartition()), int(record.originalKafkaOffset())
            self._refused[place] = reason(error)
            return java.jpype.JClass("java.util.concurrent.CompletableFuture").completedFuture(None)

        reporter = None
        if self._config["errors.tolerance"] == "all":
            reporter = java.proxy("org.apache.kafka.connect.sink.ErrantRecordReporter", {"report": report})
        methods = {
            "configs": lambda: properties,
            "offset": go_back,
            "timeout": wait,
            "assignment": assignment,
            "pause": pause,
            "resume": resume,
            "requestCommit": request_commit,
            "errantRecordReporter": lambda: reporter,
            "pluginMetrics": lambda: None,
        }
        return java.proxy("org.apache.kafka.connect.sink.SinkTaskContext", methods)


def _topic_partition(java: Java, topic: str, number: int) -> Any:
    return java.jpype.JClass("org.apache.kafka.common.TopicPartition")(topic, number)


def _places(partitions: Any) -> list[tuple[str, int]]:
    """Of TopicPartitions, which come one by one or as one array."""
    flat = partitions[0] if len(partitions) == 1 and not hasattr(partitions[0], "topic") else partitions
    return [(str(each.topic()), int(each.partition())) for each in flat]
