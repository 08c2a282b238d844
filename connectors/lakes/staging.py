"""The rows of a batch as Spark has them, beside those of the table."""

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

import pyarrow as pa

from rocketconnect_sdk.targets.merging import Merge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def staged(session: "SparkSession", changes: Merge, columns: "StructType", key: Sequence[str], table: "DataFrame") -> "DataFrame":
    """The rows of a batch, each with whether it goes; what they keep of the table is in them.

    Args:
        session: Of Spark.
        changes: What becomes of the table.
        columns: The types of its rows.
        key: The columns of the key.
        table: The rows of the table.
    """
    from pyspark.sql.functions import array_contains, col, when
    from pyspark.sql.types import ArrayType, BooleanType, StringType, StructField, StructType

    names = changes.rows.column_names
    gone = free(names, "gone")
    rows = changes.rows.append_column(gone, pa.array(changes.gone, pa.bool_()))
    fields = [*columns.fields, StructField(gone, BooleanType())]
    if changes.bases is None:
        return session.createDataFrame(rows, StructType(fields))
    kept, bases = free(names, "kept"), [free(names, f"base_{number}") for number in range(len(key))]
    rows = rows.append_column(kept, pa.array(changes.kept, pa.list_(pa.string())))
    fields.append(StructField(kept, ArrayType(StringType())))
    for base, name in zip(bases, key, strict=True):
        rows = rows.append_column(base, changes.bases.column(name))
        fields.append(StructField(base, columns[name].dataType))
    there = {name for each in changes.kept for name in each}.intersection(table.columns)
    same = [col(of("s", base)) == col(of("t", name)) for base, name in zip(bases, key, strict=True)]
    both = session.createDataFrame(rows, StructType(fields)).alias("s").join(table.alias("t"), reduce(and_, same), "left")
    filled = [
        when(array_contains(col(of("s", kept)), name), col(of("t", name))).otherwise(col(of("s", name))).alias(name)
        if name in there
        else col(of("s", name))
        for name in names
    ]
    return both.select(*filled, col(of("s", gone)))


def free(names: Sequence[str], what: str) -> str:
    """A name that no column has, whatever the case of its letters."""
    taken, name = {each.lower() for each in names}, f"rocketconnect_{what}"
    while name in taken:
        name += "_"
    return name


def of(side: str, name: str) -> str:
    """A column of one side of a join."""
    return f"{side}.{quoted(name)}"


def quoted(name: str) -> str:
    """A name in the SQL of Spark."""
    return f"`{name.replace('`', '``')}`"
