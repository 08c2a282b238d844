"""Rows before and after changes that are held as they came, so that columns are made of many of them at once."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.changes import arrays
from rocketconnect_sdk.changes.masks import TableMasks
from rocketconnect_sdk.columns.arrow_types import recast, to_arrow_type
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.schema import Schema


class ImageReader(Protocol):
    """Makes columns of the images of a table."""

    def arrays(self, images: Sequence[Any]) -> Sequence[pa.Array]:
        """All rows of images that have this reader, in their order, as an array for each column, in the types of arrow_types.

        Raises:
            RecordError: at least one value is none of its column; the rows one by one say which.
        """
        ...


class Images(Sequence[Any]):
    """Rows of a table; an element is a sequence of values. See TableChanges.extend.

    Attributes:
        reader: Makes columns of them, and of others that have the same one.
    """

    reader: ImageReader

    @abstractmethod
    def __len__(self) -> int:
        """How many."""


def structs(schema: Schema, side: Sequence[Any], counts: Sequence[int], masks: TableMasks) -> Column:
    """Rows as structs; null where there are no images.

    Args:
        schema: Of the structs.
        side: The Images of blocks of changes, all of one reader; None: a block has none.
        counts: How many changes each block has.
        masks: Of their columns.

    Raises:
        RecordError: a value does not fit its column.
    """
    there = [images for images in side if images is not None]
    if not there:
        return arrays.nulls(schema, sum(counts))
    columns = zip(masks.arrays(there[0].reader.arrays(there)), to_arrow_type(schema), strict=True)
    # Parts of values may be null before a change.
    made = arrays.of_parts(schema, [recast(part, field.type) for part, field in columns])
    if len(there) == len(side):
        return made
    places: list[int | None] = []
    found = 0
    for images, count in zip(side, counts, strict=True):
        places += [None] * count if images is None else range(found, found + count)
        found += 0 if images is None else count
    return Column(made.array.take(pa.array(places, pa.int64())))


def keys(schema: Schema, before: Column, after: Column) -> Column | None:
    """The keys of changes, which have a row before, after or both; None: at least one changes its key, or has a null in it."""
    parts = []
    for field in schema.fields:
        old, new = before.array.field(field.name), after.array.field(field.name)
        kind = new.type
        if field.schema.optional and (old.null_count > before.array.null_count or new.null_count > after.array.null_count):
            return None
        if isinstance(kind, pa.BaseExtensionType):
            # Arrow compares only what they are held as.
            old, new = old.storage, new.storage
        if pc.any(pc.not_equal(old, new)).as_py():
            return None
        found = pc.coalesce(new, old)
        parts.append(pa.ExtensionArray.from_storage(kind, found) if isinstance(kind, pa.BaseExtensionType) else found)
    return arrays.of_parts(schema, parts)
