"""RocketMQ's message trace of tasks: what sinks have made durable and sources have sent, so that RocketMQ's tools show them.

Nothing depends on it: it is written in the background, it is bounded, and what goes wrong is logged and left out.
"""

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from rocketconnect_sdk.wording.counts import counted
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import RocketMQError, TopicNotFound
from rocketmq_remoting.model import Message, SendReceipt
from rocketmq_remoting.protocol.properties import UniqueKeys
from rocketmq_remoting.protocol.trace import Consumption, Sending

if TYPE_CHECKING:
    # The format for Spark imports this, and needs nothing of a service.
    from services.executor.runtime.task_runtime import TaskRuntime

_GATHER_SECONDS = 1.0
"""A sink may write a thousand small batches a second: one message of the trace tells of many."""
_CLOSE_SECONDS = 2.0
_PAUSE_SECONDS = 30.0
"""So long nothing is tried after something went wrong; it is logged once in that time."""
_MOST_HELD = 100_000
"""Invariant 7: messages that wait to be told of, about 30 MB."""
_BODY_BYTES = 100_000
_KEYS_BYTES = 24_000
"""Of a message of the trace: RocketMQ's own clients allow 128 kB, and its properties may have 32,767 bytes."""

_ID = re.compile(rb"(?:\A|\x02)UNIQ_KEY\x01([^\x02]+)")
_KEYS = re.compile(rb"(?:\A|\x02)KEYS\x01([^\x02]+)")
_TAGS = re.compile(rb"(?:\A|\x02)TAGS\x01([^\x02]+)")
_REGION = re.compile(rb"(?:\A|\x02)MSG_REGION\x01([^\x02]+)")
_OFF = b"TRACE_ON\x01false"
"""Brokers with traceOn=false give their messages this: nothing is told of them."""


@dataclass(frozen=True, slots=True)
class Noted:
    """Messages of a part of a queue: of each its offset, its id and its keys.

    Attributes:
        region: Of the broker.
        messages: In their order.
    """

    region: str
    messages: Sequence[tuple[int, str, str]]

    def within(self, start: int, until: int) -> "Noted":
        """Those of a range of offsets."""
        messages = self.messages
        if not messages or (messages[0][0] >= start and messages[-1][0] < until):
            return self
        return Noted(self.region, [message for message in messages if start <= message[0] < until])


@dataclass(frozen=True, slots=True)
class _Written:
    """Messages that a sink was given at once.

    Attributes:
        until: Durable when the queue is, up to here.
        began: When they were read: monotonic time.
        noted: They.
        failed: Offsets of those that could not be written.
        ended: When they were durable: monotonic time.
    """

    until: int
    began: float
    noted: Noted
    failed: Collection[int] = ()
    ended: float = 0.0


def _found(what: re.Pattern[bytes], raw: bytes) -> str:
    found = what.search(raw)
    return found[1].decode(errors="replace") if found else ""


Context = tuple[str, str, str]
"""What is told of a message: its id, its keys, and the contexts as they are written."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of so many messages; `contexts` is called in the thread that writes."""

    count: int
    contexts: Callable[[], Iterable[Context]]


class TraceWriter:
    """Writes into the trace topic, in a thread of its own. For one thread.

    Args:
        client: RocketMQ.
        topic: The trace topic.
        log: For people: (level, message); called in another thread.
    """

    def __init__(self, client: Client, topic: str, log: Callable[[str, str], None]) -> None:
        self.client = client
        self.topic = topic
        self._log = log
        self._ahead = time.time() - time.monotonic()
        self._changed = threading.Condition()
        self._waiting: deque[Told] = deque()
        self._held = self._lost = 0
        self._closed = False
        self._paused_until = float("-inf")
        self._sent = 0
        self._thread: threading.Thread | None = None

    def milliseconds(self, moment: float) -> int:
        """A monotonic time in milliseconds since 1970."""
        return int((self._ahead + moment) * 1000)

    def hold(self, count: int) -> bool:
        """Takes room for what will be told of so many messages; False: there is none, they are left out."""
        with self._changed:
            has_room = self._held + count <= _MOST_HELD
            if has_room:
                self._held += count
            else:
                self._lost += count
            return has_room

    def put(self, told: Sequence[Told]) -> None:
        """Writes what is told of messages for which there is room."""
        if self._thread is None:
            # Not before: a start that fails would leave it behind.
            self._thread = threading.Thread(target=self._run, name="message trace", daemon=True)
            self._thread.start()
        with self._changed:
            self._waiting.extend(told)
            self._changed.notify()

    def close(self) -> None:
        """Writes what waits, if that is soon done, and ends."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._closed:
                    self._changed.wait_for(lambda: self._closed, _GATHER_SECONDS)
                told, self._waiting = self._waiting, deque()
                lost, self._lost = self._lost, 0
                closed = self._closed
            count = sum(one.count for one in told)
            self._write(told, count, lost)
            with self._changed:
                self._held -= count
            if closed:
                return

    def _write(self, told: Iterable[Told], count: int, lost: int) -> None:
        now = time.monotonic()
        if now < self._paused_until:
            return
        trouble = f"more than {_MOST_HELD:,} messages wait for it: {counted(lost, 'message')} left out" if lost else ""
        try:
            queues = self.client.queues(self.topic, writable=True)
            for body, keys in _messages(told):
                self.client.send(queues[self._sent % len(queues)], Message(body.encode(), keys=keys))
                self._sent += 1
        except TopicNotFound:
            trouble = (
                f"there is no topic {self.topic}: set traceTopicEnable=true in the configuration of the brokers and restart them, "
                "name their trace topic in message.trace.topic, or set message.trace=false"
            )
        except RocketMQError as error:
            trouble = f"{error}; up to {counted(count, 'message')} left out"
        except Exception as error:  # a defect here is no error of the task
            trouble = f"a defect: {error!r}"
        if trouble and not self._closed:
            self._paused_until = now + _PAUSE_SECONDS
            self._log("WARNING", f"the message trace is not written, on which no record depends: {trouble}")


def _messages(told: Iterable[Told]) -> Iterator[tuple[str, str]]:
    """The messages of the trace that tell this: bodies and keys."""
    parts: list[str] = []
    keys: dict[str, None] = {}
    body_size = keys_size = 0
    for message_id, words, part in (context for one in told for context in one.contexts()):
        new = [word for word in (message_id, *words.split()) if word not in keys]
        if sum(map(len, new)) > _KEYS_BYTES:
            new = [message_id]
        if parts and (body_size + len(part) > _BODY_BYTES or keys_size + sum(map(len, new)) > _KEYS_BYTES):
            yield "".join(parts), " ".join(keys)
            parts, keys, body_size, keys_size = [], {}, 0, 0
        parts.append(part)
        keys.update(dict.fromkeys(new))
        body_size += len(part)
        keys_size += sum(map(len, new)) + len(new)
    if parts:
        yield "".join(parts), " ".join(keys)


class MessageTrace:
    """Tells of the messages of one sink task. `note` is for the thread that reads, the others for the one that writes."""

    def __init__(self, writer: TraceWriter, group: str) -> None:
        """group: the consumer group of the sink."""
        self._writer = writer
        self._group = group
        self._requests = UniqueKeys()
        self._undurable: dict[str, deque[_Written]] = {}

    @classmethod
    def of(cls, runtime: "TaskRuntime", group: str) -> "MessageTrace | None":
        """For a task; None: its configuration does not want it, and nothing is done for a record."""
        writer = _writer_of(runtime)
        return None if writer is None else cls(writer, group)

    def note(self, batch: DecodedBatch, kept: Sequence[int] | None) -> Noted:
        """What is to be told of these messages once they are durable; kept: the indexes of those that go on; None: all."""
        if batch.queue.topic == self._writer.topic or not len(batch):
            # Each message of the trace would bring another one.
            return Noted("", ())
        raws = batch.raw_properties
        found: list[tuple[int, str, str]] = []
        for index in range(len(raws)) if kept is None else kept:
            raw = raws[index]
            if _OFF not in raw:
                found.append((batch.offsets[index], _found(_ID, raw) or batch[index].message_id, _found(_KEYS, raw)))
        return Noted(_found(_REGION, raws[0]), found)

    def written(self, queue: str, until: int, began: float, noted: Noted, failed: Collection[int] = ()) -> None:
        """The sink was given these messages, which are durable when the queue is, up to there.

        Args:
            queue: Of them.
            until: Up to where.
            began: When they were read: monotonic time.
            noted: They.
            failed: Offsets of those that could not be written.
        """
        if noted.messages and self._writer.hold(len(noted.messages)):
            self._undurable.setdefault(queue, deque()).append(_Written(until, began, noted, failed))

    def durable(self, ends: Mapping[str, int]) -> None:
        """Everything of these queues before an offset is durable."""
        now = time.monotonic()
        done: list[Told] = []
        for queue, end in ends.items():
            waits = self._undurable.get(queue, ())
            while waits and waits[0].until <= end:
                one = replace(waits.popleft(), ended=now)
                done.append(Told(len(one.noted.messages), partial(self._contexts, one)))
        if done:
            self._writer.put(done)

    def close(self) -> None:
        """Writes what waits, if that is soon done, and ends."""
        self._writer.close()

    def _contexts(self, one: _Written) -> Iterator[Context]:
        began, ended = map(self._writer.milliseconds, (one.began, one.ended))
        got = Consumption(one.noted.region, self._group, self._requests.next(), began, ended)
        told: set[str] = set()
        for offset, message_id, words in one.noted.messages:
            # On a batch topic a whole unit has one id.
            if message_id not in told:
                told.add(message_id)
                yield message_id, words, got.encode(message_id, words, success=offset not in one.failed)


class SendTrace:
    """Tells of what one source task has sent. For one thread."""

    def __init__(self, writer: TraceWriter) -> None:
        self._writer = writer

    @classmethod
    def of(cls, runtime: "TaskRuntime") -> "SendTrace | None":
        """For a task; None: its configuration does not want it, and nothing is done for a record."""
        writer = _writer_of(runtime)
        return None if writer is None else cls(writer)

    def confirmed(self, receipt: SendReceipt, properties: Sequence[bytes], bodies: Sequence[bytes], began: float) -> None:
        """These messages are in their queue; they were sent at this monotonic time."""
        if receipt.queue.topic != self._writer.topic and self._writer.hold(len(properties)):
            ended = time.monotonic()
            # Not the bodies: they may be large.
            sizes = list(map(len, bodies))
            self._writer.put([Told(len(properties), partial(self._contexts, receipt, properties, sizes, began, ended))])

    def close(self) -> None:
        """Writes what waits, if that is soon done, and ends."""
        self._writer.close()

    def _contexts(
        self, receipt: SendReceipt, properties: Sequence[bytes], sizes: Sequence[int], began: float, ended: float
    ) -> Iterator[Context]:
        topic, client = receipt.queue.topic, self._writer.client
        hosts = {broker.name: broker.master for broker in client.route(topic).brokers}
        took = int((ended - began) * 1000)
        sent = Sending(client.group, topic, hosts.get(receipt.queue.broker) or "", self._writer.milliseconds(began), took)
        ids = receipt.message_ids
        if len(ids) != len(properties):
            # A batch topic: one for each unit, and it is not told which messages are in which.
            yield from ((unit, "", sent.encode(unit, "", "", sum(sizes) // len(ids), unit)) for unit in ids)
            return
        for offset_id, raw, size in zip(ids, properties, sizes, strict=True):
            message_id, words = _found(_ID, raw) or offset_id, _found(_KEYS, raw)
            yield message_id, words, sent.encode(message_id, _found(_TAGS, raw), words, size, offset_id)


def _writer_of(runtime: "TaskRuntime") -> TraceWriter | None:
    config = runtime.config
    if not config["message.trace"]:
        return None
    return TraceWriter(runtime.client, config["message.trace.topic"], runtime.reporter.log)
