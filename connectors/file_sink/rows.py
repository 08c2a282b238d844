"""The rows of a table for the values of a batch."""

from functools import partial
from typing import TYPE_CHECKING, Any

from connectors.file_sink.forms import typed_batches
from rocketconnect_sdk.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField, StructType


def rows_as(columns: Schema) -> Schema | None:
    """The columns, where the runtime can make rows of them; types that Spark has in another form are made in `rows_of`."""
    from rocketconnect_sdk.columns.arrow_types import to_arrow_type
    from rocketconnect_sdk.spark.types import stored_type

    kind = to_arrow_type(columns)
    return columns if stored_type(kind) == kind else None


def rows_of(frame: "DataFrame", columns: Schema | None) -> "DataFrame":
    """The rows.

    Args:
        frame: Of one column, value.
        columns: Those of the rows; None: the fields of structs, and a column "value" of other values.
    """
    from pyspark.sql.types import StructType

    value = frame.schema["value"].dataType
    if columns is None:
        return frame.select("value.*") if isinstance(value, StructType) else frame
    from rocketconnect_sdk.spark.types import to_spark_type

    fields: Any = to_spark_type(columns)
    if isinstance(value, StructType) and all(_has(value, field) for field in fields):
        return frame.select([frame["value"].getField(field.name).alias(field.name) for field in fields])
    return frame.mapInArrow(partial(typed_batches, columns), fields)


def _has(value: "StructType", field: "StructField") -> bool:
    """Whether the structs have such a field: then Spark takes it as it is, without Python."""
    return any((each.name, each.dataType) == (field.name, field.dataType) for each in value)
