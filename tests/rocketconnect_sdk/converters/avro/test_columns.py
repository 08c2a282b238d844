"""Avro of a column is that of its values, and many messages are read as each."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.converters.avro.columns import messages_of
from rocketconnect_sdk.converters.avro.form import AvroForm
from rocketconnect_sdk.converters.avro.schema import to_avro
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import STRING, Schema, Type, decimal, struct, timestamp
from tests.rocketconnect_sdk.converters.avro.test_converter import has_empty_items
from tests.rocketconnect_sdk.typed_values import FLAT, LEAVES, TEXT, columns, flat_rows, many, shown

INT = Schema(Type.INT64)


def form(schema: Schema) -> AvroForm:
    return AvroForm(to_avro(schema))


@given(columns().flatmap(many), st.integers(0, 3))
def test_a_column_of_any_type_is_written_at_once_as_its_values_are(case: tuple[Schema, list[Any]], begin: int) -> None:
    schema, values = case
    assume(not has_empty_items(schema))
    if not schema.optional:
        values = [value for value in values if value is not None]
    its = form(schema)
    column = to_array(values, schema)[begin:]
    alone = [its.encode(value) for value in values[begin:]]
    assert its._codec.layout is not None
    assert messages_of(column, schema, its._codec.layout) == alone
    assert its.encode_many(Column(column)) == alone


@pytest.mark.slow
@given(flat_rows())
def test_rows_without_arrays_and_maps_are_read_as_a_column(rows: list[dict[str, Any]]) -> None:
    its = form(FLAT)
    messages = [its.encode(value) for value in rows]
    found = its.decode_many([b"head" + message for message in messages], 4)
    assert shown(found) == shown(its.decode(message, 0) for message in messages)
    assert isinstance(found, Column)
    assert found.array.equals(to_array(rows, FLAT))
    assert its.encode_many(found) == messages


@given(columns().flatmap(many), st.data())
def test_whatever_bytes_come_many_are_read_as_each(case: tuple[Schema, list[Any]], data: st.DataObject) -> None:
    """The same values, or a RecordError with both."""
    assume(not has_empty_items(case[0]))
    its, values = form(struct([("a", case[0]), ("b", INT)])), [{"a": value, "b": 1 << 40} for value in case[1]] * 16
    messages = [its.encode(value) for value in values]
    changed = bytearray(messages[-1])
    for _ in range(data.draw(st.integers(0, 2))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    messages[-1] = bytes(changed[: data.draw(st.integers(len(changed) - 1, len(changed)))]) + data.draw(st.binary(max_size=1))
    try:
        alone = [its.decode(message, 0) for message in messages]
    except RecordError:
        with pytest.raises(RecordError):
            its.decode_many(messages, 0)
        return
    assert shown(its.decode_many(messages, 0)) == shown(alone)


@st.composite
def listed(draw: st.DrawFn) -> tuple[Schema, list[dict[str, Any]]]:
    """Rows with arrays and maps of a type, and with arrays of these."""
    leaf = draw(st.sampled_from(list(LEAVES)))
    key = draw(st.sampled_from([each for each in LEAVES if each.type not in (Type.FLOAT32, Type.FLOAT64)]))
    some, maybe = LEAVES[leaf], draw(st.booleans())
    items = replace(leaf, optional=maybe)
    values = st.none() | some if maybe else some
    inner = struct([("x", items), ("more", Schema(Type.ARRAY, items=items))])
    structs = st.fixed_dictionaries({"x": values, "more": st.lists(values, max_size=2)})
    fields = {
        "list": (Schema(Type.ARRAY, items=items), st.lists(values, max_size=3)),
        "none": (Schema(Type.ARRAY, items=items, optional=True), st.none() | st.lists(values, max_size=2)),
        "map": (Schema(Type.MAP, keys=key, items=items), st.dictionaries(LEAVES[key], values, max_size=3)),
        "maybe": (Schema(Type.MAP, keys=STRING, items=items, optional=True), st.none() | st.dictionaries(TEXT, values, max_size=2)),
        "deep": (Schema(Type.ARRAY, items=inner), st.lists(structs, max_size=2)),
        "last": (INT, LEAVES[INT]),
    }
    schema = struct([(name, its) for name, (its, _) in fields.items()])
    rows = st.fixed_dictionaries({name: of for name, (_, of) in fields.items()})
    return schema, draw(st.lists(rows, min_size=1, max_size=4)) * 16


@given(listed())
def test_rows_with_arrays_and_maps_are_read_as_a_column(case: tuple[Schema, list[dict[str, Any]]]) -> None:
    schema, rows = case
    its = form(schema)
    messages = [its.encode(value) for value in rows]
    found = its.decode_many([b"head" + message for message in messages], 4)
    assert shown(found) == shown(its.decode(message, 0) for message in messages)
    assert isinstance(found, Column)
    assert found.array.type == to_array(rows, schema).type
    assert found.array.equals(to_array(rows, schema))
    found.array.validate(full=True)
    assert its.encode_many(found) == messages


NUMBERS, NAMED = Schema(Type.ARRAY, items=INT), Schema(Type.MAP, keys=STRING, items=INT)


@pytest.mark.parametrize(
    ("schema", "good", "odd", "value", "at_once"),
    [
        (NUMBERS, b"\x04\x02\x04\x00", b"\x03\x04\x02\x04\x00", [1, 2], True),
        (NAMED, b"\x02\x02a\x02\x00", b"\x01\x06\x02a\x02\x00", {"a": 1}, True),
        (NUMBERS, b"\x04\x02\x04\x00", b"\x02\x02\x02\x04\x00", [1, 2], False),
        (NUMBERS, b"\x04\x02\x04\x00", b"\x84\x00\x82\x00\x04\x00", [1, 2], True),
    ],
    ids=["a size is said", "a size of a map is said", "two blocks", "longer numbers than need be"],
)
def test_arrays_that_others_write_are_read_as_each(schema: Schema, good: bytes, odd: bytes, value: object, at_once: bool) -> None:
    its = form(schema)
    found = its.decode_many([good, odd] * 20, 0)
    assert list(found) == [value] * 40
    assert isinstance(found, Column) is at_once


@pytest.mark.parametrize(
    ("schema", "good", "bad", "said"),
    [
        (NAMED, b"\x02\x02a\x02\x00", b"\x04\x02a\x02\x02a\x02\x00", "a map has a key twice"),
        (NUMBERS, b"\x02\x02\x00", b"\x04\x02\x00", "ends before its value does"),
        (NUMBERS, b"\x02\x02\x00", b"\x02\x02", "ends before its value does"),
        (NUMBERS, b"\x02\x02\x00", b"\x02\x02\x00\x00", "1 byte follows the value"),
        (NUMBERS, b"\x02\x02\x00", b"\xfe" + b"\xff" * 8 + b"\x01\x02\x00", "ends before its value does"),
        (Schema(Type.ARRAY, items=STRING), b"\x02\x02a\x00", b"\x02\x01a\x00", "a length of -1 bytes"),
        (Schema(Type.ARRAY, items=Schema(Type.BOOLEAN)), b"\x02\x01\x00", b"\x02\x02\x00", "a boolean is 0 or 1"),
        (
            Schema(Type.ARRAY, items=Schema(Type.FLOAT64)),
            b"\x02" + b"\x00" * 9,
            b"\x04" + b"\x00" * 9,
            "ends before its value does",
        ),
    ],
)
def test_arrays_that_are_none_are_told_of_many(schema: Schema, good: bytes, bad: bytes, said: str) -> None:
    its = form(schema)
    assert isinstance(its.decode_many([good] * 20, 0), Column)
    for messages in ([good] * 19 + [bad], [bad] + [good] * 19):
        with pytest.raises(RecordError, match=said):
            its.decode_many(messages, 0)


def test_one_long_array_among_short_ones_is_read_one_by_one() -> None:
    """Side by side it would take as many turns as it has items."""
    texts = Schema(Type.ARRAY, items=STRING)
    its = form(texts)
    rows: list[list[str]] = [["a"], []] * 20 + [["b"] * 5_000]
    found = its.decode_many([its.encode(row) for row in rows], 0)
    assert list(found) == rows
    assert not isinstance(found, Column)
    numbers = form(NUMBERS)
    counts = [[1], []] * 20 + [list(range(5_000))]
    assert isinstance(found := numbers.decode_many([numbers.encode(row) for row in counts], 0), Column)
    assert list(found) == counts


@pytest.mark.parametrize("leaf", LEAVES, ids=str)
def test_a_null_that_must_not_be_is_told(leaf: Schema) -> None:
    row = struct([("a", leaf)])
    with pytest.raises(RecordError, match="a: "):
        form(row).encode_many(Column(to_array([{"a": None}], row)))


def test_a_column_of_another_type_is_written_value_by_value() -> None:
    """As with use.latest.version, where the registry says the schema."""
    latest = form(struct([("b", INT), ("a", INT)]))
    column = Column(to_array([{"a": 7, "b": 8}], struct([("a", INT), ("b", INT)])))
    assert latest.encode_many(column) == [latest.encode({"a": 7, "b": 8})]


@pytest.mark.parametrize(
    ("schema", "good", "bad", "said"),
    [
        (struct([("a", Schema(Type.BOOLEAN))]), b"\x01", b"\x02", "a boolean is 0 or 1"),
        (struct([("a", Schema(Type.BOOLEAN, optional=True))]), b"\x02\x01", b"\x04", "has no branch 2"),
        (Schema(Type.BOOLEAN, optional=True), b"\x02\x01", b"\x00", "the value is null"),
        (Schema(Type.INT8), b"\x02", b"\x80\x02", "128 is not from -128 to 127"),
        (Schema(Type.DATE), b"\x02", b"\x80\x80\x80\x80\x04", "date value out of range"),
        (timestamp(), b"\x02", b"\x80" * 8 + b"\x40", "date value out of range"),
        (Schema(Type.UUID), b"\x48" + b"0" * 8 + b"-0000" * 3 + b"-" + b"0" * 12, b"\x02x", "badly formed"),
        (STRING, b"\x02a", b"\x02\xff", "can't decode byte"),
        (STRING, b"\x02a", b"\x04a", "ends before its value does"),
        (STRING, b"\x02a", b"\x02ab", "1 byte follows the value"),
    ],
)
def test_one_that_is_no_value_of_its_schema_is_told_of_many(schema: Schema, good: bytes, bad: bytes, said: str) -> None:
    """And the others are read as a column."""
    its = form(schema)
    assert isinstance(its.decode_many([good] * 20, 0), Column)
    for messages in ([good] * 19 + [bad], [bad] + [good] * 19):
        with pytest.raises(RecordError, match=said):
            its.decode_many(messages, 0)


UNION = ["null", "int", "string"]
OF_OTHERS = {
    "null stands second": (["int", "null"], [1, None, -(1 << 31)], True),
    "an enum": ({"type": "enum", "name": "e", "symbols": ["A", "B", "C"]}, ["A", "C", "B"], True),
    "an enum or null": (["null", {"type": "enum", "name": "e", "symbols": ["A", "B"]}], ["B", None], True),
    "bytes of one size": ({"type": "fixed", "name": "f", "size": 2}, [b"ab", b"\x00\xff"], True),
    "a uuid of bytes": ({"type": "fixed", "name": "f", "size": 16, "logicalType": "uuid"}, [], True),
    "a union of several": (UNION, [None, {"int": 1, "string": None}, {"int": None, "string": "x"}], False),
    "a union of one": (["int"], [1, 2], False),
    "a record in a record": (
        {"type": "record", "name": "i", "fields": [{"name": "x", "type": "long"}, {"name": "y", "type": ["null", "boolean"]}]},
        [{"x": 1, "y": None}, {"x": 2, "y": True}],
        True,
    ),
}


@pytest.mark.parametrize(("kind", "values", "at_once"), OF_OTHERS.values(), ids=OF_OTHERS)
def test_what_others_write_is_read_and_written_as_each(kind: object, values: list[object], at_once: bool) -> None:
    its = AvroForm(
        json.dumps({"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}, {"name": "b", "type": "int"}]})
    )
    rows = [{"a": value, "b": number} for number, value in enumerate(values)] * 20
    messages = [its.encode(row) for row in rows]
    found = its.decode_many(messages, 0)
    assert list(found) == rows
    assert isinstance(found, Column) is at_once or not rows
    assert its.encode_many(Column(to_array(rows, its.schema))) == messages


def test_a_symbol_that_an_enum_does_not_have_and_bytes_of_another_size_are_told() -> None:
    for kind, good, bad in (
        ({"type": "enum", "name": "e", "symbols": ["A"]}, "A", "B"),
        ({"type": "fixed", "name": "f", "size": 2}, b"ab", b"abc"),
    ):
        its = AvroForm(json.dumps({"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]}))
        with pytest.raises(RecordError, match="a: "):
            its.encode_many(Column(to_array([{"a": good}, {"a": bad}], its.schema)))


def test_decimals_of_one_size_are_written_and_read_as_each() -> None:
    kind = {"type": "fixed", "name": "f", "size": 6, "logicalType": "decimal", "precision": 9, "scale": 2}
    its = AvroForm(json.dumps({"type": "record", "name": "r", "fields": [{"name": "a", "type": kind}]}))
    column = to_array([{"a": number} for number in range(-10, 10)], its.schema)
    messages = [its.encode(value) for value in Column(column)]
    assert its.encode_many(Column(column)) == messages
    found = its.decode_many(messages, 0)
    assert isinstance(found, Column)
    assert found.array.equals(column)


def test_values_that_are_no_rows_are_read_at_once_too() -> None:
    for schema, value in ((STRING, "line"), (INT, 5), (decimal(2), 7)):
        its = form(schema)
        found = its.decode_many([its.encode(value)] * 40, 0)
        assert isinstance(found, Column)
        assert list(found) == [value if schema.type is not Type.DECIMAL else its.decode(its.encode(value), 0)] * 40
