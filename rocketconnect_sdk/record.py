"""What flows: records, in batches, as columns. rocketconnect_sdk.arrow makes batches from tables, and tables from batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rocketconnect_sdk.schema import Schema

Offset = tuple[int, ...]
"""A place in a source partition: integers compared element by element. The offset of a record is the place just behind it, so
that it is also where reading goes on when the record is done. Offsets of a partition grow strictly, and a replay gives the same."""

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
        advice: What to do when the task is FAILED because of it, as whole sentences; empty: what holds for any source.
    """

    error: str
    reason: str
    original: bytes
    length: int
    sha256: str
    advice: str = ""


@dataclass(slots=True)
class SourceBatch:
    """Records of one source partition in their order, as columns of equal length.

    Attributes:
        partition: The source partition, at most 1,024 characters, without control characters.
        values: The values; a Rejected stands for one that could not be read.
        offsets: For each value the offset just behind it; strictly increasing.
        keys: The keys; None: no record has one.
        timestamps_ms: Times of the events; None: not known.
        headers: Headers of each; None: no record has any.
        topics: The topic of each; None: all go to the topic of the configuration.
        schema: The schema of all values.
        key_schema: The schema of all keys.
        size: The size of the values in bytes, as far as the source knows it; rates and buffers are counted with it.
        properties: The properties of each message as they are to be, in the place of those that keys, times and headers become: for
            sources that read messages. Keys still choose the queue.
        end: Where reading goes on behind this batch, when that is behind its last record: what was read there is left out.
            Empty: at the offset of the last one. A batch without records that has an end moves the position of its partition.
    """

    partition: str
    values: Sequence[object]
    offsets: Sequence[Offset]
    keys: Sequence[object] | None = None
    timestamps_ms: Sequence[int] | None = None
    headers: Sequence[Mapping[str, str]] | None = None
    topics: Sequence[str] | None = None
    schema: Schema | None = None
    key_schema: Schema | None = None
    size: int = 0
    properties: Sequence[Mapping[str, str]] | None = None
    end: Offset = ()

    def __len__(self) -> int:
        """How many records it holds."""
        return len(self.values)


@dataclass(slots=True)
class SinkBatch:
    """Records of one queue in their order, as columns of equal length: what a record sink writes.

    Attributes:
        queue: "topic/broker/queue".
        topic: The topic.
        values: Decoded values.
        offsets: Queue offsets, increasing, not always without gaps (filtered, dead-lettered and doubled messages are left out).
            Rows of one packed message (value.converter=arrow) have the offset of the message.
        keys: Decoded keys; None: no record has one.
        timestamps_ms: The times of the events, else when the broker stored the messages; None: the sink did not ask for them.
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
    timestamps_ms: Sequence[int] | None = None
    headers: Sequence[Mapping[str, str]] | None = None
    schema: Schema | None = None
    size: int = 0
    rows: Sequence[int] | None = None

    def __len__(self) -> int:
        """How many records it holds."""
        return len(self.values)
