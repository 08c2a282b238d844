"""The records of a pulled batch, before the transforms: one of each message, or several of some."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rocketconnect_sdk.columns.compact import picked
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.stages import Stage
from rocketconnect_sdk.transforms.chain import Chain
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.sink.decode.made import Made
from services.executor.runtime.sink.decode.part import BadRecord

Range = tuple[int, int, Schema | None]


@dataclass(slots=True)
class Taken:
    """Records, as columns.

    Attributes:
        indexes: Of each the message, by its index in the batch.
        bodies: What a dead letter of each keeps.
        raws: The encoded properties of its message.
        offsets: That of its message.
        made: What they are.
        bad: Those that can't be read, by their places here.
        rows: The number of each in its message; None: a message is a record.
        sizes: By the index of a message the size of its body, where it may have several records.
    """

    indexes: Sequence[int]
    bodies: Sequence[bytes]
    raws: Sequence[bytes]
    offsets: Sequence[int]
    made: Made
    bad: dict[int, Failure]
    rows: Sequence[int] | None = None
    sizes: Mapping[int, int] = field(default_factory=dict)

    def size(self, places: Sequence[int]) -> int:
        """Of the bodies of the messages of these records."""
        if self.rows is None:
            return sum(map(len, picked(self.bodies, places)))
        return sum(self.sizes[index] for index in {self.indexes[place] for place in places})

    def bad_record(self, queue: str, place: int, failure: Failure) -> BadRecord:
        """A record that is bad, with what its dead letter keeps: where its key is bad, the body must not be lost."""
        body = self.bodies[place]
        whole = failure if failure.original is body else failure.of_bytes(body)
        offset, raw = self.offsets[place], self.raws[place]
        if self.rows is None:
            return BadRecord(queue, offset, whole, raw)
        begin = bisect_left(self.offsets, offset)
        has_company = self.offsets[begin : begin + 2] == [offset, offset]
        return BadRecord(queue, offset, whole, raw, self.rows[place] if has_company else None)

    def at_messages(self, ranges: Sequence[Range]) -> Sequence[Range]:
        """The ranges, each from the beginning of a message on: what comes before it in that is bad, or goes nowhere."""
        if self.rows is None:
            return ranges
        begins = [bisect_left(self.offsets, self.offsets[first]) if self.offsets else 0 for first, _, _ in ranges]
        ends = [*begins[1:], *(last for _, last, _ in ranges[-1:])]
        return [(first, last, schema) for first, last, (_, _, schema) in zip(begins, ends, ranges, strict=True)]


def whole_messages(made: Made, taken: Taken) -> Made:
    """With one schema and one topic in each message, which moves as a whole: records with another one than its first are bad."""
    firsts: dict[int, tuple[Schema | None, str | None]] = {}
    for place, offset in enumerate(taken.offsets):
        if place in taken.bad or place in made.dropped:
            continue
        schema = made.schemas if made.schemas is None or isinstance(made.schemas, Schema) else made.schemas[place]
        topic = None if made.topics is None else made.topics[place]
        first = firsts.setdefault(offset, (schema, topic))
        if first != (schema, topic):
            why = "has another schema than the first one" if first[0] != schema else "goes to another topic than the first one"
            error = RecordError(f"after the transforms this record {why} of its message: filter, or send one record in a message")
            taken.bad[place] = Failure.of_value(Stage.TRANSFORM, error, taken.bodies[place], Chain)
    return made


class Originals(Sequence[bytes]):
    """Bytes that are made when somebody first looks at them.

    Args:
        make: Makes those at a place.
        count: How many there are.
    """

    def __init__(self, make: Callable[[int], bytes], count: int) -> None:
        self._make, self._count = make, count
        self._made: dict[int, bytes] = {}

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    def __getitem__(self, place: int) -> bytes:  # type: ignore[override]
        """Those at a place."""
        if not 0 <= place < self._count:
            raise IndexError(place)
        if place not in self._made:
            self._made[place] = self._make(place)
        return self._made[place]
