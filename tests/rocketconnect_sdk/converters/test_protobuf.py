"""Protobuf: schemas there and back, values, and bytes that are damaged."""

import math
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.converters.protobuf.text import to_proto
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.registry import Incompatible
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, Schema, Type, Unit, decimal, struct, timestamp
from tests.examples import some
from tests.registry.server import TestRegistry
from tests.registry.store import Held
from tests.rocketconnect_sdk.converters.protobuf_forms import INT, PROTO3, ROW, made, ours
from tests.rocketconnect_sdk.typed_values import LEAVES, NAMES, TEXT, typed


@st.composite
def described(draw: st.DrawFn, *, of_leaf: bool = False) -> Schema:
    """A schema with names, versions, docs, parameters and defaults."""
    schema, value = draw(typed(0 if of_leaf else 2))
    return replace(
        schema,
        name=draw(st.sampled_from(["", "order", "a.b", "ü x", "string", "whole.fEntry", "google.x"])),
        version=draw(st.sampled_from([None, 0, 1, 7])),
        doc=draw(TEXT),
        parameters=tuple(draw(st.lists(st.tuples(NAMES, TEXT), max_size=2))),
        default=value if schema in LEAVES and draw(st.booleans()) else None,
    )


# Each example starts a compiler, so that they are few and each of them has much in it.
@settings(max_examples=some(25, 5))
@given(st.lists(typed(3), min_size=1, max_size=6))
def test_values_and_schemas_come_back(cases: list[tuple[Schema, Any]]) -> None:
    schema = struct([(f"f{number}", part) for number, (part, _) in enumerate(cases)], name="whole")
    value = {f"f{number}": part for number, (_, part) in enumerate(cases)}
    form = ours(schema)
    assert form.schema == schema
    data = form.encode(value)
    assert form.encode(value) == data
    assert form.decode(b"head" + data, 4) == value


@settings(max_examples=some(25, 5))
@given(typed(2))
def test_values_that_are_no_structs_come_back(case: tuple[Schema, Any]) -> None:
    schema, value = case
    assume(value is not None)
    form = ours(schema)
    assert form.schema == schema
    assert form.decode(form.encode(value), 0) == value


@settings(max_examples=some(25, 5))
@given(
    st.lists(described(), min_size=1, max_size=4), st.booleans(), described(of_leaf=True), st.lists(NAMES, unique=True, max_size=4)
)
def test_names_versions_docs_parameters_and_defaults_come_back(
    parts: list[Schema], optional: bool, leaf: Schema, odd: list[str]
) -> None:
    fields = [(f"f{number}", part) for number, part in enumerate(parts)]
    fields += [(f"a{number}", Schema(Type.ARRAY, items=part, doc="many")) for number, part in enumerate(parts)]
    fields += [("m", Schema(Type.MAP, keys=leaf, items=parts[0], name="by")), *((name or "-", leaf) for name in odd)]
    assume(len({name for name, _ in fields}) == len(fields))
    schema = replace(struct(fields, name="whole"), optional=optional, doc="all", version=3, parameters=(("b", "1"), ("a", "2")))
    assert ours(schema).schema == schema


def test_a_schema_is_written_as_kafka_connect_writes_it() -> None:
    schema = struct(
        [
            ("id", Schema(Type.INT64, doc="the number")),
            ("small", Schema(Type.INT8)),
            ("name", OPTIONAL_STRING),
            ("price", replace(decimal(2, precision=9), optional=True)),
            ("day", Schema(Type.DATE, optional=True)),
            ("tags", Schema(Type.ARRAY, items=STRING)),
            ("counts", Schema(Type.MAP, keys=STRING, items=INT)),
            ("codes", Schema(Type.MAP, keys=STRING, items=OPTIONAL_STRING)),
        ],
        name="shop.order",
    )
    assert to_proto(schema).splitlines() == [
        'syntax = "proto3";',
        "package shop;",
        'import "confluent/meta.proto";',
        'import "confluent/type/decimal.proto";',
        'import "google/type/date.proto";',
        "",
        "message order {",
        '  int64 id = 1 [(confluent.field_meta) = {doc: "the number"}];',
        '  int32 small = 2 [(confluent.field_meta) = {params: [{key: "connect.type", value: "int8"}]}];',
        "  optional string name = 3;",
        (
            "  confluent.type.Decimal price = 4 [(confluent.field_meta) = "
            '{params: [{key: "precision", value: "9"}, {key: "scale", value: "2"}]}];'
        ),
        "  google.type.Date day = 5;",
        "  repeated string tags = 6;",
        "  map<string, int32> counts = 7;",
        "  repeated CodesEntry codes = 8;",
        "  message CodesEntry {",
        "    string key = 1;",
        "    optional string value = 2;",
        "  }",
        "}",
    ]


def test_names_that_protobuf_does_not_allow_or_that_would_meet_come_back() -> None:
    wanted = [
        "",
        "1",
        "ü",
        "a b",
        "a-b",
        "user_id",
        "userId",
        "X",
        "XValue",
        "XEntry",
        "google",
        "confluent",
        "optional",
        "_1",
        "__",
    ]
    inner = struct([("key", INT), ("value", INT)], name="XEntry")
    fields = [(name, Schema(Type.ARRAY, items=inner, optional=True)) for name in wanted]
    fields += [("list", Schema(Type.ARRAY, items=inner)), ("Map", Schema(Type.MAP, keys=STRING, items=inner)), ("at", timestamp())]
    schema = struct([*fields, ("s", struct([], name="string")), ("MapEntry", INT), ("Confluent", decimal(1))], name="a.google.b")
    assert ours(schema).schema == schema


def test_the_registry_is_given_text_and_messages_are_as_confluent_frames_them(registry: TestRegistry) -> None:
    row = struct([("a", INT)], name="shop.order")
    data = made(registry).encode({"a": 1}, row)
    assert data == b"\x00\x00\x00\x00\x01" + b"\x00" + b"\x08\x01"
    assert registry.store.by_id(1) == Held("PROTOBUF", 'syntax = "proto3";\npackage shop;\n\nmessage order {\n  int32 a = 1;\n}\n')
    assert made(registry).decode(data) == ({"a": 1}, row)


def test_the_record_strategy_names_the_subject(registry: TestRegistry) -> None:
    made(registry, subject_name_strategy="record").encode({"a": 1}, struct([("a", INT)], name="shop.order"))
    assert list(registry.store.subjects) == ["shop.order"]
    with pytest.raises(RecordError, match="records with a name, and this is a string"):
        made(registry, subject_name_strategy="record").encode("x", STRING)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (Schema(Type.ARRAY), "needs items"),
        (Schema(Type.INT32, default="x"), "the default of a int32 cannot be written"),
        (Schema(Type.INT32, default=True), "default"),
        (Schema(Type.FLOAT64, default=math.nan), "no form for NaN"),
        (Schema(Type.STRUCT, default=1), "a struct has a default"),
        (struct([("a", INT), ("a", STRING)]), "two fields of the same name"),
        (struct([("\ud800", INT)]), "surrogates not allowed"),
        (Schema(Type.INT32, doc="\ud800"), "surrogates not allowed"),
        (struct([(f"f{number}", INT) for number in range(19_000)]), "at most 18999"),
    ],
)
def test_a_schema_that_cannot_be_written_is_refused_with_the_reason(registry: TestRegistry, schema: Schema, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        made(registry).encode({}, schema)
    assert registry.store.schemas == []


def test_a_schema_that_is_too_deep_is_refused_and_one_that_is_almost_is_not() -> None:
    deep = INT
    for _ in range(29):
        deep = Schema(Type.ARRAY, items=deep)
    assert ours(deep).schema == deep
    with pytest.raises(RecordError, match="more than 30 messages in each other"):
        to_proto(Schema(Type.ARRAY, items=Schema(Type.ARRAY, items=deep)))


GOOD: dict[str, Any] = {
    "i": -128,
    "u": (1 << 64) - 1,
    "f": 1,
    "t": "ü",
    "b": b"\xff",
    "d": Decimal("-99.99"),
    "at": datetime(2024, 2, 29, 1, 2, 3, 4000, UTC),
    "o": None,
    "l": [1, 2],
    "m": {7: {"x": time(1, 2, 3, 4)}},
    "n": {1: None, 2: ""},
}
FORM = ours(ROW)
BYTES_OF_GOOD = FORM.encode(GOOD)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("i", 128, "i: 128 is not from -128 to 127"),
        ("i", True, "i: a bool is no whole number"),
        ("i", None, "i: it is null or missing"),
        ("u", -1, "u: -1 is not from 0"),
        ("u", 1.0, "u: a float is no whole number"),
        ("f", 1e39, "does not fit its schema"),
        ("f", "1", "f: a str is no floating point number"),
        ("t", "\ud800", "surrogates not allowed"),
        ("t", b"x", "t: a bytes is no text"),
        ("b", "x", "b: a str is no bytes"),
        ("d", Decimal(100), "d: a decimal of more than 4 digits"),
        ("d", Decimal("0.001"), "d: 0.001 has more digits behind its point"),
        ("at", datetime(2024, 1, 1), "at: .* has no time zone"),  # noqa: DTZ001
        ("at", datetime(2024, 1, 1, microsecond=1, tzinfo=UTC), "cannot be written as whole milliseconds"),
        ("l", (1, None), "l: a NoneType is no whole number"),
        ("l", {1: 2}, "l: a dict is no array"),
        ("m", [1], "m: a list is no map"),
        ("m", {7: {"x": time(1, tzinfo=UTC)}}, "m: x: a time is no time of the day without a zone"),
        ("m", {7: {"y": 1}}, "m: the value has 'y', and the schema has not"),
        ("n", {None: ""}, "n: key: it is null or missing"),
        ("more", 1, "the value has 'more', and the schema has not"),
    ],
)
def test_a_value_that_does_not_fit_is_a_bad_record(field: str, value: object, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        FORM.encode({**GOOD, field: value})


def test_the_bytes_of_a_map_are_the_same_in_every_order() -> None:
    form = ours(Schema(Type.MAP, keys=STRING, items=INT))
    keys = [str(number) for number in range(100)]
    assert form.encode(dict.fromkeys(keys, 1)) == form.encode(dict.fromkeys(reversed(keys), 1))


def test_numbers_that_are_none_come_back() -> None:
    form = ours(struct([("a", Schema(Type.FLOAT32)), ("b", Schema(Type.FLOAT64))]))
    found: Any = form.decode(form.encode({"a": math.nan, "b": -math.inf}), 0)
    assert math.isnan(found["a"])
    assert found["b"] == -math.inf


@settings(max_examples=some(200))
@given(st.data())
def test_of_a_message_that_is_damaged_only_a_record_error_leaves(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(BYTES_OF_GOOD)))
    bad = BYTES_OF_GOOD[:start] + data.draw(st.binary(max_size=8)) + BYTES_OF_GOOD[start + data.draw(st.integers(0, 5)) :]
    with suppress(RecordError):
        assert isinstance(FORM.decode(bad, 0), dict)


@given(st.binary(max_size=40))
def test_of_bytes_that_are_none_only_a_record_error_leaves(data: bytes) -> None:
    with suppress(RecordError):
        assert isinstance(FORM.decode(data, 0), dict)


def test_a_file_that_is_not_asked_for_is_not_compiled_again(registry: TestRegistry) -> None:
    one = made(registry)
    data = one.encode({"a": 1}, struct([("a", INT)]))
    one.decode(data)
    asked = len(registry.requests)
    one.encode({"a": 2}, struct([("a", INT)]))
    one.decode_many([data, data])
    assert len(registry.requests) == asked


def test_the_latest_version_is_written_with_what_it_has(registry: TestRegistry) -> None:
    registry.store.register("t-value", Held("PROTOBUF", PROTO3 + "message A { int32 x = 3; optional string y = 9; }"))
    writer = made(registry, auto_register_schemas="false", use_latest_version="true")
    assert writer.encode({"x": 5}, struct([("x", Schema(Type.INT64))])) == b"\x00\x00\x00\x00\x01\x00\x18\x05"
    with pytest.raises(RecordError, match="the value has 'z', and the schema has not"):
        writer.encode({"z": 5}, struct([("z", INT)]))


def test_a_field_that_changes_its_type_is_not_taken_by_the_registry(registry: TestRegistry) -> None:
    made(registry).encode({"a": 1}, struct([("a", INT)], name="r"))
    made(registry).encode({"a": 1, "b": None}, struct([("a", Schema(Type.INT64)), ("b", OPTIONAL_STRING)], name="r"))
    with pytest.raises(Incompatible, match="the field 1 of r changes"):
        made(registry).encode({"a": "x"}, struct([("a", STRING)], name="r"))


OF_OTHERS = (
    PROTO3 + 'import "google/protobuf/timestamp.proto"; import "google/type/timeofday.proto"; '
    "message A { google.protobuf.Timestamp at = 1; google.type.TimeOfDay clock = 2; }"
)
FINE = b"\x00\x00\x00\x00\x01" + b"\x00\x0a\x02\x10\x01\x12\x04\x08\x01\x20\x02"
"""One nanosecond after 1970 began, and two after one o'clock."""


@pytest.mark.parametrize("count", [1, 20])
def test_nanoseconds_of_others_are_read_where_they_are_asked_for(registry: TestRegistry, count: int) -> None:
    registry.store.register("t-value", Held("PROTOBUF", OF_OTHERS))
    with pytest.raises(RecordError, match=r"1 nanoseconds cannot be had as whole us, .* time.unit=ns reads them"):
        made(registry).decode_many([FINE] * count)
    reader = made(registry, time_unit="ns")
    values, schema = reader.decode_many([FINE] * count)
    assert list(values) == [{"at": 1, "clock": 3_600_000_000_002}] * count
    times = [("at", timestamp(Unit.NANOSECONDS, optional=True)), ("clock", Schema(Type.TIME, unit=Unit.NANOSECONDS, optional=True))]
    assert schema == struct(times, name="A")
    strict = {"auto_register_schemas": "false", "use_latest_version": "true"}
    assert made(registry, time_unit="ns", **strict).encode(values[0], schema) == FINE
    # No nanoseconds of 64 bits reach so far.
    far = made(registry, **strict).encode({"at": datetime(9999, 12, 31, tzinfo=UTC)}, schema)
    with pytest.raises(RecordError, match="is not from"):
        reader.decode_many([far] * count)


def test_a_schema_that_says_its_unit_is_read_in_it(registry: TestRegistry) -> None:
    row = struct([("at", timestamp(Unit.MILLISECONDS))], name="row")
    data = made(registry).encode({"at": datetime(2024, 2, 29, tzinfo=UTC)}, row)
    assert made(registry, time_unit="ns").decode(data) == ({"at": datetime(2024, 2, 29, tzinfo=UTC)}, row)
