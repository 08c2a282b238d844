"""The names of types."""

import pytest

from rocketconnect_sdk.columns.declared import TYPES, parse_columns, type_name
from rocketconnect_sdk.schema import LENGTH, Schema, Type, Unit, decimal, struct, timestamp


@pytest.mark.parametrize("name", TYPES)
def test_a_type_is_told_by_a_name_that_the_option_takes(name: str) -> None:
    (field,) = parse_columns(f"x:{name}").fields
    (again,) = parse_columns(f"x:{type_name(field.schema)}").fields
    assert again == field
    assert len(type_name(field.schema)) <= len(name)


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        (Schema(Type.STRING, name="email", version=2, doc="d", parameters=((LENGTH, "7"),), default="x"), "string"),
        (Schema(Type.FLOAT64, unit=Unit.MILLISECONDS), "double"),
        (decimal(2, precision=76), "decimal(76,2)"),
        (timestamp(Unit.NANOSECONDS, zone=False), "timestamp_ntz(ns)"),
        (struct([("a", Schema(Type.INT8))]), "struct"),
        (Schema(Type.ARRAY, items=Schema(Type.FLOAT32)), "array of float"),
        (Schema(Type.MAP, keys=Schema(Type.STRING), items=Schema(Type.DATE)), "map of string to date"),
        (None, "nothing"),
    ],
)
def test_of_every_schema_the_type_alone_is_told(schema: Schema | None, name: str) -> None:
    assert type_name(schema) == name
