"""RocketMQ's message trace of a sink: what it has made durable, written into the trace topic, so that RocketMQ's tools show it.

Nothing depends on it: it is written in the background, it is bounded, and what goes wrong is logged and left out.
"""

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rocketconnect_sdk.wording.counts import counted
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import RocketMQError, TopicNotFound
from rocketmq_remoting.model import Message
from rocketmq_remoting.protocol.properties import UniqueKeys
from rocketmq_remoting.protocol.trace import Consumption
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


class MessageTrace:
    """Tells of the messages of one sink task. `note` is for the thread that reads, the others for the one that writes.

    Args:
        client: RocketMQ.
        topic: The trace topic.
        group: The consumer group of the sink.
        log: For people: (level, message); called in another thread.
    """

    def __init__(self, client: Client, topic: str, group: str, log: Callable[[str, str], None]) -> None:
        self._client = client
        self._topic = topic
        self._group = group
        self._log = log
        self._requests = UniqueKeys()
        self._clock_ms = time.time() - time.monotonic()
        self._undurable: dict[str, deque[_Written]] = {}
        self._changed = threading.Condition()
        self._waiting: deque[_Written] = deque()
        self._held = self._lost = 0
        self._closed = False
        self._paused_until = float("-inf")
        self._sent = 0
        self._thread: threading.Thread | None = None

    @classmethod
    def of(cls, runtime: TaskRuntime, group: str) -> "MessageTrace | None":
        """For a task; None: its configuration does not want it, and nothing is done for a record."""
        config = runtime.config
        return cls(runtime.client, config["message.trace.topic"], group, runtime.reporter.log) if config["message.trace"] else None

    def note(self, batch: DecodedBatch, kept: Sequence[int] | None) -> Noted:
        """What is to be told of these messages once they are durable; kept: the indexes of those that go on; None: all."""
        if batch.queue.topic == self._topic or not len(batch):
            # Each message of the trace would bring another one.
            return Noted("", ())
        raws = batch.raw_properties
        region = _REGION.search(raws[0])
        found: list[tuple[int, str, str]] = []
        for index in range(len(raws)) if kept is None else kept:
            raw = raws[index]
            if _OFF in raw:
                continue
            known, keys = _ID.search(raw), _KEYS.search(raw)
            message_id = batch[index].message_id if known is None else known[1].decode(errors="replace")
            found.append((batch.offsets[index], message_id, keys[1].decode(errors="replace") if keys else ""))
        return Noted(region[1].decode(errors="replace") if region else "", found)

    def written(self, queue: str, until: int, began: float, noted: Noted, failed: Collection[int] = ()) -> None:
        """The sink was given these messages, which are durable when the queue is, up to there.

        Args:
            queue: Of them.
            until: Up to where.
            began: When they were read: monotonic time.
            noted: They.
            failed: Offsets of those that could not be written.
        """
        if not noted.messages:
            return
        with self._changed:
            if self._held + len(noted.messages) > _MOST_HELD:
                self._lost += len(noted.messages)
                return
            self._held += len(noted.messages)
        self._undurable.setdefault(queue, deque()).append(_Written(until, began, noted, failed))

    def durable(self, ends: Mapping[str, int]) -> None:
        """Everything of these queues before an offset is durable."""
        now = time.monotonic()
        done: list[_Written] = []
        for queue, end in ends.items():
            waits = self._undurable.get(queue, ())
            while waits and waits[0].until <= end:
                one = waits.popleft()
                done.append(_Written(one.until, one.began, one.noted, one.failed, now))
        if done:
            if self._thread is None:
                # Not before: a start that fails would leave it behind.
                self._thread = threading.Thread(target=self._run, name="message trace", daemon=True)
                self._thread.start()
            with self._changed:
                self._waiting.extend(done)
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
                done, self._waiting = self._waiting, deque()
                lost, self._lost = self._lost, 0
                closed = self._closed
            count = sum(len(one.noted.messages) for one in done)
            self._tell(done, count, lost)
            with self._changed:
                self._held -= count
            if closed:
                return

    def _tell(self, done: Iterable[_Written], count: int, lost: int) -> None:
        now = time.monotonic()
        if now < self._paused_until:
            return
        trouble = f"more than {_MOST_HELD:,} messages wait for it: {counted(lost, 'message')} left out" if lost else ""
        try:
            queues = self._client.queues(self._topic, writable=True)
            for body, keys in self._messages(done):
                self._client.send(queues[self._sent % len(queues)], Message(body.encode(), keys=keys))
                self._sent += 1
        except TopicNotFound:
            trouble = (
                f"there is no topic {self._topic}: set traceTopicEnable=true in the configuration of the brokers and restart them, "
                "name their trace topic in message.trace.topic, or set message.trace=false"
            )
        except RocketMQError as error:
            trouble = f"{error}; up to {counted(count, 'message')} left out"
        except Exception as error:  # a defect here is no error of the task
            trouble = f"a defect: {error!r}"
        if trouble and not self._closed:
            self._paused_until = now + _PAUSE_SECONDS
            self._log("WARNING", f"the message trace is not written, on which no record depends: {trouble}")

    def _messages(self, done: Iterable[_Written]) -> Iterator[tuple[str, str]]:
        """The messages of the trace that tell of these: bodies and keys."""
        parts: list[str] = []
        keys: dict[str, None] = {}
        body_size = keys_size = 0
        for one in done:
            began, ended = (int((self._clock_ms + at) * 1000) for at in (one.began, one.ended))
            got = Consumption(one.noted.region, self._group, self._requests.next(), began, ended)
            told: set[str] = set()
            for offset, message_id, words in one.noted.messages:
                if message_id in told:
                    # On a batch topic a whole unit has one id.
                    continue
                told.add(message_id)
                part = got.encode(message_id, words, success=offset not in one.failed)
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
