"""Bad records of a sink: counted, logged and, where a topic is configured, kept in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from rocketconnect_sdk.stages import Stage
from rocketmq_remoting.batch import encode_batch
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import decode_properties, encode_properties
from services.executor.runtime.errors.dead_letter import dead_letter
from services.executor.runtime.errors.failure import place_of
from services.executor.runtime.errors.left_out import leave_out
from services.executor.runtime.rocketmq.queue_map import queue_of_partition
from services.executor.runtime.sink.decode.part import BadRecord
from services.executor.runtime.task_runtime import TaskRuntime

_SEND_SECONDS = 5.0
_BATCH_BYTES = 1 << 20


class Origin(Protocol):
    """Says where a record comes from."""

    def place(self, record: BadRecord) -> str:
        """For people."""

    def properties(self, record: BadRecord) -> Mapping[str, str]:
        """For the properties of its dead letter, without their prefix."""


class InQueue:
    """Of a message.

    Args:
        clusters: The cluster of each broker, by name.
    """

    def __init__(self, clusters: Mapping[str, str]) -> None:
        self._clusters = clusters

    def place(self, record: BadRecord) -> str:
        """See Origin."""
        return record.place

    def properties(self, record: BadRecord) -> Mapping[str, str]:
        """See Origin: the queue a second time as what RocketMQ Connect calls it, a partition."""
        topic, broker, number = record.queue.rsplit("/", 2)
        where = {"topic": topic, "broker": broker, "queue": number, "partition": number, "offset": str(record.offset)}
        if record.row is not None:
            where["row"] = str(record.row)
        return {**where, "cluster.id": self._clusters.get(broker, "")}


class InSource:
    """Of a record of a direct task."""

    def place(self, record: BadRecord) -> str:
        """See Origin."""
        return place_of(record.queue, (record.offset,))

    def properties(self, record: BadRecord) -> Mapping[str, str]:
        """See Origin."""
        return {"source.partition": record.queue, "source.offset": str(record.offset)}


class SinkDeadLetters:
    """The dead letters of one sink task; at least once: after a crash a letter may be there twice.

    Args:
        runtime: What every task has.
        queues: Of the dead-letter topic; empty: there is none.
        body_limit: At most so many bytes of a message are kept.
        origin: Says where a record comes from.
        messages: Gives the bodies and encoded properties of messages: by queue and offsets. None: a refused record is kept as its
            value says.
        alone: Makes a message with one record of one that has several: see Converter.
    """

    def __init__(
        self,
        runtime: TaskRuntime,
        queues: Sequence[MessageQueue],
        body_limit: int,
        origin: Origin,
        messages: Callable[[str, Sequence[int]], Mapping[int, tuple[bytes, bytes]]] | None = None,
        alone: Callable[[bytes, int], bytes] | None = None,
    ) -> None:
        self._runtime = runtime
        self._queues = queues
        self._body_limit = body_limit
        self._origin = origin
        self._messages = messages
        self._alone = alone

    def send(self, records: Sequence[BadRecord]) -> None:
        """Returns when all of them are confirmed; see Attempts.insist for how long it tries."""
        metrics = self._runtime.reporter.metrics
        for record in records:
            leave_out(self._runtime.policy, self._runtime.reporter, record.failure, self._origin.place(record))
        if not self._queues:
            return
        by_queue: dict[str, list[BadRecord]] = {}
        for record in records:
            by_queue.setdefault(record.queue, []).append(record)
        for queue, mine in by_queue.items():
            target = self._queues[queue_of_partition(queue, len(self._queues))]
            for bodies, properties in self._batches(self._original(queue, mine)):
                send = partial(self._send, target, bodies, properties)
                self._runtime.attempts.insist("sending dead letters", send, drain=self._runtime.endpoints.limits.drain)
            metrics.dead_letters += len(mine)

    def _original(self, queue: str, records: Sequence[BadRecord]) -> Sequence[BadRecord]:
        """With the bytes of their messages: a sink sees values, and what they were made of is not kept."""
        refused = [record.offset for record in records if record.failure.stage is Stage.WRITE]
        if self._messages is None or not refused:
            return records
        read = partial(self._messages, queue, refused)
        found = self._runtime.attempts.insist("reading refused messages again", read, drain=self._runtime.endpoints.limits.drain)
        return [self._with_message(record, *found[record.offset]) if record.offset in found else record for record in records]

    def _send(self, queue: MessageQueue, bodies: Sequence[bytes], properties: Sequence[bytes]) -> None:
        lease = self._runtime.lease
        self._runtime.client.send_batch(queue, encode_batch(bodies, properties), _SEND_SECONDS, not_after=lease.until)

    def _batches(self, records: Sequence[BadRecord]) -> list[tuple[list[bytes], list[bytes]]]:
        spec = self._runtime.spec
        batches: list[tuple[list[bytes], list[bytes]]] = []
        held = _BATCH_BYTES
        for record in records:
            origin = {"connector.name": spec.connector, "task.id": str(spec.task), **self._origin.properties(record)}
            body, said = dead_letter(
                record.failure,
                origin,
                with_properties=self._runtime.policy.properties,
                body_limit=self._body_limit,
                original=decode_properties(record.raw_properties),
            )
            encoded = encode_properties(said)
            if held + len(body) + len(encoded) > _BATCH_BYTES:
                batches.append(([], []))
                held = 0
            batches[-1][0].append(body)
            batches[-1][1].append(encoded)
            held += len(body) + len(encoded)
        return batches

    def _with_message(self, record: BadRecord, body: bytes, raw_properties: bytes) -> BadRecord:
        if record.row is not None and self._alone is not None:
            body = self._alone(body, record.row)
        return replace(record, failure=record.failure.of_bytes(body), raw_properties=raw_properties)
