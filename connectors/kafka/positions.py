"""The notes of a connector (rocketconnect_sdk.writes.notes) in a compacted topic of one partition."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, TopicPartition
from confluent_kafka.admin import OffsetSpec

from connectors.kafka.client import Client, admin_of, consumer_of, made_of, results
from connectors.kafka.log import CONSUMING
from connectors.kafka.topics import Topics
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.writes.notes import PLAN, plan_of

_AT_ONCE = 500
_WAIT_SECONDS = 0.2
_CONSUMING = {**CONSUMING, "isolation.level": "read_committed", "auto.offset.reset": "earliest", "fetch.wait.max.ms": 10}
_MADE = {
    "cleanup.policy": "compact",
    # What is compacted is what lies in closed segments: small ones keep what is read at a start small.
    "segment.bytes": str(16 << 20),
    "min.cleanable.dirty.ratio": "0.1",
}
_RIGHTS = (
    "Give the user the rights Read and Write on the topic of positions: kafka-acls --add --allow-principal User:NAME --operation "
    "Read --operation Write --topic TOPIC"
)


class HeldBackError(SystemAway):
    """A transaction is open before the end."""


class Positions:
    """The notes of one connector: keys are UID/NAME, and the last text of a key is the note.

    There are notes of tasks alone, so that who owns a task owns its note: what they say of the plan is the note PLAN.

    Args:
        config: That of a sink.
        connector_uid: Whose.
    """

    def __init__(self, config: Config, connector_uid: str) -> None:
        self.topic: str = config["positions.topic"]
        self._own = f"{connector_uid}/"
        with made_of(config):
            self._admin = Client(config, admin_of, rights=_RIGHTS)
            self._consumer = Client(config, consumer_of, _CONSUMING, rights=_RIGHTS)
        self._texts: dict[str, str] = {}
        self._place = 0

    def make(self, topics: Topics) -> None:
        """Makes the topic, if it is not there."""
        if not isinstance(topics.described([self.topic])[self.topic], int):
            topics.make(self.topic, 1, _MADE)

    def key(self, name: str) -> bytes:
        """What a note is written under."""
        return f"{self._own}{name}".encode()

    @property
    def texts(self) -> Mapping[str, str]:
        """The notes as they were read."""
        plan = plan_of(self._texts)
        return self._texts if plan is None else {**self._texts, PLAN: plan}

    def keep(self, notes: Mapping[str, str]) -> None:
        """Notes that were written now."""
        self._texts.update(notes)

    def read(self, seconds: float = 0.0) -> Sequence[str]:
        """Reads on up to what is the end now; the names of the notes that came.

        Args:
            seconds: So long it waits for the end of transactions of others; 0: as long as an answer may take.

        Raises:
            SystemAway: the cluster does not answer.
            HeldBackError: somebody's transaction stays open before the end.
        """
        end, came = self._end(), list[str]()
        until = time.monotonic() + (seconds or self._consumer.seconds)
        if self._place < end:
            self._consumer.own.assign([TopicPartition(self.topic, 0, self._place)])
        while self._place < end:
            if (message := self._consumer.own.poll(_WAIT_SECONDS)) is not None:
                for each in (message, *self._consumer.own.consume(_AT_ONCE, 0)):
                    self._take(each, came)
            if (error := self._consumer.away()) is not None:
                raise self._consumer.trouble(error)
            if self._place < end and time.monotonic() > until:
                what = f"{self.topic} can be read up to {self._place} of {end}: a transaction of another task is open there"
                fix = "It ends with its transaction.timeout. One that stays is found by kafka-transactions find-hanging"
                msg = f"{self._consumer.place}: {what}. {fix}"
                raise HeldBackError(msg)
        self._consumer.own.unassign()
        return came

    def close(self) -> None:
        """Ends it."""
        self._consumer.own.close()

    def _take(self, message: Any, came: list[str]) -> None:
        error: KafkaError | None = message.error()
        if error is None:
            self._place = message.offset() + 1
            key = (message.key() or b"").decode(errors="replace")
            if key.startswith(self._own):
                name = key.removeprefix(self._own)
                came.append(name)
                if message.value() is None:
                    self._texts.pop(name, None)
                else:
                    self._texts[name] = message.value().decode()
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
            # Behind what is no record: the marks of transactions, and what was aborted.
            self._place = max(self._place, message.offset())
        elif error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
            raise self._consumer.trouble(error)

    def _end(self) -> int:
        """The end of all that was written, also in transactions that are open."""
        part = TopicPartition(self.topic, 0)

        def ask(seconds: float) -> Any:
            wanted = {part: OffsetSpec.latest()}
            level = IsolationLevel.READ_UNCOMMITTED
            return results(self._admin.own.list_offsets(wanted, isolation_level=level, request_timeout=seconds), seconds + 1)

        (found,) = self._admin.asked(ask).values()
        return int(found.offset)
