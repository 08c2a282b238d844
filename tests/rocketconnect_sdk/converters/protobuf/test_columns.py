"""Protobuf of a column is that of its values, and many messages are read as each."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.converters.protobuf.columns import messages_of
from rocketconnect_sdk.converters.protobuf.converter import ProtobufFile
from rocketconnect_sdk.converters.protobuf.files import compiled
from rocketconnect_sdk.converters.protobuf.text import to_proto
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import STRING, Schema, Type, decimal, struct
from tests.examples import some
from tests.rocketconnect_sdk.typed_values import FLAT, LEAVES, TEXT, columns, flat_rows, many, shown

INT = Schema(Type.INT64)


@cache
def form(schema: Schema) -> ProtobufFile:
    return ProtobufFile(compiled(to_proto(schema), {}))


@cache
def of_others(text: str, syntax: str = "proto3") -> ProtobufFile:
    return ProtobufFile(compiled(f'syntax = "{syntax}"; {text}', {}))


def alone(its: ProtobufFile, messages: list[bytes]) -> list[object]:
    return [its.decode(message, 0) for message in messages]


def at_once(its: ProtobufFile, messages: list[bytes]) -> Any:
    found, start = its.at(messages[0], 0)
    return found.decode_many(messages, start)


# Each example starts a compiler.
@settings(max_examples=some(25, 5))
@given(columns().flatmap(many), st.integers(0, 3))
def test_a_column_is_written_as_its_values_are_and_many_are_read_as_each(case: tuple[Schema, list[Any]], begin: int) -> None:
    schema, values = case[0], [value for value in case[1] if value is not None]
    its = form(schema)
    messages = [its.encode(value) for value in values[begin:]]
    assert messages_of(to_array(values, schema)[begin:], its._first._layout) == [message[1:] for message in messages]
    assert its.encode_many(Column(to_array(values, schema)[begin:])) == messages
    if messages:
        assert shown(at_once(its, messages * 20)) == shown(alone(its, messages) * 20)


@settings(max_examples=some(40, 5))
@given(flat_rows(), st.integers(0, 3))
def test_rows_without_arrays_and_maps_are_written_and_read_as_columns(rows: list[dict[str, Any]], begin: int) -> None:
    its = form(FLAT)
    messages = [its.encode(value) for value in rows]
    assert messages_of(to_array(rows, FLAT)[begin:], its._first._layout) == [message[1:] for message in messages[begin:]]
    found = at_once(its, messages)
    assert shown(found) == shown(alone(its, messages))
    assert isinstance(found, Column)
    assert found.array.equals(to_array(rows, FLAT))
    assert its.encode_many(found) == messages


def of_several(leaf: Schema) -> tuple[Schema, st.SearchStrategy[list[dict[str, Any]]]]:
    """Rows with arrays and maps of a type, by keys of the type where it can be one."""
    key = STRING if leaf.type in (Type.FLOAT32, Type.FLOAT64) else leaf
    maybe, values, keys = replace(leaf, optional=True), LEAVES[leaf], LEAVES[key]
    inner = struct([("x", leaf), ("y", Schema(Type.ARRAY, items=leaf))])
    fields = {
        "array": (Schema(Type.ARRAY, items=leaf), st.lists(values, max_size=3)),
        "nulls": (Schema(Type.ARRAY, items=maybe), st.lists(st.none() | values, max_size=3)),
        "maybe": (Schema(Type.ARRAY, items=leaf, optional=True), st.none() | st.lists(values, max_size=2)),
        "map": (Schema(Type.MAP, keys=key, items=leaf), st.dictionaries(keys, values, max_size=5)),
        "null_map": (Schema(Type.MAP, keys=key, items=maybe), st.dictionaries(keys, st.none() | values, max_size=3)),
        "named": (
            Schema(Type.MAP, keys=STRING, items=inner),
            st.dictionaries(TEXT, st.just({"x": LEAST[leaf], "y": []}), max_size=3),
        ),
        "deep": (
            Schema(Type.ARRAY, items=inner),
            st.lists(st.fixed_dictionaries({"x": values, "y": st.lists(values, max_size=2)}), max_size=2),
        ),
    }
    schema = struct([(name, its) for name, (its, _) in fields.items()])
    return schema, st.lists(st.fixed_dictionaries({name: of for name, (_, of) in fields.items()}), min_size=1, max_size=4)


LEAST: dict[Schema, Any] = {}
"""The least value of each kind."""
# The first that is tried is the least one. To shrink and explain it takes seconds.
_FIRST = settings(phases=[Phase.generate], database=None)


@pytest.fixture(scope="module", autouse=True)
def _least() -> None:
    """It takes a second, which a process that only reads this file need not pay."""
    LEAST.update({leaf: find(values, lambda _: True, settings=_FIRST) for leaf, values in LEAVES.items()})


@pytest.mark.parametrize("leaf", LEAVES, ids=str)
@settings(max_examples=some(20, 3))
@given(data=st.data(), begin=st.integers(0, 2))
def test_arrays_and_maps_of_a_column_are_written_at_once_as_each(leaf: Schema, data: st.DataObject, begin: int) -> None:
    schema, some = of_several(leaf)
    rows, its = data.draw(some), form(schema)
    found = messages_of(to_array(rows, schema)[begin:], its._first._layout)
    assert found == [its.encode(row)[1:] for row in rows[begin:]]


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        (Schema(Type.ARRAY, items=STRING), ["a", None]),
        (Schema(Type.ARRAY, items=INT), [1, None]),
        (Schema(Type.MAP, keys=STRING, items=INT), {"a": None}),
        (Schema(Type.ARRAY, items=struct([("x", INT)])), [{"x": 1}, None]),
        (Schema(Type.ARRAY, items=decimal(2)), [None]),
    ],
)
def test_a_null_in_an_array_or_map_that_must_not_be_is_told(schema: Schema, values: object) -> None:
    row = struct([("a", schema)])
    with pytest.raises(RecordError, match="a: "):
        form(row).encode_many(Column(to_array([{"a": values}], row)))


def test_numbers_that_are_not_packed_are_written_so() -> None:
    its = of_others("message A { repeated int32 a = 1; repeated int32 b = 2; }", "proto2")
    rows: list[dict[str, object]] = [{"a": [1, -1], "b": []}, {"a": [], "b": [7]}]
    assert messages_of(to_array(rows, its.schema), its._first._layout) == [its.encode(row)[1:] for row in rows]


@pytest.mark.slow
@given(flat_rows(), st.data())
def test_whatever_bytes_come_many_are_read_as_each(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    """The same values, or a RecordError with both."""
    its = form(FLAT)
    messages = [its.encode(value) for value in rows]
    start = data.draw(st.integers(1, len(messages[-1])))
    bad = messages[-1][:start] + data.draw(st.binary(max_size=3)) + messages[-1][start + data.draw(st.integers(0, 3)) :]
    messages[-1] = bad
    try:
        wanted = alone(its, messages)
    except RecordError:
        with pytest.raises(RecordError):
            at_once(its, messages)
        return
    assert shown(at_once(its, messages)) == shown(wanted)


@pytest.mark.parametrize("leaf", LEAVES, ids=str)
def test_a_null_that_must_not_be_is_told(leaf: Schema) -> None:
    row = struct([("a", leaf)])
    with pytest.raises(RecordError, match="a: "):
        form(row).encode_many(Column(to_array([{"a": None}], row)))


def test_a_row_that_is_null_is_told() -> None:
    row = struct([("a", INT)], optional=True)
    with pytest.raises(RecordError, match="a NoneType is no struct"):
        form(row).encode_many(Column(to_array([None], row)))


def test_a_column_of_another_type_is_written_value_by_value() -> None:
    latest = form(struct([("b", INT), ("a", INT)]))
    column = Column(to_array([{"a": 7, "b": 8}], struct([("a", INT), ("b", INT)])))
    assert latest.encode_many(column) == [latest.encode({"a": 7, "b": 8})]


NUMBERS = (
    "message A { sint32 a = 1; sint64 b = 2; fixed32 c = 3; fixed64 d = 4; sfixed32 e = 5; sfixed64 f = 6; uint32 g = 7; "
    "optional float h = 900; double i = 901; int32 j = 1000000; }"
)
BIG: dict[str, object] = {
    "a": -(1 << 31),
    "b": (1 << 63) - 1,
    "c": (1 << 32) - 1,
    "d": (1 << 64) - 1,
    "e": -1,
    "f": -(1 << 63),
    "g": (1 << 32) - 1,
    "h": 1.5,
    "i": -0.0,
    "j": -1,
}
NONE: dict[str, object] = {**dict.fromkeys(BIG, 0), "h": None, "i": 0.0}
ENUM = "enum E { option allow_alias = true; ZERO = 0; LESS = -1; ONE = 1; UNO = 1; }"
TIMES = (
    'import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto"; '
    "message A { google.protobuf.Timestamp at = 1; google.protobuf.StringValue text = 2; google.protobuf.Int32Value n = 3; }"
)
OF_OTHERS = {
    "numbers of every kind": (NUMBERS, [BIG, NONE], True),
    "an enum": (f"message A {{ E e = 1; optional E f = 2; }} {ENUM}", [{"e": "ZERO", "f": None}, {"e": "LESS", "f": "ONE"}], True),
    "wrappers": (
        TIMES,
        [{"at": None, "text": "", "n": None}, {"at": datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), "text": None, "n": 0}],
        True,
    ),
    "a oneof": ("message A { oneof o { int32 a = 1; string b = 2; } }", [{"a": 0, "b": None}, {"a": None, "b": ""}], True),
    "fields whose numbers are not in their order": ("message A { int32 b = 7; int32 a = 3; }", [{"b": 1, "a": 2}], True),
    "a message in a message": (
        "message A { B b = 1; } message B { C c = 1; } message C { string x = 1; }",
        [{"b": {"c": {"x": "y"}}}],
        True,
    ),
    "a date that is a whole message": (
        "package google.type; message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
        [{"year": 2024, "month": 2, "day": 31}],
        True,
    ),
    "arrays": ("message A { repeated int32 a = 1; }", [{"a": [1, 2]}], False),
    "no fields": ("message A { }", [{}], False),
}


@pytest.mark.parametrize(("text", "rows", "as_column"), OF_OTHERS.values(), ids=OF_OTHERS)
def test_what_others_write_is_read_and_written_as_each(text: str, rows: list[dict[str, object]], as_column: bool) -> None:
    its = of_others(text)
    rows = rows * 20
    messages = [its.encode(row) for row in rows]
    found = at_once(its, messages)
    assert shown(found) == shown(alone(its, messages))
    assert isinstance(found, Column) is as_column
    assert its.encode_many(Column(to_array(rows, its.schema))) == messages


def test_defaults_and_what_is_required_in_proto2_are_as_with_each() -> None:
    its = of_others('message A { required int32 a = 1; optional string b = 2 [default = "x"]; optional int32 c = 3; }', "proto2")
    assert list(at_once(its, [b"\x00\x08\x01"] * 20)) == [{"a": 1, "b": "x", "c": None}] * 20
    with pytest.raises(RecordError, match="a is missing"):
        at_once(its, [b"\x00\x08\x01"] * 20 + [b"\x00"])
    plain = of_others("message A { required int32 a = 1; }", "proto2")
    assert isinstance(at_once(plain, [b"\x00\x08\x01"] * 20), Column)
    with pytest.raises(RecordError, match="a is missing"):
        at_once(plain, [b"\x00\x08\x01"] * 20 + [b"\x00"])


@pytest.mark.parametrize(
    ("odd", "value"),
    [
        ("1002 0801", {"a": 1, "b": 2}),  # the other way round
        ("0801 1002 0803", {"a": 3, "b": 2}),  # twice: the last one stands
        ("0801 1002 1a020801 1a00", {"a": 1, "b": 2, "in": {"x": 1}}),  # a message twice: one of both
        ("0881808080808080808000 1002", {"a": 1, "b": 2}),  # more bytes than there is need for
        ("8800 01 1002", {"a": 1, "b": 2}),  # a longer tag
    ],
)
def test_forms_that_few_write_are_read_too(odd: str, value: dict[str, object]) -> None:
    its = of_others("message A { int32 a = 1; B in = 3; int32 b = 2; } message B { int32 x = 1; }")
    usual = b"\x00\x08\x07\x10\x08"
    wanted = [{"a": 7, "in": None, "b": 8}] * 20 + [{"in": None, **value}]
    assert list(at_once(its, [usual] * 20 + [b"\x00" + bytes.fromhex(odd)])) == wanted


def test_a_value_that_is_null_is_told_of_many() -> None:
    its = form(Schema(Type.INT64, optional=True))
    messages = [its.encode(7)] * 20
    assert isinstance(at_once(its, messages), Column)
    with pytest.raises(RecordError, match="the value is null"):
        at_once(its, [*messages, b"\x00"])


WELL_KNOWN = (
    'import "google/protobuf/timestamp.proto"; import "google/type/date.proto"; import "google/type/timeofday.proto"; '
    'import "confluent/type/decimal.proto"; '
)


@pytest.mark.parametrize(
    ("field", "data", "said"),
    [
        ("google.type.Date x = 1;", "0a0708e70f100218 1d", "does not fit|out of range|day"),
        ("google.type.Date x = 1;", "0a03 08e70f", "does not fit|month"),
        ("google.type.Date x = 1;", "0a07 08e70f 100d 1801", "month"),
        ("google.type.TimeOfDay x = 1;", "0a02 0818", "no time of the day"),
        ("google.type.TimeOfDay x = 1;", "0a02 103c", "no time of the day"),
        ("google.protobuf.Timestamp x = 1;", "0a02 1001", "1 nanoseconds"),
        ("google.protobuf.Timestamp x = 1;", "0a06 108094ebdc03", "1000000000 nanoseconds within its second"),
        ("google.protobuf.Timestamp x = 1;", "0a0b10ffffffffffffffffff01", "-1 nanoseconds within its second"),
        ("google.protobuf.Timestamp x = 1;", "0a0a08ffffffffffffffff7f", "is not from"),
        ("google.protobuf.Timestamp x = 1;", "0a0708808080808040", "out of range"),
        ("confluent.type.Decimal x = 1;", "0a00", "a decimal of 0 bytes"),
        ("confluent.type.Decimal x = 1;", "0a050a01011804", "more digits behind its point"),
        ("E x = 1; enum E { Z = 0; }", "0805", "the enum has no symbol for 5"),
        ("string x = 1;", "0a01ff", "Error parsing"),
        ("string x = 1;", "0a0261", "Error parsing"),
    ],
)
def test_one_that_is_no_value_of_its_schema_is_told_of_many(field: str, data: str, said: str) -> None:
    its = of_others(WELL_KNOWN + f"message A {{ {field} }}")
    with pytest.raises(RecordError, match=said):
        at_once(its, [b"\x00"] * 20 + [b"\x00" + bytes.fromhex(data)])


def test_a_truth_that_is_another_number_is_one_all_the_same() -> None:
    its = of_others("message A { bool x = 1; }")
    assert list(at_once(its, [b"\x00\x08\x01"] * 20 + [b"\x00\x08\x02"])) == [{"x": True}] * 21


def test_a_decimal_of_another_scale_is_read_in_its_own() -> None:
    its = form(struct([("a", decimal(2))]))
    usual = its.encode({"a": 7})
    # 5 without digits behind the point.
    assert list(at_once(its, [usual] * 20 + [b"\x00\x0a\x03\x0a\x01\x05"]))[-1] == its.decode(its.encode({"a": 5}), 0)


def test_of_a_oneof_at_most_one_is_written() -> None:
    its = of_others("message A { oneof o { int32 a = 1; string b = 2; } }")
    with pytest.raises(RecordError, match="at most one can be"):
        its.encode_many(Column(to_array([{"a": 1, "b": "x"}], its.schema)))


def test_values_that_are_no_rows_are_read_at_once_too() -> None:
    for schema, value in ((STRING, "line"), (INT, 0)):
        its = form(schema)
        messages = its.encode_many(Column(to_array([value] * 20, schema)))
        assert messages == [its.encode(value)] * 20
        found = at_once(its, messages)
        assert isinstance(found, Column)
        assert list(found) == [value] * 20


def test_a_map_of_a_column_that_has_a_key_twice_is_told() -> None:
    row = struct([("a", Schema(Type.MAP, keys=STRING, items=INT))])
    twice = to_array([{"a": {"x": 1, "y": 2}}], row)
    maps = pa.MapArray.from_arrays(pa.array([0, 2], pa.int32()), ["x", "x"], pa.array([1, 2]), type=twice.type.field(0).type)
    with pytest.raises((RecordError, KeyError)):
        form(row).encode_many(Column(pa.StructArray.from_arrays([maps], fields=list(twice.type))))
