"""The records of a range of a queue, and those of them that are bad."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import SourceMark
from services.executor.runtime.errors.failure import Failure, beyond
from services.executor.runtime.rocketmq.message_trace import Noted

_RECORD_BYTES = 100


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A message that could not be converted or written: its queue offset, why, and its encoded properties where they are known.

    Of a packed message one row, by its number; None: the whole message. `has_company`: there may be rows in it that are
    not bad.
    """

    queue: str
    offset: int
    failure: Failure
    raw_properties: bytes = b""
    row: int | None = None
    has_company: bool = True

    @property
    def place(self) -> str:
        """Where it stands, for people."""
        return place_in(self.queue, self.offset, self.row)

    @property
    def beyond(self) -> str:
        """What `position set` is to be told to leave out its message; empty: there are others in it."""
        return "" if self.row is not None and self.has_company else beyond(self.queue, (self.offset + 1,))


@dataclass(slots=True)
class Part:
    """The records of a range of a queue.

    Attributes:
        queue: "topic/broker/queue".
        start: The queue offset at which the range begins.
        until: The queue offset behind it.
        marks: The marks that are higher behind it.
        records: What is to be written; may be empty.
        read: How many messages the range had.
        duplicates: How many of them were there already.
        bad: Those that could not be converted.
        arrived: Monotonic time.
        error: The task is to fail behind this part.
        array: The values as an Arrow array, where the engine wants one.
        table: The records as an Arrow table, where the engine wants one.
        stored_ms: When the broker stored the message before `until`; 0: not known.
        topic: Of which the messages are, see ByTopic.of_topic.
        first_ms: The source's time of its first record, milliseconds since 1970; None: not known. See source_ms.
        last_ms: That of its last record.
        traced: Those of them that are traced.
        noted: What the message trace tells of them; None: nothing. See MessageTrace.
    """

    queue: str
    start: int
    until: int
    marks: Mapping[str, SourceMark]
    records: SinkBatch
    read: int
    duplicates: int
    bad: Sequence[BadRecord] = ()
    arrived: float = 0.0
    error: Exception | None = None
    array: Any = None
    table: Any = None
    stored_ms: int = 0
    topic: str = ""
    first_ms: int | None = None
    last_ms: int | None = None
    traced: Sequence[Any] = ()
    noted: Noted | None = None

    @classmethod
    def of_nothing(cls, queue: str, topic: str, start: int, until: int, stored_ms: int, arrived: float) -> "Part":
        """A range of which nothing is read: the position passes it."""
        nothing = SinkBatch(queue, topic, [], [])
        return cls(queue, start, until, {}, nothing, 0, 0, arrived=arrived, stored_ms=stored_ms, topic=topic)

    @property
    def is_nothing(self) -> bool:
        """Whether it only moves the position."""
        return not (self.read or self.marks or self.bad or self.error)

    @property
    def held_bytes(self) -> int:
        """About how much memory it takes."""
        return self.records.size + _RECORD_BYTES * len(self.records)


@dataclass(frozen=True, slots=True)
class DecodeSettings:
    """What a sink looks at.

    Attributes:
        keys: Keys.
        timestamps: Times.
        headers: Headers.
        header_names: The only ones that are looked at; empty: all are.
        whole: Headers are the properties of messages as they are; see RecordSink.whole_messages.
        array: Makes an Arrow array of values of a schema; a RecordError when one does not fit.
        rows_as: What values without a schema are rows of: see DataFrameSinkTask.
    """

    keys: bool = True
    timestamps: bool = True
    headers: bool = False
    header_names: Sequence[str] = ()
    array: Callable[[Sequence[object], Schema | None], object] | None = None
    rows_as: Schema | None = None
    whole: bool = False

    def may_have_headers(self, properties: bytes) -> bool:
        """Whether the headers that are looked at can be among these encoded properties."""
        return not self.header_names or any(name.encode() in properties for name in self.header_names)


def place_in(queue: str, offset: int, row: int | None) -> str:
    """Where a record of a sink stands, for people; `row`: see BadRecord."""
    return f"queue {queue}, offset {offset}" + ("" if row is None else f", row {row}")


def written_bytes(parts: Sequence[Part], refused: Sequence[BadRecord]) -> int:
    """The bytes of what of these parts was written; where records of a part were refused, its share by their number."""
    left_out = Counter((record.queue, record.offset) for record in refused)
    queues = {queue for queue, _ in left_out}
    size = 0
    for part in parts:
        count = len(part.records)
        written = count
        if part.queue in queues:
            written -= sum(left_out[part.queue, offset] for offset in set(part.records.offsets))
        size += part.records.size * written // max(1, count)
    return size
