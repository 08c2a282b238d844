"""JSON Schema: schemas there and back, values that are valid under them, and what other writers have."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.converters.json.registered import JsonForm
from rocketconnect_sdk.converters.json.registered_schema import from_json_schema, to_json_schema
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type, Unit, decimal, struct, timestamp
from tests.registry.server import TestRegistry
from tests.registry.store import Held
from tests.rocketconnect_sdk.typed_values import LEAVES, NAMES, TEXT, typed

INT = Schema(Type.INT32)


def read(form: object, **references: str) -> Schema:
    return from_json_schema(json.dumps(form), references)


def ours(registry: TestRegistry, **options: str) -> Converter:
    given_options = {key.replace("_", "."): value for key, value in options.items()}
    made = converter("json_schema", {"schema.registry.url": registry.url, **given_options}, is_key=False)
    made.for_topic("t")
    return made


@st.composite
def described(draw: st.DrawFn) -> Schema:
    """A schema with names, versions, docs, parameters and defaults."""
    schema, value = draw(typed())
    return replace(
        schema,
        name=draw(st.sampled_from(["", "order", "a.b", "ü x"])),
        version=draw(st.sampled_from([None, 0, 1, 7])),
        doc=draw(TEXT),
        parameters=tuple(sorted(draw(st.dictionaries(NAMES, TEXT, max_size=2)).items())),
        default=value if schema in LEAVES and draw(st.booleans()) else None,
    )


@given(typed(3))
def test_values_and_schemas_come_back_and_are_valid_under_what_is_registered(case: tuple[Schema, Any]) -> None:
    schema, value = case
    assume(value is not None)
    text = to_json_schema(schema)
    assert from_json_schema(text, {}) == schema
    data = JsonForm(schema).encode(value)
    assert JsonForm(schema).decode(b"head" + data, 4) == value
    jsonschema_rs.validator_for(json.loads(text)).validate(json.loads(data))


@given(st.lists(described(), min_size=1, max_size=3), st.booleans())
def test_names_versions_docs_parameters_and_defaults_come_back(parts: list[Schema], optional: bool) -> None:
    schema = replace(
        struct([(f"f{number}", part) for number, part in enumerate(parts)], name="whole"), optional=optional, doc="all"
    )
    assert from_json_schema(to_json_schema(schema), {}) == schema


def test_a_schema_is_written_as_kafka_connect_writes_it() -> None:
    schema = struct(
        [
            ("id", Schema(Type.INT64, doc="the number")),
            ("price", decimal(2)),
            ("day", Schema(Type.DATE, optional=True)),
            ("raw", BYTES),
            ("counts", Schema(Type.MAP, keys=STRING, items=INT)),
            ("codes", Schema(Type.MAP, keys=INT, items=STRING)),
        ],
        name="shop.order",
    )
    assert json.loads(to_json_schema(schema)) == {
        "type": "object",
        "title": "shop.order",
        "required": ["id", "price", "raw", "counts", "codes"],
        "properties": {
            "id": {"type": "integer", "connect.type": "int64", "description": "the number", "connect.index": 0},
            "price": {
                "type": "string",
                "connect.type": "bytes",
                "title": "org.apache.kafka.connect.data.Decimal",
                "connect.version": 1,
                "connect.parameters": {"scale": "2"},
                "connect.index": 1,
            },
            "day": {
                "oneOf": [
                    {"type": "null"},
                    {
                        "type": "integer",
                        "connect.type": "int32",
                        "title": "org.apache.kafka.connect.data.Date",
                        "connect.version": 1,
                    },
                ],
                "connect.index": 2,
            },
            "raw": {"type": "string", "connect.type": "bytes", "connect.index": 3},
            "counts": {
                "type": "object",
                "connect.type": "map",
                "additionalProperties": {"type": "integer", "connect.type": "int32"},
                "connect.index": 4,
            },
            "codes": {
                "type": "array",
                "connect.type": "map",
                "items": {
                    "type": "object",
                    "properties": {
                        "key": {"type": "integer", "connect.type": "int32", "connect.index": 0},
                        "value": {"type": "string", "connect.index": 1},
                    },
                    "required": ["key", "value"],
                },
                "connect.index": 5,
            },
        },
    }
    value = {"id": 1, "price": 1, "day": date(1970, 1, 3), "raw": b"\xff", "counts": {"a": 1}, "codes": {7: "x"}}
    assert json.loads(JsonForm(schema).encode(value)) == {
        "id": 1,
        "price": "ZA==",
        "day": 2,
        "raw": "/w==",
        "counts": {"a": 1},
        "codes": [{"key": 7, "value": "x"}],
    }


@pytest.mark.parametrize(
    ("form", "schema"),
    [
        ({"type": "integer"}, Schema(Type.INT64)),
        ({"type": "number"}, Schema(Type.FLOAT64)),
        ({"type": ["null", "string"]}, replace(STRING, optional=True)),
        ({"enum": ["a", "b"]}, STRING),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, replace(STRING, optional=True)),
        ({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "boolean"}}}, Schema(Type.BOOLEAN)),
        ({"type": "object", "additionalProperties": {"type": "string"}}, Schema(Type.MAP, keys=STRING, items=STRING)),
        (
            {"type": "object", "required": ["b"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
            struct([("a", replace(STRING, optional=True)), ("b", STRING)]),
        ),
        ({"enum": ["a", None]}, replace(STRING, optional=True)),
        ({"enum": [1, 2]}, Schema(Type.INT64)),
        ({"enum": [1, 2.5]}, Schema(Type.FLOAT64)),
        ({"const": "a"}, STRING),
        ({"type": "string", "anyOf": [{"minLength": 3}, {"maxLength": 1}]}, STRING),
        ({"const": True}, Schema(Type.BOOLEAN)),
        ({"type": "string", "enum": ["a"], "pattern": "a"}, STRING),
        ({"properties": {"a": {"type": "string"}}}, struct([("a", replace(STRING, optional=True))])),
        ({"allOf": [{"type": "string"}, {"minLength": 1}, {"pattern": "^a"}]}, STRING),
        (
            {
                "title": "t",
                "description": "d",
                "type": "object",
                "allOf": [
                    {"$ref": "#/$defs/base"},
                    {"properties": {"b": {"type": "integer"}, "a": {"const": "x"}}, "required": ["b"]},
                ],
                "properties": {"c": {"type": "boolean"}},
                "$defs": {"base": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}},
            },
            replace(
                struct([("a", STRING), ("b", Schema(Type.INT64)), ("c", Schema(Type.BOOLEAN, optional=True))], name="t"), doc="d"
            ),
        ),
        (
            {"type": "integer", "connect.type": "int64", "title": "org.apache.kafka.connect.data.Timestamp", "connect.version": 1},
            timestamp(Unit.MILLISECONDS),
        ),
        (
            {
                "type": "number",
                "connect.type": "bytes",
                "title": "org.apache.kafka.connect.data.Decimal",
                "connect.parameters": {"scale": "3"},
            },
            decimal(3),
        ),
    ],
)
def test_what_others_write_is_read(form: object, schema: Schema) -> None:
    assert read(form) == schema


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (True, "no JSON Schema"),
        ({}, "has no type here"),
        ({"type": ["string", "stringy"]}, "the type stringy has no type here"),
        ({"type": ["null"]}, "a value of none of the types .* but null has no type here"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, r"of which not each is an object .*: write one type with all that"),
        ({"allOf": [{"minLength": 1}]}, r"a value of several types at once .allOf."),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}}, {"oneOf": [{"type": "string"}, {"type": "integer"}]}]},
            "not each is an",
        ),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "integer"}}}]},
            r"a is described twice .allOf., not as the same type: describe it in one of the objects",
        ),
        ({"const": {"a": 1}}, "has no type here"),
        ({"oneOf": [{"type": "string", "pattern": "("}, {"type": "integer"}]}, "does not say which values there are"),
        (
            {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"anyOf": []}}}}},
            "^a: b: a value of none of the types",
        ),
        ({"type": "array"}, "no JSON Schema"),
        ({"$ref": "http://127.0.0.1/other"}, "not among its references"),
        ({"$ref": "#"}, "# is made of itself: recursive schemas have no type here"),
        ({"properties": {"a": {"$ref": "#"}}, "type": "object"}, "^a: a: # is made of itself"),
        ({"type": "integer", "default": "x"}, "JSON"),
    ],
)
def test_a_schema_that_has_no_type_here_is_refused_with_the_reason(form: object, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        read(form)


def test_a_schema_that_would_grow_without_end_is_refused() -> None:
    defs: dict[str, Any] = {"a0": {"type": "string"}}
    for number in range(1, 40):
        part = {"$ref": f"#/$defs/a{number - 1}"}
        defs[f"a{number}"] = {"type": "object", "properties": {"x": part, "y": part}}
    with pytest.raises(RecordError, match="20000 altogether"):
        read({"$ref": "#/$defs/a39", "$defs": defs})


ROW = struct([("id", INT), ("at", timestamp()), ("codes", Schema(Type.MAP, keys=INT, items=decimal(2)))], name="r")
GOOD = b'{"id":1,"at":"2024-02-29T00:00:00.000000Z","codes":[{"key":7,"value":"ZA=="}]}'


@given(st.data())
def test_of_a_message_that_is_damaged_only_a_record_error_leaves(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(GOOD)))
    bad = GOOD[:start] + data.draw(st.binary(max_size=8)) + GOOD[start + data.draw(st.integers(0, 5)) :]
    with suppress(RecordError):
        assert isinstance(JsonForm(ROW).decode(bad, 0), dict)


def test_a_map_that_has_a_key_twice_or_one_that_cannot_be_is_refused() -> None:
    its = JsonForm(Schema(Type.MAP, keys=INT, items=INT))
    with pytest.raises(RecordError, match="a map has a key twice"):
        its.decode(b'[{"key":1,"value":1},{"key":1,"value":2}]', 0)
    odd = JsonForm(Schema(Type.MAP, keys=Schema(Type.ARRAY, items=INT), items=INT))
    with pytest.raises(RecordError, match="cannot be keys in Python"):
        odd.decode(b'[{"key":[1],"value":1}]', 0)


def test_what_is_not_valid_is_a_bad_record_where_that_is_asked_for(registry: TestRegistry) -> None:
    form = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 5}}, "required": ["a"]}
    registry.store.register("t-value", Held("JSON", json.dumps(form)))
    message = b"\x00\x00\x00\x00\x01" + b'{"a":3}'
    assert ours(registry).decode(message)[0] == {"a": 3}
    with pytest.raises(RecordError, match=r"not valid under its schema, at a: 3 is less than the minimum of 5"):
        ours(registry, json_fail_invalid_schema="true").decode(message)
    assert ours(registry, json_fail_invalid_schema="true").decode(b"\x00\x00\x00\x00\x01" + b'{"a":7}')[0] == {"a": 7}


@pytest.mark.parametrize("validated", ["true", "false"])
def test_a_schema_that_refers_to_others_is_read_with_them(registry: TestRegistry, validated: str) -> None:
    registry.store.register("part", Held("JSON", '{"type":"object","properties":{"x":{"type":"integer","maximum":9}}}'))
    whole = '{"type":"object","properties":{"p":{"$ref":"part.json"}}}'
    registry.store.register("whole", Held("JSON", whole, (("part.json", "part", 1),)))
    reader = ours(registry, json_fail_invalid_schema=validated)
    assert reader.decode(b'\x00\x00\x00\x00\x02{"p":{"x":7}}')[0] == {"p": {"x": 7}}
    if validated == "true":
        with pytest.raises(RecordError, match="at p/x"):
            reader.decode(b'\x00\x00\x00\x00\x02{"p":{"x":10}}')
