"""Messages on their way through a producer."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from connectors.kafka.client import Client
from connectors.kafka.messages import headers_of, partition_of, time_of
from connectors.kafka.topics import Topics
from rocketconnect_sdk.errors import RecordError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.partitions.options import HeaderForm
from rocketconnect_sdk.writes import Operation

T = TypeVar("T")
_STEP_SECONDS = 0.2
_ALONE = {"batch.num.messages": 1, "max.in.flight.requests.per.connection": 1}
_STATE = (KafkaError._STATE, KafkaError._FATAL)  # noqa: SLF001
_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)  # noqa: SLF001
_REFUSED = (
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.INVALID_MSG,
    KafkaError.INVALID_MSG_SIZE,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_TIMESTAMP,
    KafkaError.RECORD_LIST_TOO_LARGE,
)
"""What is a matter of messages, or of a batch of them."""


class FencedError(Exception):
    """Another producer has begun under the same transactional.id."""


class AbortedError(Exception):
    """A transaction can but be aborted, because of `error`."""

    def __init__(self, error: KafkaError) -> None:
        super().__init__(error.str())
        self.error = error


def settings_of(config: Config, *, alone: bool) -> dict[str, Any]:
    """Those of a producer; `alone`: one message at a time, so that what is refused is that message."""
    return {
        "acks": "all",
        "enable.idempotence": True,
        # As Kafka's own producer does, so that records of a key meet those that others write.
        "partitioner": "murmur2_random",
        "compression.type": config["compression.type"],
        "message.max.bytes": config["message.max.bytes"],
        "delivery.report.only.error": True,
        # What is on its way is what a batch has.
        "queue.buffering.max.messages": 10_000_000,
        "queue.buffering.max.kbytes": 2_000_000,
        **(_ALONE if alone else {}),
    }


def in_transactions(config: Config, name: str) -> dict[str, Any]:
    """More settings of a producer that writes in transactions under a name."""
    milliseconds = round(config["transaction.timeout"] * 1000)
    return {
        "transactional.id": name,
        "transaction.timeout.ms": milliseconds,
        # The client takes no longer one.
        "socket.timeout.ms": min(milliseconds, round(config["request.timeout"] * 1000)),
    }


def asked(client: Client, call: Callable[[float], T]) -> T:
    """What a call of a transaction gives. See Client.asked.

    Raises:
        FencedError, AbortedError: it can't be made any more.
    """

    def tried(seconds: float) -> T:
        try:
            return call(seconds)
        except KafkaException as error:
            wrong: KafkaError = error.args[0]
            if (ended := _ended(wrong)) is not None:
                raise ended from error
            if wrong.code() in _STATE:
                # It is so each time, and is another one with another producer.
                raise client.trouble(wrong) from error
            raise

    return client.asked(tried)


def begun(client: Client) -> None:
    """Begins under its transactional.id; nobody who has begun before can write any more. Raises as asked."""
    asked(client, client.own.init_transactions)


def committed(client: Client) -> None:
    """Commits a transaction. Raises as asked."""
    asked(client, client.own.commit_transaction)


def flushed(client: Client) -> int:
    """How many messages are on their way after a moment. Raises as asked."""
    try:
        return int(client.own.flush(_STEP_SECONDS))
    except KafkaException as error:
        wrong: KafkaError = error.args[0]
        raise _ended(wrong) or client.trouble(wrong) from error


def _ended(error: KafkaError) -> Exception | None:
    """How an error ends a transaction; None: it does not."""
    if error.code() in _FENCED:
        return FencedError(error.str())
    return AbortedError(error) if error.txn_requires_abort() else None


class Sending:
    """Some operations on their way.

    Args:
        client: The producer.
        topics: Has found the topics of all operations.
        config: That of the sink.

    Attributes:
        refused: By index what is wrong with messages that were not sent.
        failed: By index the errors of those that have not arrived.
    """

    def __init__(self, client: Client, topics: Topics, config: Config) -> None:
        self._client = client
        self._topics = topics
        self._headers = HeaderForm(config["headers"])
        self._by_queue = config["partition.by"] == "queue"
        self.refused: dict[int, str] = {}
        self.failed: dict[int, KafkaError] = {}

    def send(self, operations: Sequence[Operation]) -> None:
        """Hands them to the client; in a transaction that can but be aborted it ends early."""
        partitions = {target: self._topics.partitions(target) for target in {operation.target for operation in operations}}
        for index, operation in enumerate(operations):
            target = operation.target
            try:
                headers = headers_of(operation, self._headers) if operation.headers else None
            except RecordError as error:
                self.refused[index] = str(error)
                continue
            partition = partition_of(operation, partitions[target], by_queue=self._by_queue)
            told = partial(self._told, index)
            try:
                self.put(
                    target, operation.value, operation.key_value, partition, told, timestamp=time_of(operation), headers=headers
                )
            except KafkaException as error:
                wrong: KafkaError = error.args[0]
                if wrong.code() in _STATE:
                    return
                if wrong.code() not in _REFUSED:
                    raise self._client.trouble(wrong) from error
                self.refused[index] = words(wrong)

    def put(self, *message: Any, **more: Any) -> None:
        """One message. Raises KafkaException, and SystemAway where the client takes no more for too long."""
        end = 0.0
        while True:
            try:
                self._client.own.produce(*message, **more)
            except BufferError:
                end = end or time.monotonic() + self._client.seconds
                self._client.own.poll(_STEP_SECONDS)
                if time.monotonic() > end:
                    raise self._client.trouble(KafkaError(KafkaError._TIMED_OUT)) from None  # noqa: SLF001
            else:
                return

    def note(self, topic: str, text: str, key: bytes) -> None:
        """One more message, into the partition 0. Where the transaction can but be aborted, its end says so."""
        try:
            self.put(topic, text, key, 0)
        except KafkaException as error:
            wrong: KafkaError = error.args[0]
            if wrong.code() not in _STATE:
                raise self._client.trouble(wrong) from error

    def settle(self, *, whole: bool) -> None:
        """Returns when all have arrived, or have failed; where they go as a `whole`, when one has failed.

        Raises:
            SystemAway: the cluster does not answer.
            PermanentError: it does not take us.
        """
        end, before = time.monotonic() + self._client.seconds, 0
        while (left := flushed(self._client)) and not (whole and self.failed):
            if left != before:
                # It goes on, however large the batch is.
                end, before = time.monotonic() + self._client.seconds, left
            if (error := self._client.away()) is not None:
                raise self._client.trouble(error)
            if time.monotonic() > end:
                msg = f"{self._client.place}: the cluster has not confirmed what was sent within {self._client.seconds:g} s"
                raise SystemAway(msg)

    def told(self) -> dict[int, str]:
        """Of the messages that have failed those that may be refused, with words for it."""
        return {index: words(error) for index, error in self.failed.items() if error.code() in _REFUSED}

    def trouble(self) -> KafkaError | None:
        """An error of a message that is no matter of that message; None: there is none."""
        return next((error for error in self.failed.values() if error.code() not in (*_REFUSED, *_PURGED)), None)

    def _told(self, index: int, error: KafkaError | None, message: object) -> None:
        del message
        if error is not None:
            self.failed[index] = error


_PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)  # noqa: SLF001


def words(error: KafkaError) -> str:
    """Why a message is refused."""
    more = (
        ": see message.max.bytes here and max.message.bytes of the topic" if error.code() == KafkaError.MSG_SIZE_TOO_LARGE else ""
    )
    return f"Kafka refuses it: {error.str()}{more}"
