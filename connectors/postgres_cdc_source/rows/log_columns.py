"""Rows of the log, read as columns: all rows of a batch at once, without an object for each value."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np
import pyarrow as pa

from connectors.postgres_cdc_source.logical.wire.events import Found, Relation
from connectors.postgres_cdc_source.logical.wire.parts import Parts
from connectors.postgres_cdc_source.logical.wire.tuples import Tuples
from connectors.postgres_cdc_source.rows.copying import typed
from rocketconnect_sdk.changes.gathered import Row
from rocketconnect_sdk.changes.images import Images
from rocketconnect_sdk.changes.slices import Array, binary
from rocketconnect_sdk.errors import RecordError


class _Chosen(NamedTuple):
    """Some of the rows of messages: their numbers, and which rows of all they are."""

    tuples: Tuples
    numbers: list[Array]
    places: list[Array]


class LogColumns:
    """Reads the rows of a table.

    Args:
        relation: What the log says of it.
        places: Which of its columns are read.
    """

    def __init__(self, relation: Relation, places: Sequence[int]) -> None:
        self._relation = relation
        self._places = tuple(places)
        self._is_whole = len(places) == len(relation.columns)

    def arrays(self, images: Sequence["LoggedRows"]) -> Sequence[pa.Array]:
        """See ImageReader."""
        chosen: dict[int, _Chosen] = {}
        total = 0
        for rows in images:
            tuples, begin, end = rows.found
            of_them = chosen.setdefault(id(tuples), _Chosen(tuples, [], []))
            of_them.numbers.append(np.arange(begin, end))
            of_them.places.append(np.arange(total, total + len(rows)))
            total += len(rows)
        data, before = _joined([each.tuples.raw for each in chosen.values()])
        parts = [
            (each.tuples, np.concatenate(each.numbers), np.concatenate(each.places), before[id(each.tuples.raw)])
            for each in chosen.values()
        ]
        starts, lengths, nulls = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.bool_)
        made = []
        for place in self._places:
            for tuples, numbers, places, size in parts:
                starts[places] = tuples.starts[place][numbers] + size
                lengths[places] = tuples.lengths[place][numbers]
                nulls[places] = tuples.nulls[place][numbers]
            column = self._relation.columns[place]
            try:
                made.append(typed(binary(data, starts, lengths, nulls).cast(pa.string()), column.type))
            except (pa.ArrowException, ValueError, LookupError, ArithmeticError) as error:
                msg = f"a value of {column.name!r} in the log is none of its column: {error}"
                raise RecordError(msg) from error
        return made

    def row(self, data: bytes) -> Row:
        """The row of TupleData. Raises BadMessage: a value is none of its type."""
        row = Parts(data, 0).new(self._relation, "N")
        return row if self._is_whole else tuple(row[place] for place in self._places)


class LoggedRows(Images):
    """Rows of the log that are not read yet.

    Args:
        found: The rows.
        reader: Makes columns of them.
    """

    def __init__(self, found: Found, reader: LogColumns) -> None:
        self.found = found
        self.reader: LogColumns = reader

    def __len__(self) -> int:
        """How many."""
        return self.found.end - self.found.begin

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        """One of them, or some."""
        return list(self)[index]

    def __iter__(self) -> Iterator[Row]:
        """One after the other."""
        tuples, begin, end = self.found
        for start, stop in zip(tuples.begins[begin:end].tolist(), tuples.ends[begin:end].tolist(), strict=True):
            yield self.reader.row(tuples.raw[start:stop])


def _joined(raws: Sequence[bytes]) -> tuple[Array, dict[int, int]]:
    """The bytes of all, each once, and how many are before those of each."""
    before, size = {}, 0
    different = {id(raw): raw for raw in raws}
    for name, raw in different.items():
        before[name] = size
        size += len(raw)
    return np.frombuffer(b"".join(different.values()), np.uint8), before
