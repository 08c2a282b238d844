"""What RocketMQ's message trace tells of messages, and where they are stored."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocketmq_remoting.client import Client
from rocketmq_remoting.message import PulledMessage
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import UNIQUE_KEY
from rocketmq_remoting.protocol.trace import TRACE_TOPIC, Sent, decode_trace
from services.executor.topics.steps import Step, Told, steps

MOST_MESSAGES = 10
_INDEXED = 64
"""So many messages of a key a broker finds at most."""
_MOST_BYTES = 64 << 20
"""Invariant 7: of trace messages that are read for one answer."""


class TraceTopicMissing(Exception):
    """There is no such trace topic; the text says how to get one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which messages: those of a topic with a key, or with an id, stored at or after a time (milliseconds since 1970)."""

    topic: str
    key: str
    message_id: str
    since_ms: int
    trace_topic: str = TRACE_TOPIC


@dataclass(frozen=True, slots=True)
class Trace:
    """What is known of a message: its id, keys and tag, itself where it was found, and what happened to it, the oldest first."""

    message_id: str
    keys: str
    tags: str
    stored: PulledMessage | None
    steps: list[Step]

    @property
    def time_ms(self) -> int:
        """When it came to be known; 0: never."""
        if self.stored is not None:
            return self.stored.store_timestamp_ms
        return self.steps[0].time_ms if self.steps else 0


class TraceReader:
    """Answers one request. For one thread.

    Args:
        client: RocketMQ.
        asked: Which messages.
        until: Monotonic time after which nothing more is read.
    """

    def __init__(self, client: Client, asked: Asked, until: float) -> None:
        self._client = client
        self._asked = asked
        self._until = until
        self._bytes = 0
        self._pulled: dict[tuple[MessageQueue, int], Sequence[PulledMessage]] = {}
        """By place what was there: the same trace message is found by many keys."""
        self._read: dict[tuple[MessageQueue, int], tuple[list[Told], int]] = {}
        """By place the contexts of a trace message, and how many of its contexts are garbled."""
        self.trouble = ""
        """Why the answer may not be all; empty: it is."""

    @property
    def garbled(self) -> int:
        """How many contexts could not be read."""
        return sum(garbled for _, garbled in self._read.values())

    def traces(self) -> list[Trace]:
        """Return what is known of the messages, the oldest first.

        Raises:
            TraceTopicMissing: there is no trace topic.
            TopicNotFound, RocketMQError: see Lookup.find.
        """
        asked = self._asked
        if not self._client.topic_exists(asked.trace_topic):
            raise TraceTopicMissing(missing(asked.trace_topic))
        stored = {
            id_of(message): message for message in self._found(asked.topic, asked.message_id or asked.key) if self._is(message)
        }
        if asked.message_id:
            ids = {asked.message_id}
        else:
            ids = set(stored)
            for told in self._told(asked.key):
                context = told.context
                if isinstance(context, Sent) and context.topic == asked.topic and has_key(asked.key, context.keys):
                    ids.update(context.message_id.split(","))
        traces = sorted((self._trace(each, stored.get(each)) for each in ids), key=lambda trace: (trace.time_ms, trace.message_id))
        return [trace for trace in traces if trace.stored is not None or trace.steps][-MOST_MESSAGES:]

    def _is(self, message: PulledMessage) -> bool:
        """Whether it is one that is asked for: the index has hashes."""
        if self._asked.message_id:
            return id_of(message) == self._asked.message_id
        return has_key(self._asked.key, message.keys)

    def _trace(self, message_id: str, stored: PulledMessage | None) -> Trace:
        contexts = [told for told in self._told(message_id) if message_id in told.context.message_id.split(",")]
        sent = [told.context for told in contexts if isinstance(told.context, Sent)]
        keys = stored.keys if stored is not None else next((context.keys for context in sent), "")
        tags = stored.tags if stored is not None else next((context.tags for context in sent), "")
        return Trace(message_id, keys, tags, stored, steps(contexts))

    def _told(self, word: str) -> Iterator[Told]:
        """What trace messages that may have this word among their keys hold."""
        for message in self._found(self._asked.trace_topic, word):
            place = message.queue, message.queue_offset
            if place not in self._read:
                contexts, garbled = decode_trace(message.body)
                host = message.born_host.rpartition(":")[0].strip("[]")
                self._read[place] = [Told(context, host) for context in contexts], garbled
            yield from self._read[place][0]

    def _found(self, topic: str, words: str) -> Iterator[PulledMessage]:
        """Messages that may have these words among their keys."""
        places = self._client.lookup.find(topic, words.split(maxsplit=1)[0], since_ms=self._asked.since_ms, most=_INDEXED)
        if len(places) >= _INDEXED:
            self.trouble = f"a broker finds {_INDEXED} messages of {topic} by one key at most, the newest: there may be more"
        for queue, offset in places:
            if time.monotonic() > self._until or self._bytes > _MOST_BYTES:
                self.trouble = "there was no time to read more, or they are too large: ask for one message by its id"
                return
            yield from self._at(queue, offset)

    def _at(self, queue: MessageQueue, offset: int) -> Sequence[PulledMessage]:
        """The message of a place, if it is there, and no older than was asked for."""
        if (queue, offset) not in self._pulled:
            found = [each for each in self._client.pull(queue, offset, max_messages=1).messages if each.queue_offset == offset]
            self._bytes += sum(len(message.body) for message in found)
            # The times of the index are seconds.
            self._pulled[queue, offset] = [each for each in found if each.store_timestamp_ms >= self._asked.since_ms]
        return self._pulled[queue, offset]


def missing(trace_topic: str) -> str:
    """Say how there comes to be a trace topic."""
    return (
        f"there is no trace topic {trace_topic!r}. Set traceTopicEnable=true in the configuration of each broker, restart it, and "
        "switch the trace on in clients (Java: setEnableTrace(true) before start). What was sent before that has no trace. Is the "
        "trace topic another one? Name it: --trace-topic, or trace_topic of the request"
    )


def id_of(message: PulledMessage) -> str:
    """The id under which clients tell of a message."""
    return message.properties.get(UNIQUE_KEY) or message.message_id


def has_key(key: str, keys: str) -> bool:
    """Whether a key is one of these, or they are one."""
    return key == keys or key in keys.split()
