"""The columns of structs by their names."""

import pyarrow as pa
import pytest

from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.evolution.fitting import fit
from rocketconnect_sdk.schema import Schema, Type, struct

NUMBER = Schema(Type.INT64, optional=True)
BACKWARDS = struct([("b", NUMBER), ("a", NUMBER)])
VALUES = pa.array([{"a": 1, "b": 2}, None])


def test_they_come_in_the_order_of_the_schema_whatever_that_of_the_structs_is() -> None:
    assert [(field.name, values.to_pylist()) for field, values in fields_of(VALUES, BACKWARDS)] == [
        ("b", [2, None]),
        ("a", [1, None]),
    ]
    assert fit(VALUES, BACKWARDS, struct([("a", NUMBER), ("b", NUMBER)]))[0].to_pylist() == [{"a": 1, "b": 2}, None]


def test_those_within_others_too() -> None:
    schema = struct([("row", struct([("b", NUMBER), ("a", NUMBER)])), ("rows", Schema(Type.ARRAY, items=BACKWARDS))])
    values = pa.array([{"rows": [{"a": 1, "b": 2}], "row": {"a": 3, "b": 4}}])
    assert fit(values, schema, schema)[0].to_pylist() == [{"row": {"b": 4, "a": 3}, "rows": [{"b": 2, "a": 1}]}]


@pytest.mark.parametrize("names", [["a"], ["a", "c"], ["a", "b", "c"]])
def test_structs_of_other_fields_are_no_values_of_a_schema(names: list[str]) -> None:
    with pytest.raises(ValueError, match=r"structs of the fields a, b are no values of a schema with a"):
        list(fields_of(VALUES, struct([(name, NUMBER) for name in names])))
