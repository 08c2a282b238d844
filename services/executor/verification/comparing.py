"""Rows of two tables, compared range by range of their keys. Pure."""

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.verification import Key


class Kind(Enum):
    """How a row differs."""

    MISSING = "MISSING"
    """The sink does not have it."""
    EXTRA = "EXTRA"
    """The source does not have it."""
    DIFFERENT = "DIFFERENT"
    """Its values differ."""
    REFUSED = "REFUSED"
    """A value of the source has no counterpart in the sink."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A key whose rows differ.

    Attributes:
        key: The key.
        kind: How.
        about: The columns that differ, or what is wrong.
        source: A digest of the row of the source: another one, another row. Empty: there is none.
        sink: The same of the sink.
    """

    key: Key
    kind: Kind
    about: str
    source: str
    sink: str


@dataclass(frozen=True, slots=True)
class Part:
    """Rows in the order of their keys, as the sink keeps them.

    Attributes:
        keys: Of the rows.
        rows: The columns that both sides have.
        wrong: By index what is wrong with rows that the sink does not take.
    """

    keys: Sequence[Key]
    rows: pa.Table
    wrong: Mapping[int, str] = field(default_factory=dict)

    def cut(self, begin: int, end: int) -> "Part":
        """Some of them."""
        wrong = {place - begin: reason for place, reason in self.wrong.items() if begin <= place < end}
        return Part(self.keys[begin:end], self.rows.slice(begin, end - begin), wrong)


@dataclass(frozen=True, slots=True)
class Range:
    """The rows of both sides up to a key.

    Attributes:
        end: The key.
        source: The rows of the source; None: there are none.
        sink: Those of the sink.
    """

    end: Key
    source: Part | None
    sink: Part | None

    def rows_to(self, key: Key) -> int:
        """How many the source has up to a key."""
        return 0 if self.source is None else bisect_right(self.source.keys, key)


def ranges(source: Iterator[Part], sink: Iterator[Part]) -> Iterator[Range]:
    """What both sides have, in ranges of keys that are no larger than a part of either: so little is held of them."""
    left, right = next(source, None), next(sink, None)
    while left is not None or right is not None:
        end = min(part.keys[-1] for part in (left, right) if part is not None)
        head, left = _divided(left, end, source)
        other, right = _divided(right, end, sink)
        yield Range(end, head, other)


def _divided(part: Part | None, end: Key, more: Iterator[Part]) -> tuple[Part | None, Part | None]:
    """The rows up to a key, and what comes then."""
    if part is None:
        return None, None
    count = bisect_right(part.keys, end)
    rest = part.cut(count, len(part.keys)) if count < len(part.keys) else next(more, None)
    return (part.cut(0, count) if count else None), rest


def differences(found: Range) -> list[Difference]:
    """The keys of a range whose rows differ, in their order."""
    source, sink = found.source, found.sink
    if source is not None and sink is not None and not source.wrong and source.keys == sink.keys:
        unequal = _unequal(source.rows, sink.rows)
        pairs = [(place, place) for place in sorted(unequal)]
        return [_different(source, sink, *pair, unequal[pair[0]]) for pair in pairs]
    return sorted(_by_key(source, sink), key=lambda each: each.key)


def _by_key(source: Part | None, sink: Part | None) -> Iterator[Difference]:
    left = {} if source is None else dict(zip(source.keys, range(len(source.keys)), strict=True))
    right: dict[Key, int] = {}
    for place, key in enumerate(() if sink is None else sink.keys):
        if sink is not None and (key not in left or key in right):
            about = "there is more than one row of this key" if key in right else ""
            yield Difference(key, Kind.EXTRA, about, "", _digest(sink.rows, place))
        right.setdefault(key, place)
    for key, place in left.items():
        if source is not None and place in source.wrong:
            kept = "" if sink is None or key not in right else _digest(sink.rows, right[key])
            yield Difference(key, Kind.REFUSED, source.wrong[place], _digest(source.rows, place), kept)
        elif source is not None and key not in right:
            yield Difference(key, Kind.MISSING, "", _digest(source.rows, place), "")
    if source is not None and sink is not None:
        both = [(left[key], right[key]) for key in left if key in right and left[key] not in source.wrong]
        unequal = _unequal(source.rows.take([pair[0] for pair in both]), sink.rows.take([pair[1] for pair in both])) if both else {}
        for place, columns in unequal.items():
            yield _different(source, sink, *both[place], columns)


def _different(source: Part, sink: Part, left: int, right: int, columns: Sequence[str]) -> Difference:
    about = ", ".join(columns)
    return Difference(source.keys[left], Kind.DIFFERENT, about, _digest(source.rows, left), _digest(sink.rows, right))


def _unequal(left: pa.Table, right: pa.Table) -> dict[int, list[str]]:
    """By index of the row the columns that differ. NaN is equal to itself, null to null alone."""
    found: dict[int, list[str]] = {}
    for name in left.column_names:
        mine, others = left[name].combine_chunks(), right[name].combine_chunks()
        if mine.equals(others):
            continue
        same = pc.fill_null(pc.equal(mine, others), False)
        same = pc.or_(same, pc.and_(mine.is_null(), others.is_null()))
        if pa.types.is_floating(mine.type):
            same = pc.or_(same, pc.and_(*(pc.fill_null(pc.is_nan(each), False) for each in (mine, others))))
        for place in pc.indices_nonzero(pc.invert(same)).to_pylist():
            found.setdefault(place, []).append(name)
    return found


def _digest(rows: pa.Table, place: int) -> str:
    values = repr(rows.slice(place, 1).to_pylist()[0])
    return hashlib.sha256(values.encode(errors="surrogatepass")).hexdigest()[:16]
