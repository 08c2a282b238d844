"""The columns of a table of Hudi as Arrow has them. Pure."""

from functools import lru_cache

import pyarrow as pa

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.converters.avro.form import AvroForm
from rocketconnect_sdk.spark.types import stored_type

OWN = "_hoodie_"
"""Columns of Hudi's own begin so."""
COMMIT_TIME = pa.field("_hoodie_commit_time", pa.string())
"""The commit that has made a row what it is."""
ROW_KEY = pa.field("_hoodie_record_key", pa.string())


@lru_cache(maxsize=64)
def columns_of(avro: str) -> pa.Schema:
    """The columns of a table, without those of Hudi's own.

    Args:
        avro: As its commits have them.

    Raises:
        RecordError: one has a type that is not read.
    """
    fields = [each for each in AvroForm(avro).schema.fields if not each.name.startswith(OWN)]
    return pa.schema([pa.field(each.name, stored_type(to_arrow_type(each.schema)), each.schema.optional) for each in fields])
