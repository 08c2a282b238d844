"""Transforms of structs of every type: rows and Arrow columns give the same."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.transforms import Record, Records
from rocketconnect_sdk.transforms.base import one_by_one
from rocketconnect_sdk.transforms.chain import make
from tests.examples import some
from tests.rocketconnect_sdk.typed_values import typed

Row = tuple[Schema, dict[str, Any]]


def test_a_map_with_a_schema_is_no_struct_and_keeps_its_entries() -> None:
    of = Schema(Type.MAP, keys=STRING, items=STRING)
    for raw in ({"type": "replace_field", "exclude": "a"}, {"type": "insert_field", "static.field": "b", "static.value": "x"}):
        found, said = outcome(raw, Records([{"a": "x"}], [0], "t", of))
        assert found == []
        assert "is no struct, whose fields" in said[0]


@st.composite
def rows(draw: st.DrawFn) -> Row:
    parts = {name: draw(typed()) for name in draw(st.lists(st.sampled_from("abcde"), unique=True, min_size=1))}
    return struct([(name, schema) for name, (schema, _) in parts.items()]), {name: value for name, (_, value) in parts.items()}


def outcome(raw: Mapping[str, str], records: Records) -> tuple[list[tuple[int, Record]], dict[int, str]]:
    done = make({"transforms": "x", **{f"transforms.x.{key}": value for key, value in raw.items()}}).run(records)
    found = list(one_by_one(done.runs))
    return found, {index: str(failed.error) for index, failed in done.failed.items()}


@pytest.mark.parametrize(
    "raw",
    [
        {"type": "replace_field", "exclude": "b", "renames": "a:x"},
        {"type": "insert_field", "static.field": "x!", "static.value": "here", "topic.field": "y", "timestamp.field": "z"},
        {"type": "cast", "spec": "a:string,b:string,c:string"},
        {"type": "cast", "spec": "a:int32,b:uint64,c:float64"},
        {"type": "mask_field", "fields": "a,b,c"},
        {"type": "mask_field", "fields": "a,b,c", "replacement": "1"},
        {"type": "set_null", "fields": "a,b"},
        {"type": "flatten"},
        {"type": "change_case", "from": "LOWER_UNDERSCORE", "to": "UPPER_UNDERSCORE"},
        {"type": "set_maximum_precision", "precision.max": "9"},
        {"type": "extract_field", "field": "a"},
        {"type": "hoist_field", "field": "x"},
        {"type": "value_to_key", "fields": "a"},
        {"type": "header_from", "fields": "a", "headers": "h", "operation": "move"},
        {"type": "cast", "spec": "a:timestamp(ms),b:date,c:decimal(30,3)"},
        {"type": "timestamp_converter", "field": "a", "target.type": "Timestamp", "format": "yyyy"},
        {"type": "timestamp_converter", "field": "a", "target.type": "Time", "unix.precision": "nanoseconds"},
        {"type": "timestamp_converter", "field": "a", "target.type": "unix"},
    ],
    ids=lambda raw: " ".join(raw.values()),
)
@given(row=rows(), tombstone=st.booleans())
@settings(deadline=None, max_examples=some(60))
def test_columns_become_what_rows_become(raw: Mapping[str, str], row: Row, tombstone: bool) -> None:
    schema, value = row
    values = [value, None, value] if tombstone else [value, value]
    given_rows = Records(values, range(len(values)), "t", schema, timestamps_ms=[5] * len(values))
    column = Column(to_array(values, schema))
    expected, failed = outcome(raw, given_rows)
    found, broken = outcome(raw, Records(column, range(len(values)), "t", schema, timestamps_ms=[5] * len(values)))
    assert broken == failed
    assert found == expected
    made = [record for _, record in found if record.value is not None and record.schema is not None]
    for record in made:
        # What it becomes fits the schema that it is said to have.
        assert list(Column(to_array([record.value], record.schema))) == [record.value]
