"""What the messages of a pull have become, before they are parts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from services.executor.runtime.sink.decode.part import DecodeSettings


@dataclass(slots=True)
class Made:
    """What messages have become, as columns: one value for each message.

    Attributes:
        values: Of a bad or dropped one it stands for nothing.
        schemas: That of all, or that of each.
        keys: None: no record has one.
        times: None: not looked at.
        headers: None: not looked at.
        topics: Of each; None: that of the queue.
        dropped: Those that go nowhere.
    """

    values: Sequence[object]
    schemas: Sequence[Schema | None] | Schema | None
    keys: Sequence[object] | None
    times: Sequence[Any] | None
    headers: Sequence[Mapping[str, str]] | None
    topics: Sequence[str] | None = None
    dropped: frozenset[int] = frozenset()

    def batch(self, queue: str, topic: str, offsets: Sequence[int], wanted: DecodeSettings) -> SinkBatch:
        """All of them with what a sink looks at, by the topic of the queue, and with their schema if that is one for all."""
        return SinkBatch(
            queue,
            topic,
            self.values,
            offsets,
            self.keys if wanted.keys else None,
            self.times if wanted.timestamps else None,
            self.headers if wanted.headers else None,
            self.schemas if isinstance(self.schemas, Schema) else None,
        )

    def ranges(self, left_out: Collection[int], stop: int) -> list[tuple[int, int, Schema | None]]:
        """Ranges before `stop` of one schema and topic each; what is left out, and a tombstone, goes with what is around it."""
        if not stop:
            return []
        if (self.schemas is None or isinstance(self.schemas, Schema)) and self.topics is None:
            return [(0, stop, self.schemas)]
        ranges: list[tuple[int, int, Schema | None]] = []
        first = 0
        held: Schema | None = None
        topic: str | None = None
        for index in range(stop):
            if index in left_out:
                continue
            schema = self.schemas if self.schemas is None or isinstance(self.schemas, Schema) else self.schemas[index]
            goes_to = topic if self.topics is None else self.topics[index]
            other = schema is not None and held is not None and schema != held
            if other or (topic is not None and goes_to != topic):
                ranges.append((first, index, held))
                first, held = index, None
            held, topic = schema if schema is not None else held, goes_to
        ranges.append((first, stop, held))
        return ranges
