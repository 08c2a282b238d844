"""What a batch does to a table, as a MERGE of Delta."""

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from connectors.delta_sink.merging import Merge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def staged(session: "SparkSession", changes: Merge, columns: "StructType", key: Sequence[str], place: str) -> "DataFrame":
    """The rows of a batch, each with whether it goes; what they keep of the table is in them.

    Args:
        session: Of Spark, with Delta.
        changes: What becomes of the table.
        columns: The types of its rows.
        key: The columns of the key.
        place: The address of the table.
    """
    from pyspark.sql.functions import array_contains, col, when
    from pyspark.sql.types import ArrayType, BooleanType, StringType, StructField, StructType

    names = changes.rows.column_names
    gone = _free(names, "gone")
    rows = changes.rows.append_column(gone, pa.array(changes.gone, pa.bool_()))
    fields = [*columns.fields, StructField(gone, BooleanType())]
    if changes.bases is None:
        return session.createDataFrame(rows, StructType(fields))
    kept, bases = _free(names, "kept"), [_free(names, f"base_{number}") for number in range(len(key))]
    rows = rows.append_column(kept, pa.array(changes.kept, pa.list_(pa.string())))
    fields.append(StructField(kept, ArrayType(StringType())))
    for base, name in zip(bases, key, strict=True):
        rows = rows.append_column(base, changes.bases.column(name))
        fields.append(StructField(base, columns[name].dataType))
    table = session.read.format("delta").load(place)
    there = {name for each in changes.kept for name in each}.intersection(table.columns)
    same = [col(_of("s", base)) == col(_of("t", name)) for base, name in zip(bases, key, strict=True)]
    both = session.createDataFrame(rows, StructType(fields)).alias("s").join(table.alias("t"), reduce(and_, same), "left")
    filled = [
        when(array_contains(col(_of("s", kept)), name), col(_of("t", name))).otherwise(col(_of("s", name))).alias(name)
        if name in there
        else col(_of("s", name))
        for name in names
    ]
    return both.select(*filled, col(_of("s", gone)))


def merger(table: Any, rows: "DataFrame", changes: Merge, key: Sequence[str]) -> Any:
    """The MERGE, which is not run yet.

    Args:
        table: A DeltaTable of Java's.
        rows: Of staged().
        changes: What becomes of the table.
        key: The columns of the key.
    """
    names = changes.rows.column_names
    gone = _of("s", _free(names, "gone"))
    same = " AND ".join(f"{_of('t', name)} = {_of('s', name)}" for name in key)
    # "as" is a word of Python.
    made = getattr(table, "as")("t").merge(getattr(rows._jdf, "as")("s"), same)  # noqa: SLF001  # the way to Java
    if any(changes.gone):
        made = made.whenMatched(gone).delete()
    if others := {_quoted(name): _of("s", name) for name in names if name not in key}:
        made = made.whenMatched().updateExpr(others)
    made = made.whenNotMatched(f"NOT {gone}").insertExpr({_quoted(name): _of("s", name) for name in names})
    return made.whenNotMatchedBySource().delete() if changes.truncates else made


def _free(names: Sequence[str], what: str) -> str:
    """A name that no column has, whatever the case of its letters."""
    taken, name = {each.lower() for each in names}, f"rocketconnect_{what}"
    while name in taken:
        name += "_"
    return name


def _of(side: str, name: str) -> str:
    return f"{side}.{_quoted(name)}"


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
