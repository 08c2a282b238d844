"""The columns of a table of Hudi: what Avro's types say of them, and what they leave out."""

import json
import re
from functools import lru_cache

import pyarrow as pa

from connectors.file_sink.columns import DIRECTORY, Columns
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.converters.avro.form import AvroForm
from rocketconnect_sdk.converters.json.schema import from_json, to_json
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.evolution import Settled, Takes
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.spark.types import stored_type

TABLE = Takes(columns=True, nulls=False, type=DIRECTORY.type)
"""What the columns can become: Hudi reads rows that lack new columns, and these are null in them."""
COLUMNS = "rocketconnect.columns"
"""Under it a commit, and the schema with which the table was made, keep what Avro's types do not say of the columns."""
OWN = "_hoodie_"
"""Columns of Hudi's own begin so."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def name_problem(name: str) -> str | None:
    """What is wrong with the name of a column: Hudi has its columns as Avro does."""
    if not _NAME.fullmatch(name):
        return "is no name for a column of Hudi, which has letters, digits and _, and does not begin with a digit"
    return "is a name of Hudi's own columns" if name.startswith(OWN) else None


class HudiColumns(Columns):
    """The columns of a table of Hudi, batch by batch."""

    def settle(self, table: Schema | None, schema: Schema, *, keyed: bool = False) -> Settled:
        """See Columns. Raises RecordError: also, a field has a name that no column can have."""
        settled = super().settle(table, schema, keyed=keyed)
        for field in settled.table.fields:
            if problem := name_problem(field.name):
                msg = f"{self._place}: {field.name} {problem}. Rename it with a transform"
                raise RecordError(msg)
        return settled


@lru_cache(maxsize=64)
def columns_of(avro: str, said: str | None) -> Schema:
    """The columns.

    Args:
        avro: The schema of the table, as its commits have it.
        said: What `said_of` made of them; believed of a column as far as it fits its type.

    Raises:
        RecordError: there are types that no schema stands for.
    """
    known = {}
    if said is not None:
        known = {each.name: each.schema for each in from_json(json.loads(said)).fields}
    found = AvroForm(avro).schema
    fields = [Field(each.name, _plain(each.schema)) for each in found.fields if not each.name.startswith(OWN)]
    return Schema(Type.STRUCT, fields=tuple(Field(each.name, believed(each.schema, known.get(each.name))) for each in fields))


def arrow_schema(columns: Schema) -> pa.Schema:
    """The columns as Arrow has them, and so Parquet.

    Raises:
        RecordError: there is no such type.
    """
    return pa.schema(
        [pa.field(each.name, stored_type(to_arrow_type(each.schema)), each.schema.optional) for each in columns.fields]
    )


def said_of(columns: Schema) -> str:
    """The text that says of columns what Avro's types do not: that a number is a uint32, a text a uuid."""
    return json.dumps(to_json(columns))


def said_when_made(avro: str | None) -> str | None:
    """What `said_of` made of the columns with which the table was made; None: others have made it."""
    said = None if avro is None else json.loads(avro).get(COLUMNS)
    return said if isinstance(said, str) else None


def believed(plain: Schema, said: Schema | None) -> Schema:
    """What is said of a column, as far as it fits its type."""
    if said is None or said.optional != plain.optional:
        return plain
    try:
        fits = _stored(said) == _stored(plain)
    except RecordError:
        return plain
    return said if fits else plain


def _stored(schema: Schema) -> object:
    kind = stored_type(to_arrow_type(schema))
    # Avro has no smaller ones.
    return "int32" if str(kind) in ("int8", "int16") else kind


def _plain(schema: Schema) -> Schema:
    """Without names and defaults, which are those of Avro's types."""
    return Schema(
        schema.type,
        optional=schema.optional,
        fields=tuple(Field(each.name, _plain(each.schema)) for each in schema.fields),
        items=None if schema.items is None else _plain(schema.items),
        keys=None if schema.keys is None else _plain(schema.keys),
        precision=schema.precision,
        scale=schema.scale,
        unit=schema.unit,
        zone=schema.zone,
    )
