"""Rows of a DataFrame become messages. Runs in Spark's Python workers.

Each message has the property RCPOS, by which whoever reads with RocketConnect knows what was sent twice: its source partition is
the Spark partition, its offset the number of the batch and of the row in the partition. A task that Spark runs again sends the same
rows under the same numbers, as long as the rows of a partition are the same then.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.types import BinaryType, StructField, StructType

from pyspark_rocketmq.form import KEY, VALUE
from pyspark_rocketmq.settings import Settings
from pyspark_rocketmq.topic import missing
from rocketconnect_sdk.columns.arrow_types import recast, to_arrow_type
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.converters.arrow import ArrowConverter
from rocketconnect_sdk.errors import ConfigError, PermanentError, Problem
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.spark.types import from_spark_field
from rocketmq_remoting.batch import EncodedBatch
from rocketmq_remoting.client import Client
from rocketmq_remoting.connections.pending import Pending
from rocketmq_remoting.errors import InvalidMessage, OutcomeUnknown, RetriableError, TopicNotFound
from rocketmq_remoting.model import MessageQueue, SendReceipt
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.source.encode import Encoder, Target
from services.executor.runtime.source.encode_rows import RowsEncoder
from services.executor.runtime.source.pieces import Piece
from services.executor.runtime.source.takeover import Found

TOPIC, HEADERS = "topic", "headers"
_SPECIAL = (VALUE, KEY, HEADERS, TOPIC)
_ROWS = 10_000
"""So many are encoded at once."""


def check_columns(settings: Settings, schema: StructType) -> None:
    """Whether rows of these columns can be sent.

    Raises:
        ConfigError: says which column has to go, or which option is missing.
    """
    problems: list[Problem] = []
    if VALUE in schema.names:
        problems += [
            Problem(
                name, "", "is no column of a message: they are value, key, headers and topic", 'Put it into value: struct("*").'
            )
            for name in schema.names
            if name not in _SPECIAL
        ]
    if not settings.config["topic"] and not (VALUE in schema.names and TOPIC in schema.names):
        problems.append(Problem("topic", "", "is missing, and there is no column topic beside value", "Name the topic."))
    try:
        _value_schema(schema)
        settings.converter("value", _value_converter(schema))
        settings.converter("key", "string")
    except TypeError as error:
        problems.append(Problem(VALUE, "", str(error), "Cast it to another type."))
    except ConfigError as error:
        problems += error.problems
    if problems:
        raise ConfigError(problems)


class RowsWriter:
    """Sends the rows of one Spark partition; used by one thread.

    Args:
        settings: The options.
        schema: Of the rows: value, and beside it key, headers (of text) and topic; without a column value all columns are it.
        producer: Who writes, for those who leave out what is there twice.
        batch: The number of the batch; one that is written later has a higher one.
        partition: The Spark partition.
    """

    def __init__(self, settings: Settings, schema: StructType, producer: str, batch: int, partition: int) -> None:
        self._settings = settings
        self._batch = batch
        self._partition = str(partition)
        self._is_whole = VALUE not in schema.names
        self._value = _value_schema(schema)
        self._keys = None if self._is_whole or KEY not in schema.names else from_spark_field(_bare(schema[KEY])).schema
        self._converter = _value_converter(schema)
        self._producer = producer

    def write(self, batches: Iterator[pa.RecordBatch]) -> int:
        """Sends all rows and waits until they are stored; how many there were.

        Raises:
            PermanentError: a row can't be a message, or the broker refuses one. What is before it is sent.
            RetriableError: of RocketMQ: it was tried as long as retry.timeout says.
        """
        count = 0
        with self._settings.connect() as client:
            sending = _Sending(client, self._settings)
            encoder = self._encoder(sending)
            for batch in batches:
                for start in range(0, len(batch), _ROWS):
                    some = batch.slice(start, _ROWS)
                    encoded = encoder.encode(self._records(some, count), 0.0)
                    sending.send(encoded.pieces)
                    count += len(some)
                    if encoded.error is not None:
                        sending.wait()
                        raise PermanentError(str(encoded.error))
            sending.wait()
        return count

    def _encoder(self, sending: "_Sending") -> Encoder:
        config = self._settings.config
        target = Target(
            connector=self._producer,
            uid=self._producer,
            task=0,
            epoch=0,
            topic=config["topic"],
            queues=sending.queues,
            source=self,
            key=self._settings.converter("key", "string"),
            value=self._settings.converter("value", self._converter),
            policy=ErrorPolicy(tolerant=False, dead_letter_topic="", properties=False, log=False, log_values=False),
            batch_bytes=config["batch.bytes"],
            batch_records=_ROWS,
            record_bytes=config["record.bytes"],
        )
        kind = RowsEncoder if isinstance(target.value, ArrowConverter) else Encoder
        return kind(target, lambda _partition: 0, Found({}, {}))

    def _records(self, batch: pa.RecordBatch, before: int) -> SourceBatch:
        """Rows, of which so many are before them in the partition."""
        values = batch.to_struct_array() if self._is_whole else batch.column(VALUE)
        offsets = [(self._batch, number) for number in range(before + 1, before + len(batch) + 1)]
        records = SourceBatch(self._partition, _values(values, self._value), offsets, schema=self._value, size=values.nbytes)
        if self._is_whole:
            return records
        names = batch.schema.names
        if KEY in names:
            records.keys, records.key_schema = Column(batch.column(KEY)), self._keys
        if HEADERS in names:
            records.headers = [dict(each or ()) for each in batch.column(HEADERS).to_pylist()]
        if TOPIC in names:
            records.topics = [topic or self._settings.config["topic"] for topic in batch.column(TOPIC).to_pylist()]
        return records


class _Sending:
    """Sends to each queue one batch after the other, and to all queues at once."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._seconds: float = settings.config["retry.timeout"]
        self._bytes: int = settings.config["batch.bytes"]
        self._topics: dict[str, Sequence[MessageQueue]] = {}
        self._flying: dict[MessageQueue, tuple[EncodedBatch, Pending[SendReceipt]]] = {}

    def queues(self, topic: str) -> Sequence[MessageQueue]:
        """The queues of a topic.

        Raises:
            PermanentError: there is no such topic, or none of its queues takes messages.
        """
        if topic not in self._topics:
            try:
                self._topics[topic] = self._client.queues(topic, writable=True)
            except TopicNotFound as error:
                msg = f"{missing(self._client, topic)}. Make it with `rocketconnect topic create`"
                raise PermanentError(msg) from error
        if not self._topics[topic]:
            msg = f"the topic {topic} has no queue that takes messages: give it the permission"
            raise PermanentError(msg)
        return self._topics[topic]

    def send(self, pieces: Sequence[Piece]) -> None:
        """Begins to send these; waits for what is under way to their queues."""
        for queue, some in _by_queue(pieces, self._bytes):
            self._settle(queue)
            try:
                batch = EncodedBatch.concat([piece.encoded() for piece in some])
            except InvalidMessage as error:
                raise PermanentError(str(error)) from error
            self._flying[queue] = batch, self._client.send_batch_async(queue, batch)

    def wait(self) -> None:
        """Waits until all is stored."""
        for queue in list(self._flying):
            self._settle(queue)

    def _settle(self, queue: MessageQueue) -> None:
        under_way = self._flying.pop(queue, None)
        if under_way is None:
            return
        batch, pending = under_way
        try:
            pending.result()
        except (RetriableError, OutcomeUnknown):
            # Invariant 4: what is behind it is not sent yet. It may be there twice then, which RCPOS tells.
            self._client.send_batch(queue, batch, self._seconds, retry=True)


def _by_queue(pieces: Sequence[Piece], most: int) -> Iterator[tuple[MessageQueue, list[Piece]]]:
    """Pieces that are sent at once, in the order of each queue."""
    held: dict[MessageQueue, list[Piece]] = {}
    for piece in pieces:
        some = held.setdefault(piece.queue, [])
        if some and sum(each.size for each in some) + piece.size > most:
            yield piece.queue, held.pop(piece.queue)
            some = held.setdefault(piece.queue, [])
        some.append(piece)
    yield from held.items()


def _value_schema(schema: StructType) -> Schema:
    """Of the values; raises TypeError: there is none for a type."""
    if VALUE in schema.names:
        return from_spark_field(_bare(schema[VALUE])).schema
    return from_spark_field(StructField(VALUE, schema, nullable=False)).schema


def _bare(field: StructField) -> StructField:
    """Without what its metadata say: what is in the column is what Spark has."""
    return StructField(field.name, field.dataType, field.nullable)


def _value_converter(schema: StructType) -> str:
    if VALUE not in schema.names or isinstance(schema[VALUE].dataType, StructType):
        return "json"
    return "bytes" if isinstance(schema[VALUE].dataType, BinaryType) else "string"


def _values(values: pa.Array, schema: Schema) -> Sequence[Any]:
    """A column as converters take it."""
    wanted = to_arrow_type(schema)
    return Column(values if values.type == wanted else recast(values, wanted))
