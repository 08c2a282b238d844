"""What is left of a batch when a sink refuses records of it and errors.tolerance is none. Pure."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import SourceMark
from services.executor.runtime.errors.policy import RecordFailed
from services.executor.runtime.sink.decode.part import BadRecord, Part


class RejectedRecords(RecordFailed):
    """Records that must not be left out were refused; nothing of their batch has been written.

    Attributes:
        records: All that were refused.
    """

    def __init__(self, message: str, records: Sequence[BadRecord]) -> None:
        super().__init__(message)
        self.records = tuple(records)


class Stopping(PermanentError):
    """The task ends before a record, and with it before all of its message, whatever errors.tolerance says.

    Attributes:
        beyond: What `position set` is to be told to leave out that message alone.
    """

    def __init__(self, message: str, beyond: str) -> None:
        super().__init__(message)
        self.beyond = beyond


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a queue ends.

    Attributes:
        offset: Of the first record that must not be passed.
        marks: That the messages of the batch before it have moved.
    """

    offset: int
    marks: Mapping[str, SourceMark]


def first_refused(records: Sequence[BadRecord]) -> dict[str, int]:
    """By queue the lowest offset."""
    first: dict[str, int] = {}
    for record in records:
        first[record.queue] = min(record.offset, first.get(record.queue, record.offset))
    return first


def before(parts: Sequence[Part], stops: Mapping[str, Stop], error: Exception) -> list[Part]:
    """The parts of a batch without what is at or behind a stop; where there is one, the last part of its queue has the error."""
    kept: list[Part] = []
    ended: set[str] = set()
    for part in parts:
        stop = stops.get(part.queue)
        if stop is None or part.until <= stop.offset:
            kept.append(part)
        elif part.queue not in ended:
            ended.add(part.queue)
            kept.append(_cut(part, stop, error))
    return kept


def _cut(part: Part, stop: Stop, error: Exception) -> Part:
    count = bisect_left(part.records.offsets, stop.offset)
    bad = [record for record in part.bad if record.offset < stop.offset]
    return replace(
        part,
        until=stop.offset,
        stored_ms=0,
        first_ms=part.first_ms if count else None,
        last_ms=None,
        marks=stop.marks,
        records=_head(part.records, count),
        read=count + len(bad),
        duplicates=0,
        bad=bad,
        error=error,
        array=None if part.array is None else part.array[:count],
        table=None if part.table is None else part.table[:count],
    )


def _head(records: SinkBatch, count: int) -> SinkBatch:
    return replace(
        records,
        values=records.values[:count],
        offsets=records.offsets[:count],
        keys=None if records.keys is None else records.keys[:count],
        timestamps_ms=None if records.timestamps_ms is None else records.timestamps_ms[:count],
        headers=None if records.headers is None else records.headers[:count],
        rows=None if records.rows is None else records.rows[:count],
        size=records.size * count // max(1, len(records)),
    )
