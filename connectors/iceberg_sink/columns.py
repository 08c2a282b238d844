"""What the columns of an Iceberg table can become."""

from connectors.file_sink.columns import DIRECTORY
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.evolution import Takes
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.spark.types import stored_type

_WIDER = {("int32", "int64"), ("float", "double")}
"""Iceberg reads what is there as the wider type; others it does not change."""


def _widens(column: Schema, wider: Schema) -> bool:
    stored = [str(stored_type(to_arrow_type(each))) for each in (column, wider)]
    return DIRECTORY.type(column, wider) or tuple(stored) in _WIDER


TABLE = Takes(columns=True, nulls=True, type=_widens)
