"""Changes of rows, and frames of them as a task of a lake looks at them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from rocketconnect_sdk.schema import STRING, Schema, Type, struct

Row = dict[str, Any]
NUMBER = Schema(Type.INT64, optional=True)
TEXT = Schema(Type.STRING, optional=True)
QUEUE = "orders/broker-a/0"


def envelopes(row: Schema) -> Schema:
    names = Schema(Type.ARRAY, optional=True, items=STRING)
    return struct([("op", STRING), ("before", row), ("after", row), ("unchanged", names)], name="change", optional=True)


def change(op: str, *, before: Row | None = None, after: Row | None = None, unchanged: Sequence[str] = ()) -> Row:
    return {"op": op, "before": before, "after": after, "unchanged": list(unchanged) or None}


@dataclass(frozen=True, slots=True)
class Frame:
    """What a task looks at of a DataFrame: that costs no job of Spark's."""

    table: pa.Table

    @property
    def schema(self) -> StructType:
        return from_arrow_schema(self.table.schema)

    def toArrow(self) -> pa.Table:  # of Spark
        return self.table
