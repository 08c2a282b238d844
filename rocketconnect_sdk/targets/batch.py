"""The columns of a batch that are looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

HEADER = "header:"
"""Begins the name of a column that is one header."""

UNCHANGED = f"{HEADER}unchanged"
"""The header that names the columns of a row whose values are not told."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Columns of a DataFrame.

    Attributes:
        values: The values.
        topics: Of each.
        keys: Of each; None: they are not looked at.
        unchanged: Of each the header `unchanged`; empty: they are not looked at.
        headers: Other headers that are looked at, by their names.
    """

    values: pa.Array
    topics: Sequence[str]
    keys: pa.Array | None
    unchanged: Sequence[str | None]
    headers: Mapping[str, Sequence[str | None]] = field(default_factory=dict)

    def take(self, indexes: Sequence[int]) -> "Batch":
        """Some of the records."""
        # All of one table is the usual case, and copying it costs time.
        if len(indexes) == len(self.values):
            return self
        wanted = pa.array(indexes, pa.int64())
        return Batch(
            self.values.take(wanted),
            [self.topics[index] for index in indexes],
            None if self.keys is None else self.keys.take(wanted),
            [self.unchanged[index] for index in indexes] if self.unchanged else (),
            {name: [texts[index] for index in indexes] for name, texts in self.headers.items()},
        )


def batch_of(held: pa.Table) -> Batch:
    """The batch that a table of values, topics, keys and headers holds."""
    values = held.column("value").combine_chunks()
    names = held.column_names
    return Batch(
        values,
        held.column("topic").to_pylist() if "topic" in names else [""] * len(values),
        held.column("key").combine_chunks() if "key" in names else None,
        held.column(UNCHANGED).to_pylist() if UNCHANGED in names and held.column(UNCHANGED).null_count < len(values) else (),
        {
            name.removeprefix(HEADER): held.column(name).to_pylist()
            for name in names
            if name.startswith(HEADER) and name != UNCHANGED
        },
    )
