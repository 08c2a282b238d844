"""replace.null.with.default: nulls become what their schemas have for them, where it is said, in rows and columns alike."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.transforms import Record, Records, transform_class
from rocketconnect_sdk.transforms.base import one_by_one
from rocketconnect_sdk.transforms.chain import make
from tests.examples import some
from tests.rocketconnect_sdk.typed_values import LEAVES

OPTION = "replace.null.with.default"
NUMBER = Schema(Type.INT64, optional=True, default=7)
TEXT = replace(STRING, optional=True, default="none")
PLAIN = replace(STRING, optional=True)
INNER = replace(struct([("n", NUMBER)]), optional=True)
SCHEMA = struct([("a", NUMBER), ("b", TEXT), ("c", PLAIN), ("inner", INNER)])

COPYING: Mapping[str, Mapping[str, str]] = {
    "Cast": {"spec": "a:string"},
    "InsertField": {"topic.field": "where"},
    "MaskField": {"fields": "a", "replacement": "1"},
    "ReplaceField": {"renames": "a:x"},
    "SetSchemaMetadata": {"schema.name": "named"},
    "TimestampConverter": {"field": "a", "target.type": "Timestamp"},
    "HeaderFrom": {"fields": "a", "headers": "h", "operation": "move"},
}
"""Those that make a new struct of the whole old one."""


@st.composite
def rows(draw: st.DrawFn) -> tuple[Schema, list[dict[str, Any]]]:
    """Fields of every type that may be null, each with a default."""
    fields = {}
    leaves = st.sampled_from(list(LEAVES.items()))
    for name, (schema, values) in {name: draw(leaves) for name in "abc"}.items():
        fields[name] = replace(schema, optional=True, default=draw(values)), st.none() | values
    made = [{name: draw(values) for name, (_, values) in fields.items()} for _ in range(3)]
    return struct([(name, schema) for name, (schema, _) in fields.items()]), made


def run(kind: str, options: Mapping[str, str], schema: Schema | None, values: Any) -> tuple[list[Record], list[str]]:
    raw = {"transforms": "x", "transforms.x.type": kind, **{f"transforms.x.{key}": value for key, value in options.items()}}
    done = make(raw).run(Records(values, range(len(values)), "t", schema))
    return [record for _, record in one_by_one(done.runs)], [str(failed.error) for failed in done.failed.values()]


def kafka(kind: str) -> str:
    return f"org.apache.kafka.connect.transforms.{kind}$Value"


def plain(kind: str) -> str:
    return transform_class(kafka(kind))[0].name


@pytest.mark.parametrize("kind", COPYING)
@given(given_rows=rows())
@settings(deadline=None, max_examples=some(40))
def test_it_is_as_if_the_defaults_had_been_there(kind: str, given_rows: tuple[Schema, list[dict[str, Any]]]) -> None:
    schema, values = given_rows
    defaults = {field.name: field.schema.default for field in schema.fields}
    full = [{name: defaults[name] if held is None else held for name, held in value.items()} for value in values]
    expected = run(plain(kind), COPYING[kind], schema, full)
    replacing = {**COPYING[kind], OPTION: "true"}
    assert run(plain(kind), replacing, schema, values) == expected
    assert run(kafka(kind), COPYING[kind], schema, values) == expected
    assert run(plain(kind), replacing, schema, Column(to_array(values, schema))) == expected


@pytest.mark.parametrize("kind", COPYING)
def test_a_null_stays_a_null_by_our_names_and_where_that_is_said(kind: str) -> None:
    value = dict.fromkeys("abc") | {"inner": None}
    for name, options in ((plain(kind), {}), (kafka(kind), {OPTION: "false"})):
        for values in ([value], Column(to_array([value], SCHEMA))):
            (record,), _ = run(name, {**COPYING[kind], **options}, SCHEMA, values)
            assert isinstance(record.value, Mapping)
            assert (record.value["b"], record.value["c"], record.headers.get("h")) == (None, None, None)


def test_only_what_has_a_default_and_a_schema_is_replaced_and_tombstones_stay_what_they_are() -> None:
    values: list[object] = [
        {"a": None, "b": None, "c": None, "inner": {"n": None}},
        None,
        {"a": 1, "b": "x", "c": None, "inner": None},
    ]
    expected = [{"a": 7, "b": "none", "c": None, "inner": {"n": None}}, None, values[2]]
    for held in (values, Column(to_array(values, SCHEMA))):
        found, _ = run(kafka("SetSchemaMetadata"), {"schema.name": "x"}, SCHEMA, held)
        assert [record.value for record in found] == expected
    (record,), _ = run(kafka("InsertField"), {"topic.field": "where"}, None, [{"a": None}])
    assert record.value == {"a": None, "where": "t"}


def test_a_field_that_is_extracted_has_its_default_and_none_where_the_struct_around_it_is_null() -> None:
    values = [{"a": None, "b": "", "c": "", "inner": inner} for inner in ({"n": None}, None, {"n": 1})]
    for held in (values, Column(to_array(values, SCHEMA))):
        for field, expected in (("a", [7, 7, 7]), ("inner.n", [7, None, 1])):
            found, _ = run(kafka("ExtractField"), {"field": field, "field.syntax.version": "V2"}, SCHEMA, held)
            assert [record.value for record in found] == expected
        found, _ = run("extract_field", {"field": "a"}, SCHEMA, held)
        assert [record.value for record in found] == [None] * 3


def test_fields_of_structs_within_have_their_defaults_when_they_are_flattened_as_in_kafka_connect() -> None:
    values = [{"a": None, "b": "", "c": "", "inner": inner} for inner in ({"n": None}, None, {"n": 1})]
    for held in (values, Column(to_array(values, SCHEMA))):
        found, _ = run(kafka("Flatten"), {}, SCHEMA, held)
        assert [record.value for record in found] == [{"a": 7, "b": "", "c": "", "inner.n": n} for n in (7, None, 1)]
        found, _ = run("flatten", {}, SCHEMA, held)
        assert [record.value for record in found] == [{"a": None, "b": "", "c": "", "inner.n": n} for n in (None, None, 1)]


def test_only_the_key_or_the_header_gets_the_default_where_the_value_stays() -> None:
    value = {"a": None, "b": None, "c": "", "inner": None}
    for held in ([value], Column(to_array([value], SCHEMA))):
        (record,), _ = run("org.apache.kafka.connect.transforms.ValueToKey", {"fields": "a,b"}, SCHEMA, held)
        assert (record.key, record.value) == ({"a": 7, "b": "none"}, value)
        (record,), _ = run(kafka("HeaderFrom"), {"fields": "a", "headers": "h", "operation": "copy"}, SCHEMA, held)
        assert (record.headers, record.value) == ({"h": "7"}, value)
        (record,), _ = run("value_to_key", {"fields": "a,b"}, SCHEMA, held)
        assert record.key == {"a": None, "b": None}


def test_what_kafka_connect_has_without_it_has_none_here() -> None:
    for kind in ("HoistField", "RegexRouter", "DropHeaders"):
        found, said = transform_class(f"org.apache.kafka.connect.transforms.{kind}")
        assert OPTION not in {option.key for option in found.options}
        assert OPTION not in said
