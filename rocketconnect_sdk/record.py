"""What flows: records, in batches, as columns. rocketconnect_sdk.arrow makes batches from tables, and tables from batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from rocketconnect_sdk.columns.compact import concatenated, picked
from rocketconnect_sdk.resume import JSON
from rocketconnect_sdk.schema import Schema

Offset = tuple[int, ...]
"""A place in a source partition: integers compared element by element. The offset of a record is the place just behind it, so
that it is also where reading goes on when the record is done. Offsets of a partition grow strictly, and a replay gives the same."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where reading of a source partition goes on.

    Attributes:
        offset: What compares: behind the last record that is done.
        resume: What the source needs beside it to go on there: a cursor, a token, a link to the next page. As it was given with the
            batch that ends there (SourceBatch.resume). It may be a secret, so no log shows it.
    """

    offset: Offset
    resume: Mapping[str, JSON] = field(default_factory=dict, repr=False)


NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Rejected:
    """Stands in the place of a value that could not be read; the error policy decides what becomes of it.

    Attributes:
        error: The class of the error, for dead letters: "InvalidUtf8".
        reason: What is wrong and what can be done.
        original: The original bytes, or their first part.
        length: The length of the whole in bytes.
        sha256: The hash of the whole as hexadecimal digits.
        advice: How it is corrected, when the task is FAILED because of it, as whole sentences: what that costs first. Other ways
            (errors.tolerance, the position) are told behind it. Empty: as records of any source are.
    """

    error: str
    reason: str
    original: bytes
    length: int
    sha256: str
    advice: str = ""


_SOURCE_COLUMNS = ("values", "offsets", "keys", "timestamps_ms", "headers", "topics", "properties")
_SINK_COLUMNS = ("values", "offsets", "keys", "timestamps_ms", "headers", "rows")


@dataclass(slots=True)
class SourceBatch:
    """Records of one source partition in their order, as columns of equal length.

    A column is any sequence. A Column or Texts (rocketconnect_sdk.columns.compact) is held without an object for each value, and
    stays so until somebody asks for a value: the way of tables.

    Attributes:
        partition: The source partition, at most 1,024 characters, without control characters.
        values: The values; a Rejected stands for one that could not be read.
        offsets: For each value the offset just behind it; strictly increasing.
        keys: The keys; None: no record has one.
        timestamps_ms: Times of the events; None: not known. A single None: not known of that record.
        headers: Headers of each; None: no record has any.
        topics: The topic of each; None: all go to the topic of the configuration.
        schema: The schema of all values.
        key_schema: The schema of all keys.
        size: The size of the values in bytes, as far as the source knows it; rates and buffers are counted with it.
        properties: The properties of each message as they are to be, in the place of those that keys, times and headers become: for
            sources that read messages. Keys still choose the queue, unless `queue` does.
        end: Where reading goes on behind this batch, when that is behind its last record: what was read there is left out.
            Empty: at the offset of the last one. A batch without records that has an end moves the position of its partition.
        queue: The broker and the number of the queue that it was in, for sources that read messages: all records of a source
            partition go to the queue that is like it, whatever their keys are. The same for all batches of a partition. None: keys
            choose queues, and records without one go to that of their partition.
        resume: What start() needs beside the offset to go on behind this batch: a JSON object of at most 64 KiB. With it, the
            position of the partition moves to the end of the batch when all of it is done, and never to a record within. None: the
            offset alone is enough, behind each record.
        gone: Of a batch without records, whose end is the position that the partition has: the partition is no more, and its
            position is forgotten. For sources with ever new partitions, as objects are. Only where all of it was read, and where
            what may have its name again is the same, record by record: it is then read again, and sinks that know it drop it.
    """

    partition: str
    values: Sequence[object]
    offsets: Sequence[Offset]
    keys: Sequence[object] | None = None
    timestamps_ms: Sequence[int | None] | None = None
    headers: Sequence[Mapping[str, str]] | None = None
    topics: Sequence[str] | None = None
    schema: Schema | None = None
    key_schema: Schema | None = None
    size: int = 0
    properties: Sequence[Mapping[str, str]] | None = None
    end: Offset = ()
    resume: Mapping[str, JSON] | None = field(default=None, repr=False)
    queue: tuple[str, int] | None = None
    gone: bool = False

    def __len__(self) -> int:
        """How many records it holds."""
        return len(self.values)

    def take(self, places: Sequence[int]) -> "SourceBatch":
        """Some of the records, by their places here, increasing; the others are left out: its end is the end of this batch."""
        end = self.end or self.offsets[-1]
        return replace(self, **_some(self, _SOURCE_COLUMNS, places), size=_share(self.size, len(places), len(self)), end=end)

    def slice(self, start: int, stop: int) -> "SourceBatch":
        """The records from `start` up to `stop`, at most the last; its end is its last record, and this batch's at the last one.

        Raises:
            ValueError: the batch has a map (`resume`), which belongs to its end: nowhere else could reading go on.
        """
        if self.resume is not None:
            msg = "a batch with a map cannot be cut: reading goes on at its end only"
            raise ValueError(msg)
        places = range(start, min(stop, len(self)))
        end = self.end if places.stop == len(self) else ()
        return replace(self, **_some(self, _SOURCE_COLUMNS, places), size=_share(self.size, len(places), len(self)), end=end)

    @staticmethod
    def concat(batches: Sequence["SourceBatch"]) -> "SourceBatch":
        """Batches of one partition as one, at least one, in their order: of one schema, without maps, and with the same columns."""
        if len(batches) == 1:
            return batches[0]
        first = batches[0]
        names = [name for name in _SOURCE_COLUMNS if getattr(first, name) is not None]
        columns: dict[str, Any] = {name: concatenated([getattr(batch, name) for batch in batches]) for name in names}
        return replace(first, **columns, size=sum(batch.size for batch in batches), end=batches[-1].end)


@dataclass(slots=True)
class SinkBatch:
    """Records of one queue in their order, as columns of equal length: what a record sink writes. Columns as of a SourceBatch.

    Attributes:
        queue: "topic/broker/queue".
        topic: The topic.
        values: Decoded values.
        offsets: Queue offsets, increasing, not always without gaps (filtered messages, dead letters and duplicates are left out).
            Rows of one packed message (value.converter=arrow) have the offset of the message.
        keys: Decoded keys; None: no record has one.
        timestamps_ms: The times of the events, else when the broker stored the messages; None: the sink did not ask for them.
            A single None: a transform took the time of that record away.
        headers: Headers of each; None: the sink did not ask for them.
        schema: The schema of all values, where it is known.
        size: The size of the message bodies in bytes.
        rows: Of packed messages the number of each row in its message: queue, offset and row name a record. None: a message is a
            record.
    """

    queue: str
    topic: str
    values: Sequence[object]
    offsets: Sequence[int]
    keys: Sequence[object] | None = None
    timestamps_ms: Sequence[int | None] | None = None
    headers: Sequence[Mapping[str, str]] | None = None
    schema: Schema | None = None
    size: int = 0
    rows: Sequence[int] | None = None

    def __len__(self) -> int:
        """How many records it holds."""
        return len(self.values)

    def take(self, places: Sequence[int]) -> "SinkBatch":
        """Some of the records, by their places here, increasing."""
        return replace(self, **_some(self, _SINK_COLUMNS, places), size=_share(self.size, len(places), len(self)))

    def slice(self, start: int, stop: int) -> "SinkBatch":
        """The records from `start` up to `stop`, at most the last. Of Arrow's columns nothing is copied."""
        return self.take(range(start, min(stop, len(self))))

    @staticmethod
    def concat(batches: Sequence["SinkBatch"]) -> "SinkBatch":
        """Batches of one queue and one schema as one, at least one. Records of a batch without keys, times, headers have none."""
        first = batches[0]
        if len(batches) == 1:
            return first
        columns: dict[str, Any] = {name: _joined([getattr(batch, name) for batch in batches], batches) for name in _SINK_COLUMNS}
        schema = next((batch.schema for batch in batches if batch.schema is not None), None)
        return replace(first, **columns, schema=schema, size=sum(batch.size for batch in batches))


def _some(batch: SourceBatch | SinkBatch, names: Sequence[str], places: Sequence[int]) -> dict[str, Any]:
    return {name: picked(column, places) for name in names if (column := getattr(batch, name)) is not None}


def _share(size: int, part: int, whole: int) -> int:
    return size * part // whole if whole else 0


def _joined(columns: Sequence[Sequence[object] | None], batches: Sequence[SinkBatch]) -> Sequence[object] | None:
    if all(column is None for column in columns):
        return None
    return concatenated([[None] * len(batch) if column is None else column for column, batch in zip(columns, batches, strict=True)])
