"""JSON of a column is that of its values under a JSON Schema, too, and many messages are read as each."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.converters.json.registered import JsonForm
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from tests.rocketconnect_sdk.typed_values import FLAT, columns, flat_rows, is_plain_json, many, shown

INT = Schema(Type.INT64)


@given(columns().flatmap(many), st.integers(0, 3), st.integers(1, 6))
def test_a_column_is_written_as_its_values_are_and_many_are_read_as_each(
    case: tuple[Schema, list[Any]], begin: int, times: int
) -> None:
    schema, values = case[0], [value for value in case[1] if value is not None] * times
    its = JsonForm(schema)
    alone = [its.encode(value) for value in values[begin:]]
    assert its.encode_many(values[begin:]) == alone
    assert its.encode_many(Column(to_array(values, schema)[begin:])) == alone
    assert shown(its.decode_many([b"head" + text for text in alone], 4)) == shown(its.decode(text, 0) for text in alone)


@given(flat_rows())
def test_rows_without_arrays_and_maps_are_read_as_a_column(rows: list[dict[str, Any]]) -> None:
    its = JsonForm(FLAT)
    found = its.decode_many([b"head" + its.encode(value) for value in rows], 4)
    assert shown(found) == shown(its.decode(its.encode(value), 0) for value in rows)
    assert isinstance(found, Column) or not all(map(is_plain_json, rows))


def test_a_column_of_another_type_is_written_value_by_value() -> None:
    latest = JsonForm(struct([("b", INT), ("a", INT)]))
    column = Column(to_array([{"a": 7, "b": 8}], struct([("a", INT), ("b", INT)])))
    assert latest.encode_many(column) == [b'{"b":8,"a":7}']


@pytest.mark.parametrize("bad", [b"null", b"{}", b'{"a":"x"}', b"1", b'{"a":1}x'])
def test_one_that_is_no_value_of_its_schema_is_told_of_many(bad: bytes) -> None:
    for schema in (struct([("a", INT)]), struct([("a", INT)], optional=True), struct([("a", Schema(Type.DATE))])):
        its = JsonForm(schema)
        assert len(its.decode_many([b'{"a":1}'] * 20, 0)) == 20
        with pytest.raises(RecordError):
            its.decode_many([b'{"a":1}'] * 19 + [bad], 0)


def test_each_of_many_is_looked_at_where_they_have_to_be_valid() -> None:
    its = JsonForm(STRING, jsonschema_rs.validator_for({"type": "string", "maxLength": 3}))
    assert its.decode_many([b'"abc"'] * 20, 0) == ["abc"] * 20
    with pytest.raises(RecordError, match="is not valid under its schema"):
        its.decode_many([b'"abc"'] * 19 + [b'"abcd"'], 0)
