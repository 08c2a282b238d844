"""A sink task of RocketMQ Connect in Java. Positions move to what its preCommit, which flushes, says is durable."""

import time
from collections.abc import Mapping
from typing import Any

from connectors.java.log import JAVA_LOG
from connectors.java.machine import raised, reason
from connectors.rocketmq_connect.api import PluginJava
from connectors.rocketmq_connect.plugin import OfPlugin
from connectors.rocketmq_connect.unfit import Unfit
from connectors.rocketmq_connect.writing import Writer
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RecordRefused, RetriableError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import BufferedSinkTask, FlushPolicy, QueuePosition

_COMMIT_SECONDS = 10.0
_UNLIMITED = 1 << 50
"""What is not durable is held by Java, which knows its own limits."""
_TOPIC, _BROKER, _QUEUE, _OFFSET = "topic", "brokerName", "queueId", "queueOffset"


class PluginSinkTask(BufferedSinkTask):
    """See the module."""

    def __init__(self, sink: OfPlugin, config: Config, told: Mapping[str, str], context: TaskContext) -> None:
        self._sink, self._config, self._told, self._context = sink, config, told, context
        self._java: PluginJava | None = None
        self._task: Any = None
        self._given: dict[str, int] = {}
        self._paused: set[str] = set()
        self._refused: list[tuple[Any, str]] = []
        self._wanted = ""
        self._commit_at = 0.0

    @property
    def flush(self) -> FlushPolicy:
        """Its own time: see durable. See SinkTask."""
        return FlushPolicy(bytes=_UNLIMITED)

    def start(self) -> Mapping[str, QueuePosition]:
        """Starts Java's task, which stores no positions for us. See SinkTask."""
        self.close()
        java = self._java = self._sink.java(self._config)
        JAVA_LOG.follow(self._context.log)
        self._writer = Writer(java)
        self._given, self._paused, self._refused, self._wanted = {}, set(), [], ""
        self._commit_at = time.monotonic() + _COMMIT_SECONDS
        properties = java.key_values(self._told)
        try:
            self._task = java.new(self._told["task.class"])
            self._task.init(self._task_context(java, properties))
            self._task.start(properties)
        except java.jpype.JException as error:
            raise raised(error) from error
        return {}

    def put(self, batch: SinkBatch) -> None:
        """Gives records to Java. See BufferedSinkTask."""
        java = self._entered()
        nothing = java.known("java.util.ArrayList")()
        self._refuse_late()
        if not len(batch):
            self._call(java, nothing)
            return self._refuse_late()
        if batch.queue in self._paused:
            # Whoever has paused a queue is given time, and says when it goes on.
            self._call(java, nothing)
            self._refuse_late()
            if batch.queue in self._paused:
                msg = f"{self._sink.connector.name} takes no records of {batch.queue} now"
                raise RetriableError(msg, wait=1)
        self._given.setdefault(batch.queue, 0)
        records, places, refused = self._records(java, batch)
        try:
            self._call(java, records)
        finally:
            # Also where the batch was not taken: it is given again, and what is bad in it is reported again.
            reported, self._refused = self._refused, []
            for record, why in reported:
                place = places.get(record)
                if place is None:
                    self._refused.append((record, why))
                else:
                    refused[int(place)] = why
        self._given[batch.queue] = batch.offsets[-1] + 1
        self._refuse_late()
        if refused:
            raise RecordRefused(refused, None)
        return None

    def durable(self, flush: bool) -> Mapping[str, int]:
        """What preCommit says. See BufferedSinkTask."""
        java = self._entered()
        self._refuse_late()
        if not any(self._given.values()) or not (flush or time.monotonic() >= self._commit_at):
            return {}
        self._commit_at = time.monotonic() + _COMMIT_SECONDS
        offsets = java.known("java.util.HashMap")()
        for queue, offset in self._given.items():
            if offset:
                offsets.put(_partition(java, queue), _offset(java, offset))
        try:
            done = self._task.preCommit(offsets)
        except java.jpype.JException as error:
            raise raised(error) from error
        self._refuse_late()
        reached = {}
        for entry in done.entrySet() if done is not None else ():
            queue = _queue(entry.getKey())
            stored = entry.getValue().getOffset().get(_OFFSET) if entry.getValue() is not None else None
            if queue in self._given and stored is not None:
                reached[queue] = min(int(str(stored)), self._given[queue])
        return reached

    def close(self) -> None:
        """Stops Java's task. See SinkTask."""
        java, self._java = self._java, None
        task, self._task = self._task, None
        if java is not None and task is not None:
            try:
                task.stop()
            except java.jpype.JException as error:
                self._context.log.warning("stopping %s: %s", self._sink.connector.name, reason(error))
        JAVA_LOG.leave(self._context.log)

    def _entered(self) -> PluginJava:
        if self._java is None or self._task is None:
            msg = "the task was not started"
            raise RuntimeError(msg)
        return self._java

    def _refuse_late(self) -> None:
        """A record that was taken can't become a dead letter any more: nothing moves beyond it."""
        for record, why in self._refused:
            position = record.getPosition()
            where = str(position.getPartition()) + str(position.getOffset()) if position is not None else "a place unknown"
            msg = f"{self._sink.connector.name} refuses a record that it has taken before, at {where}: {why}"
            raise PermanentError(msg)

    def _call(self, java: PluginJava, records: Any) -> None:
        try:
            self._task.put(records)
        except java.jpype.JException as error:
            raise raised(error) from error
        if self._wanted:
            raise PermanentError(self._wanted)

    def _records(self, java: PluginJava, batch: SinkBatch) -> tuple[Any, Any, dict[int, str]]:
        """A list of ConnectRecords, the index of each in the batch, and what can't be one of them, by index."""
        records, places = java.known("java.util.ArrayList")(), java.known("java.util.IdentityHashMap")()
        partition, refused = _partition(java, batch.queue), dict[int, str]()
        for index, (value, offset) in enumerate(zip(batch.values, batch.offsets, strict=True)):
            try:
                key = self._writer.value(None, batch.keys[index]) if batch.keys is not None else (None, None)
                written = self._writer.value(batch.schema, value)
            except Unfit as error:
                refused[index] = str(error)
                continue
            time_ = batch.timestamps_ms[index] if batch.timestamps_ms is not None else None
            told = None if time_ is None else java.known("java.lang.Long")(time_)
            record = java.api("data.ConnectRecord")(partition, _offset(java, offset), told, *key, *written)
            if batch.headers is not None:
                record.setExtensions(java.key_values(batch.headers[index]))
            records.add(record)
            places.put(record, index)
        return records, places, refused

    def _task_context(self, java: PluginJava, properties: Any) -> Any:
        def go_back(*places: Any) -> None:
            self._wanted = (
                f"{self._sink.connector.name} wants to read from {', '.join(map(str, places))}, and offsets that a sink keeps "
                "itself are not supported"
            )

        def pause(partitions: Any) -> None:
            self._paused.update(map(_queue, partitions or ()))

        def resume(partitions: Any) -> None:
            self._paused.difference_update(map(_queue, partitions or ()))

        def assignment() -> Any:
            known = java.known("java.util.HashSet")()
            for queue in self._given:
                known.add(_partition(java, queue))
            return known

        def report(record: Any, error: Any) -> None:
            self._refused.append((record, reason(error) if error is not None else "reported without a reason"))

        reporter = java.proxy("component.task.sink.ErrorRecordReporter", {"report": report})
        methods = {
            "getConnectorName": lambda: self._context.connector,
            "getTaskName": lambda: f"{self._context.connector}-{self._context.task}",
            "configs": lambda: properties,
            "resetOffset": go_back,
            "pause": pause,
            "resume": resume,
            "assignment": assignment,
            "errorRecordReporter": lambda: reporter,
        }
        return java.proxy("component.task.sink.SinkTaskContext", methods)


def _partition(java: PluginJava, queue: str) -> Any:
    topic, broker, number = queue.split("/")
    made = java.known("java.util.HashMap")()
    for key, text in ((_TOPIC, topic), (_BROKER, broker), (_QUEUE, number)):
        made.put(key, java.jpype.JString(text))
    return java.api("data.RecordPartition")(made)


def _offset(java: PluginJava, offset: int) -> Any:
    made = java.known("java.util.HashMap")()
    made.put(_OFFSET, java.jpype.JString(str(offset)))
    return java.api("data.RecordOffset")(made)


def _queue(partition: Any) -> str:
    known = partition.getPartition()
    return "/".join(str(known.get(key)) for key in (_TOPIC, _BROKER, _QUEUE))
