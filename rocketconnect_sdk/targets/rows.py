"""Rows of a batch together with what they are."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from rocketconnect_sdk.columns.parts import places_of
from rocketconnect_sdk.schema import Schema


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows and their schema. Neither goes anywhere alone: a row before a change can have other columns than the one after it.

    Attributes:
        values: Structs, or nulls, in the types that Spark has for the schema.
        schema: A struct of the same fields.

    Raises:
        ValueError: The structs have other fields than the schema, which is a defect.
    """

    values: pa.StructArray
    schema: Schema

    def __post_init__(self) -> None:
        """See Raises."""
        places_of(self.values, self.schema)

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [each.name for each in self.schema.fields]

    def has(self, names: Iterable[str]) -> bool:
        """Whether all of these are columns."""
        return set(names) <= set(self.names)

    def column(self, name: str) -> pa.Array:
        """One of the columns; what it has in a row that is null means nothing."""
        return self.values.field(name)

    def take(self, indexes: Sequence[int]) -> "Rows":
        """Some of the rows, in their order."""
        # All of them is the usual case, and copying them costs time.
        if len(indexes) == len(self.values):
            return self
        return replace(self, values=self.values.take(pa.array(indexes, pa.int64())))

    def without(self, names: Collection[str]) -> "Rows":
        """The rows without some of the columns."""
        if not names:
            return self
        kept = [each for each in self.schema.fields if each.name not in names]
        parts = [self.column(each.name) for each in kept]
        mask = self.values.is_null() if self.values.null_count else None
        made = pa.StructArray.from_arrays(parts, [each.name for each in kept], mask=mask)
        return Rows(made, replace(self.schema, fields=tuple(kept)))
