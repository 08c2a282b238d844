"""Avro: schemas there and back, values as other readers see them, and what other writers have."""

import io
import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rocketconnect_sdk.converters.avro.form import AvroForm
from rocketconnect_sdk.converters.avro.schema import to_avro
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import BYTES, DIGITS, STRING, Field, Schema, Type, Unit, decimal, struct, timestamp
from tests.rocketconnect_sdk.typed_values import LEAVES, NAMES, TEXT, typed

INT = Schema(Type.INT32)
INTS = (Type.INT8, Type.INT16, Type.INT32)
EMPTY_ITEMS = "an array of values that take no bytes"


def form(text: object) -> AvroForm:
    return AvroForm(json.dumps(text))


def takes_no_bytes(schema: Schema) -> bool:
    return schema.type is Type.STRUCT and not schema.optional and all(takes_no_bytes(field.schema) for field in schema.fields)


def has_empty_items(schema: Schema) -> bool:
    parts = [field.schema for field in schema.fields] + [part for part in (schema.items, schema.keys) if part is not None]
    is_one = schema.type is Type.ARRAY and schema.items is not None and takes_no_bytes(schema.items)
    return is_one or any(map(has_empty_items, parts))


def by_fastavro(text: str, data: bytes) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(data), fastavro.parse_schema(json.loads(text)), None)


@st.composite
def described(draw: st.DrawFn) -> Schema:
    """A schema with names, versions, docs, parameters and defaults."""
    schema, value = draw(typed())
    has_default = schema in LEAVES and draw(st.booleans())
    parameters = tuple(sorted(draw(st.dictionaries(NAMES, TEXT, max_size=2)).items()))
    return replace(
        schema,
        name=draw(st.sampled_from(["", "order", "a.b", "io.debezium.time.Date", "ü x", "1", "a..b"])),
        version=draw(st.sampled_from([None, 0, 1, 7])),
        doc=draw(TEXT),
        parameters=parameters,
        default=value if has_default else None,
    )


@given(typed(3))
def test_values_and_schemas_come_back_and_fastavro_reads_them(case: tuple[Schema, Any]) -> None:
    schema, value = case
    assume(value is not None)
    assume(not has_empty_items(schema))
    text = to_avro(schema)
    its = AvroForm(text)
    data = its.encode(value)
    assert (its.schema, its.decode(data, 0)) == (schema, value)
    by_fastavro(text, data)


@given(st.lists(described(), min_size=1, max_size=3), st.booleans())
def test_names_versions_docs_parameters_and_defaults_come_back(parts: list[Schema], optional: bool) -> None:
    fields = [(f"f{number}", part) for number, part in enumerate(parts)]
    schema = replace(struct(fields, name="whole"), optional=optional, doc="all of it")
    assume(not has_empty_items(schema))
    # Otherwise it is the date that Debezium names, whose default may be none: see below and test_registered.
    assume(not any(part.name == "io.debezium.time.Date" and part.type in INTS for part in parts))
    text = to_avro(schema)
    found = AvroForm(text).schema
    assert found == schema
    fastavro.parse_schema(json.loads(text))


def test_a_schema_is_written_as_kafka_connect_writes_it() -> None:
    schema = struct(
        [
            ("id", Schema(Type.INT64, doc="the number")),
            ("small", Schema(Type.INT8)),
            ("price", decimal(2, precision=9)),
            ("day", Schema(Type.DATE, optional=True)),
            ("at", timestamp(Unit.MILLISECONDS)),
            ("kind", Schema(Type.STRING, default="x")),
            ("codes", Schema(Type.MAP, keys=INT, items=STRING)),
        ],
        name="shop.order",
    )
    assert json.loads(to_avro(schema)) == {
        "type": "record",
        "name": "order",
        "namespace": "shop",
        "fields": [
            {"name": "id", "type": {"type": "long", "connect.doc": "the number"}, "doc": "the number"},
            {"name": "small", "type": {"type": "int", "connect.type": "int8"}},
            {
                "name": "price",
                "type": {
                    "type": "bytes",
                    "logicalType": "decimal",
                    "precision": 9,
                    "scale": 2,
                    "connect.name": "org.apache.kafka.connect.data.Decimal",
                    "connect.version": 1,
                    "connect.parameters": {"scale": "2", "connect.decimal.precision": "9"},
                },
            },
            {
                "name": "day",
                "type": [
                    "null",
                    {
                        "type": "int",
                        "logicalType": "date",
                        "connect.name": "org.apache.kafka.connect.data.Date",
                        "connect.version": 1,
                    },
                ],
                "default": None,
            },
            {
                "name": "at",
                "type": {
                    "type": "long",
                    "logicalType": "timestamp-millis",
                    "connect.name": "org.apache.kafka.connect.data.Timestamp",
                    "connect.version": 1,
                },
            },
            {"name": "kind", "type": {"type": "string", "connect.default": "x"}, "default": "x"},
            {
                "name": "codes",
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "order_codes_entry",
                        "namespace": "shop",
                        "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}],
                        "connect.internal.type": "MapEntry",
                    },
                },
            },
        ],
        "connect.name": "shop.order",
    }


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ({"type": "int", "connect.type": "int16"}, Schema(Type.INT16)),
        ({"type": "string", "avro.java.string": "String"}, STRING),
        ({"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 3}, decimal(3, precision=64)),
        (
            {
                "type": "bytes",
                "connect.name": "org.apache.kafka.connect.data.Decimal",
                "connect.version": 1,
                "connect.parameters": {"scale": "2"},
            },
            decimal(2, precision=DIGITS),
        ),
        ({"type": "int", "connect.name": "io.debezium.time.Date", "connect.version": 1}, Schema(Type.DATE)),
        ({"type": "long", "connect.name": "io.debezium.time.MicroTimestamp", "connect.version": 1}, timestamp(zone=False)),
        ({"type": "long", "logicalType": "timestamp-nanos"}, timestamp(Unit.NANOSECONDS)),
        ({"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"}, Schema(Type.UUID)),
        ({"type": "fixed", "name": "d", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}, decimal(2, precision=9)),
        ({"type": "fixed", "name": "f", "size": 3}, replace(BYTES, parameters=(("connect.fixed.size", "3"),))),
        (
            {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "MapEntry",
                    "namespace": "io.confluent.connect.avro",
                    "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}],
                },
            },
            Schema(Type.MAP, keys=INT, items=STRING),
        ),
        ({"type": "record", "name": "ConnectDefault", "namespace": "io.confluent.connect.avro", "fields": []}, struct([])),
        (["null", "string"], replace(STRING, optional=True)),
        (["string"], STRING),
        ({"type": {"type": "string"}}, STRING),
        ({"type": "int", "logicalType": "nobody's"}, INT),
    ],
)
def test_what_others_write_is_read(text: object, schema: Schema) -> None:
    assert form(text).schema == schema


def test_an_enum_is_text_and_knows_its_symbols() -> None:
    colour = form({"type": "enum", "name": "c.Colour", "symbols": ["RED", "GREEN"]})
    enum = "io.confluent.connect.avro.Enum"
    assert colour.schema == replace(STRING, parameters=((enum, "c.Colour"), (f"{enum}.RED", "RED"), (f"{enum}.GREEN", "GREEN")))
    assert (colour.encode("GREEN"), colour.decode(b"\x02", 0)) == (b"\x02", "GREEN")
    with pytest.raises(RecordError, match="'BLUE' is none of the enum's symbols RED, GREEN"):
        colour.encode("BLUE")
    for data in (b"\x04", b"\x01"):
        with pytest.raises(RecordError, match="the enum has no symbol"):
            colour.decode(data, 0)


def test_a_union_is_a_struct_of_which_one_field_is_given() -> None:
    text = ["null", "int", "string", {"type": "record", "name": "a.B", "fields": [{"name": "x", "type": "int"}]}]
    union = form({"type": "record", "name": "r", "fields": [{"name": "u", "type": text}]})
    its = union.schema.fields[0].schema
    assert (its.name, its.optional, [field.name for field in its.fields]) == (
        "io.confluent.connect.avro.Union",
        True,
        ["int", "string", "B"],
    )
    for given_value in (None, {"int": 3, "string": None, "B": None}, {"int": None, "string": None, "B": {"x": 1}}):
        value = {"u": given_value}
        assert union.decode(union.encode(value), 0) == value
    with pytest.raises(RecordError, match="u: of a union exactly one of int, string, B is given"):
        union.encode({"u": {"int": 1, "string": "x"}})


def test_a_field_that_is_missing_has_its_default() -> None:
    its = form(
        {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int", "default": 7}, {"name": "b", "type": "int"}]}
    )
    assert its.decode(its.encode({"b": 1}), 0) == {"a": 7, "b": 1}
    with pytest.raises(RecordError, match="b is missing, and there is no default"):
        its.encode({"a": 1})


def test_what_the_schema_does_not_have_is_not_dropped() -> None:
    with pytest.raises(RecordError, match="the value has 'c', and the schema has not"):
        AvroForm(to_avro(struct([("a", INT)]))).encode({"a": 1, "c": 2})


def test_names_that_avro_does_not_allow_are_written_otherwise_and_come_back() -> None:
    names = ["ü", "a b", "", "1", "a.b", "a-b", "a_u002d_b"]
    schema = struct([(name, INT) for name in names], name="grün")
    text = to_avro(schema)
    assert [field["name"] for field in json.loads(text)["fields"]] == [
        "_u00fc_",
        "a_u0020_b",
        "_",
        "_1",
        "a_u002e_b",
        "a_u002d_b",
        "a_u002d_b_2",
    ]
    value = {name: number for number, name in enumerate(names)}
    its = AvroForm(text)
    assert (its.schema, its.decode(its.encode(value), 0)) == (schema, value)


def test_a_record_that_comes_twice_is_named_the_second_time_and_another_one_of_its_name_is_not_taken_for_it() -> None:
    part, other = struct([("x", INT)], name="p"), struct([("y", INT)], name="p")
    schema = struct([("a", part), ("b", replace(part, optional=True)), ("c", other)], name="n.r")
    text = to_avro(schema)
    assert AvroForm(text).schema == schema
    assert json.loads(text)["fields"][1]["type"] == ["null", "n.p"]
    assert json.loads(text)["fields"][2]["type"]["name"] == "p_2"


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        (Schema(Type.INT8), 128, "128 is not from -128 to 127"),
        (Schema(Type.UINT32), -1, "-1 is not from 0 to 4294967295"),
        (Schema(Type.UINT64), 1 << 64, "18446744073709551616 is not from 0"),
        (INT, True, "a bool is no whole number"),
        (INT, None, "a NoneType is no whole number"),
        (STRING, 1, "a int is no text"),
        (STRING, "\ud800", "surrogates not allowed"),
        (Schema(Type.FLOAT32), 1e39, "too large for 32 bits"),
        (Schema(Type.FLOAT64), (1 << 53) + 1, "no floating point number"),
        (decimal(2), Decimal("1.005"), "more digits behind its point"),
        (decimal(2, precision=3), Decimal("12.34"), "more than 3 digits"),
        (decimal(2), Decimal("NaN"), "no finite decimal"),
        (decimal(0), Decimal("1e99999999"), "more than 38 digits"),
        (decimal(0), Decimal("1e-99999999"), "more digits behind its point"),
        (Schema(Type.DATE), datetime(2024, 1, 1, tzinfo=UTC), "a datetime is no date"),
        (Schema(Type.TIME, unit=Unit.MILLISECONDS), time(1, 2, 3, 4), "cannot be written as whole milliseconds"),
        (timestamp(Unit.MILLISECONDS), datetime(2024, 1, 1, 0, 0, 0, 1, UTC), "cannot be written as whole milliseconds"),
        (timestamp(), datetime(2024, 1, 1, tzinfo=UTC).replace(tzinfo=None), "no time zone, and the schema says that there is one"),
        (timestamp(zone=False), datetime(2024, 1, 1, tzinfo=UTC), "a time zone, and the schema says that there is none"),
        (Schema(Type.UUID), "00000000-0000-0000-0000-000000000000", "a str is no UUID"),
        (Schema(Type.ARRAY, items=INT), "ab", "a str is no array"),
        (Schema(Type.MAP, keys=STRING, items=INT), {1: 1}, "key: a int is no text"),
        (struct([("a", struct([("b", INT)]))]), {"a": {"b": "x"}}, "a: b: a str is no whole number"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_place(schema: Schema, value: object, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        AvroForm(to_avro(schema)).encode(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not", "no Avro schema"),
        ('"unheard"', "it has no type 'unheard'"),
        ('"null"', "always null"),
        ('["null"]', "always null"),
        ("{}", "no Avro schema"),
        ("[" * 100_000, "no Avro schema"),
        ('{"type":"record","name":"r","fields":[{"name":"next","type":["null","r"]}]}', "recursive"),
        ('{"type":"record","name":"r","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}', "two fields of the same"),
        ('{"type":"array","items":{"type":"record","name":"r","fields":[]}}', EMPTY_ITEMS),
        ('{"type":"fixed","name":"f","size":-1}', "no size"),
        ('{"type":"array","items":' * 400 + '"int"' + "}" * 400, "more than 300 types in each other"),
        ('["int","int"]', "two branches of the same type"),
        ('{"type":"int","connect.default":"x"}', "default"),
        # The day before the year 1, which Debezium has.
        (
            '{"type":"int","connect.name":"io.debezium.time.Date","connect.default":-719163}',
            "the default -719163 is none of a date: date value out of range",
        ),
        ('{"type":"bytes","logicalType":"decimal","precision":4,"connect.default":7}', "the default 7 is none of a decimal"),
    ],
)
def test_a_schema_that_has_no_type_here_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        AvroForm(text)


def test_a_schema_that_would_grow_without_end_is_refused() -> None:
    text: Any = "int"
    for number in range(40):
        text = {
            "type": "record",
            "name": f"r{number}",
            "fields": [{"name": "a", "type": text}, {"name": "b", "type": text if number == 0 else f"r{number - 1}"}],
        }
    with pytest.raises(RecordError, match="more than 20000 types"):
        form(text)


def test_no_schema_is_written_deeper_than_it_is_read() -> None:
    schema = INT
    for _ in range(200):
        schema = Schema(Type.ARRAY, items=schema)
    with pytest.raises(RecordError, match="more than 100 types in each other"):
        to_avro(schema)


ROW = struct(
    [
        ("id", Schema(Type.UINT64)),
        ("name", replace(STRING, optional=True)),
        ("price", decimal(2)),
        ("at", timestamp()),
        ("uid", Schema(Type.UUID)),
        ("tags", Schema(Type.ARRAY, items=STRING)),
        ("by", Schema(Type.MAP, keys=STRING, items=Schema(Type.ARRAY, items=INT))),
        ("days", Schema(Type.MAP, keys=Schema(Type.DATE), items=Schema(Type.FLOAT32))),
    ],
)
VALUE = {
    "id": 1 << 63,
    "name": "ü",
    "price": Decimal("-1.25"),
    "at": datetime(2024, 2, 29, tzinfo=UTC),
    "uid": UUID(int=7),
    "tags": ["a", "b"],
    "by": {"x": [1, 2], "y": []},
    "days": {date(2024, 2, 29): 0.5},
}
READER = AvroForm(to_avro(ROW))
GOOD = READER.encode(VALUE)


@given(st.data())
def test_of_a_message_that_is_damaged_only_a_record_error_leaves(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(GOOD)))
    bad = GOOD[:start] + data.draw(st.binary(max_size=12)) + GOOD[start + data.draw(st.integers(0, 5)) :]
    with suppress(RecordError):
        assert isinstance(READER.decode(bad, 0), dict)


@given(st.binary(max_size=100))
def test_of_whatever_bytes_only_a_record_error_leaves(data: bytes) -> None:
    with suppress(RecordError):
        READER.decode(data, 0)


def test_what_follows_a_value_is_told() -> None:
    with pytest.raises(RecordError, match="2 bytes follow the value"):
        READER.decode(GOOD + b"\x00\x00", 0)
    with pytest.raises(RecordError, match="ends before its value does"):
        READER.decode(GOOD[:-1], 0)
    for schema in (STRING, BYTES, Schema(Type.UUID)):
        with pytest.raises(RecordError, match="ends before its value does"):
            AvroForm(to_avro(schema)).decode(b"\x08ab", 0)


def test_a_map_that_has_a_key_twice_is_refused() -> None:
    its = AvroForm(to_avro(Schema(Type.MAP, keys=STRING, items=INT)))
    with pytest.raises(RecordError, match="a map has a key twice"):
        its.decode(b"\x04\x02a\x02\x02a\x04\x00", 0)


@pytest.mark.parametrize(
    "schema",
    [
        STRING,
        BYTES,
        decimal(2),
        Schema(Type.ARRAY, items=INT),
        Schema(Type.ARRAY, items=Schema(Type.ARRAY, items=STRING)),
        Schema(Type.MAP, keys=STRING, items=struct([])),
        Schema(Type.MAP, keys=INT, items=INT),
    ],
    ids=lambda schema: schema.type.value,
)
def test_a_short_message_that_says_that_it_is_long_takes_no_memory(schema: Schema) -> None:
    """In a process that has 300 MiB more than it needs to begin."""
    code = (
        "import resource, sys; from rocketconnect_sdk.converters.avro.form import AvroForm; "
        "from rocketconnect_sdk.errors import RecordError\n"
        "form = AvroForm(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))\n"
        "for sign in (0, 1):\n"
        "    for bits in (31, 40, 62):\n"
        "        number, head = (1 << bits) - sign, bytearray()\n"
        "        while number > 127: head.append(number & 127 | 128); number >>= 7\n"
        "        head.append(number)\n"
        "        for rest in (b'', b'\\x02' * 20, bytes(20)):\n"
        "            try: form.decode(bytes(head) + rest, 0)\n"
        "            except RecordError: continue\n"
        "            sys.exit('it was read')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, to_avro(schema)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_limit_of_memory_is_one() -> None:
    """What the test above relies on."""
    code = "import resource; resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20)); bytearray(1 << 30)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MemoryError" in done.stderr


def test_fields_of_a_value_come_in_the_order_of_the_schema() -> None:
    its = AvroForm(to_avro(struct([("b", INT), ("a", INT)])))
    found = its.decode(its.encode({"a": 1, "b": 2}), 0)
    assert isinstance(found, dict)
    assert list(found) == ["b", "a"]
    assert its.schema.fields == (Field("b", INT), Field("a", INT))
