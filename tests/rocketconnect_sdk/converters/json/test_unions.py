"""Values of one of several types in JSON Schema: structs with a field for each type, of which one is given."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.converters.json.registered import JsonForm
from rocketconnect_sdk.converters.json.registered_schema import from_json_schema, to_json_schema
from rocketconnect_sdk.converters.json.unions import UNION, union_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import BYTES, OPTIONAL_STRING, STRING, Schema, Type, struct

INT, DOUBLE = Schema(Type.INT64), Schema(Type.FLOAT64)
CIRCLE, SQUARE = struct([("radius", DOUBLE)], name="circle"), struct([("side", DOUBLE), ("note", OPTIONAL_STRING)], name="square")
SHAPE = union_of([CIRCLE, SQUARE], optional=True)
LIST = Schema(Type.ARRAY, items=union_of([STRING, INT], optional=False))
ROW = struct(
    [
        ("id", union_of([STRING, INT, DOUBLE], optional=False)),
        ("shape", SHAPE),
        ("list", LIST),
        ("map", Schema(Type.MAP, keys=INT, items=union_of([Schema(Type.BOOLEAN), LIST], optional=False))),
    ],
    name="row",
)


def of(union: Schema, index: int, value: object) -> dict[str, object]:
    """The value of a union."""
    return {field.name: value if number == index else None for number, field in enumerate(union.fields)}


def read(schema: Schema, form: object) -> Any:
    return JsonForm(schema).decode(json.dumps(form).encode(), 0)


def field(schema: Schema, name: str) -> Schema:
    return next(each.schema for each in schema.fields if each.name == name)


@pytest.mark.parametrize(
    "form",
    [
        {"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        {"anyOf": [{"type": "null"}, {"type": "string"}, {"type": "integer"}]},
        {"type": ["string", "null", "integer"]},
        {"oneOf": [{"$ref": "#/$defs/text"}, {"type": ["integer", "null"]}], "$defs": {"text": {"type": "string"}}},
    ],
)
def test_it_is_the_struct_that_confluents_converter_has(form: object) -> None:
    found = from_json_schema(json.dumps(form), {})
    assert (found.type, found.optional, found.name) == (Type.STRUCT, True, "io.confluent.connect.json.OneOf")
    assert [(each.name, each.schema.type, each.schema.optional) for each in found.fields] == [
        ("io.confluent.connect.json.OneOf.field.0", Type.STRING, True),
        ("io.confluent.connect.json.OneOf.field.1", Type.INT64, True),
    ]
    assert found.name == UNION


def test_types_of_several_types_come_back_too() -> None:
    inner = union_of([INT, Schema(Type.BOOLEAN)], optional=False)
    union = union_of([inner, STRING], optional=True)
    assert from_json_schema(to_json_schema(union), {}) == union
    for value, text in ((of(union, 0, of(inner, 1, True)), b"true"), (of(union, 1, "x"), b'"x"')):
        assert JsonForm(union).encode(value) == text
        assert JsonForm(union).decode(text, 0) == value


def test_the_schema_comes_back_and_a_value_is_the_value_alone() -> None:
    text = to_json_schema(ROW)
    assert from_json_schema(text, {}) == ROW
    assert [branch["type"] for branch in json.loads(text)["properties"]["id"]["oneOf"]] == ["string", "integer", "number"]
    items = field(ROW, "map").items
    assert items is not None
    assert LIST.items is not None
    texts = [of(LIST.items, 0, "x"), of(LIST.items, 1, 7)]
    value: dict[str, object] = {
        "id": of(field(ROW, "id"), 2, 1.5),
        "shape": of(SHAPE, 1, {"side": 2.0, "note": None}),
        "list": texts,
    }
    value["map"] = {1: of(items, 0, True), 2: of(items, 1, texts)}
    form = JsonForm(ROW)
    written = form.encode(value)
    assert json.loads(written) == {
        "id": 1.5,
        "shape": {"side": 2.0, "note": None},
        "list": ["x", 7],
        "map": [{"key": 1, "value": True}, {"key": 2, "value": ["x", 7]}],
    }
    assert form.decode(written, 0) == value
    assert form.decode_many([written] * 20, 0) == [value] * 20
    assert form.encode_many(Column(to_array([value] * 20, ROW))) == [written] * 20
    assert read(ROW, {"id": 3, "list": [], "map": []}) == {"id": of(field(ROW, "id"), 1, 3), "shape": None, "list": [], "map": {}}


@pytest.mark.parametrize(
    ("text", "index"),
    [("1", 1), ("1.0", 2), ("1e3", 2), ('"NaN"', 0), ('"1"', 0), ("9223372036854775808", 2)],
)
def test_a_number_is_what_it_looks_like_and_a_text_a_text(text: str, index: int) -> None:
    union = field(ROW, "id")
    found = JsonForm(union).decode(text.encode(), 0)
    assert [place for place, held in enumerate(dict(found).values()) if held is not None] == [index]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (True, "true is to be of one of several types .string, int64, double., and fits none of the types"),
        ({"a": 1}, "and fits none of the types"),
    ],
)
def test_a_value_of_none_of_the_types_is_bad(form: object, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        read(struct([("id", field(ROW, "id"))]), {"id": form})


def test_a_value_that_could_be_of_several_types_is_bad_and_never_a_guess() -> None:
    union = union_of([struct([("a", OPTIONAL_STRING)]), struct([("a", OPTIONAL_STRING), ("b", OPTIONAL_STRING)])], optional=False)
    assert read(union, {"b": "x"}) == of(union, 1, {"a": None, "b": "x"})
    with pytest.raises(RecordError, match="fits more than one of the types: struct, struct"):
        read(union, {"a": "x"})
    with pytest.raises(RecordError, match="fits more than one of the types: bytes, string"):
        read(union_of([BYTES, STRING], optional=False), "abcd")
    with pytest.raises(RecordError, match="fits more than one of the types"):
        JsonForm(union).encode(of(union, 0, {"a": "x"}))


def test_what_would_be_read_as_another_type_is_not_written() -> None:
    union = union_of([Schema(Type.INT32), INT], optional=False)
    assert JsonForm(union).encode(of(union, 1, 1 << 40)) == b"1099511627776"
    with pytest.raises(RecordError, match="a value of the type int64 would be read as one of the type int32: b'7'"):
        JsonForm(union).encode(of(union, 1, 7))


CIRCLES = {"type": "object", "properties": {"kind": {"const": "circle"}, "size": {"type": "number"}}, "required": ["kind", "size"]}
SQUARES = {
    "type": "object",
    "properties": {"kind": {"enum": ["square", "box"]}, "size": {"type": "number"}},
    "required": ["kind", "size"],
}


@pytest.mark.parametrize(
    ("types", "values"),
    [
        ([CIRCLES, SQUARES], [{"kind": "circle", "size": 1.5}, {"kind": "box", "size": 2.0}]),
        ([{"const": "a"}, {"enum": ["b", "c"]}], ["a", "c"]),
        ([{"enum": [1, 2]}, {"enum": [3, 4]}], [2, 3]),
        ([{"type": "string", "pattern": "^[0-9]+$"}, {"type": "string", "pattern": "^[a-z]+$"}], ["12", "ab"]),
        ([{"type": "array", "items": {"const": "x"}}, {"type": "array", "items": {"const": "y"}}], [["x"], ["y", "y"]]),
        (
            [{"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"const": v}}}]} for v in "pq"],
            [{"a": "p"}, {"a": "q"}],
        ),
        ([{"type": "integer", "enum": [1]}, {"type": "boolean", "const": True}], [1, True]),
    ],
)
def test_const_enum_and_pattern_tell_types_apart(types: list[object], values: list[Any]) -> None:
    union = from_json_schema(json.dumps({"oneOf": types}), {})
    form = JsonForm(union)
    for index, value in enumerate(values):
        assert read(union, value) == of(union, index, value)
        assert json.loads(form.encode(of(union, index, value))) == value
        with pytest.raises(RecordError, match=r"would be read as one of the type|cannot be written as JSON"):
            form.encode(of(union, 1 - index, value))
    # Which values there are is written for other readers too, and comes back.
    text = to_json_schema(union)
    assert from_json_schema(text, {}) == union
    assert all(word in text for word in ("const", "enum", "pattern") if f'"{word}"' in json.dumps(types))


def test_a_value_that_is_said_of_no_type_or_of_several_is_bad() -> None:
    union = from_json_schema(json.dumps({"oneOf": [CIRCLES, SQUARES]}), {})
    with pytest.raises(RecordError, match="fits none of the types"):
        read(union, {"kind": "star", "size": 1.0})
    both = from_json_schema(json.dumps({"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}), {})
    with pytest.raises(RecordError, match="fits more than one of the types"):
        read(both, "b")
    with pytest.raises(RecordError, match="fits none of the types"):
        JsonForm(union).encode(of(union, 0, {"kind": "star", "size": 1.0}))


def test_exactly_one_field_is_given() -> None:
    union = field(ROW, "id")
    both = {**of(union, 0, "x"), f"{UNION}.field.1": 1}
    for value, count in ((of(union, 9, None), 0), (both, 2)):
        with pytest.raises(RecordError, match=f"exactly one is to be given, not {count}"):
            JsonForm(union).encode(value)


def test_names_that_stand_twice_are_told_in_it() -> None:
    with pytest.raises(RecordError, match="twice"):
        JsonForm(SHAPE).decode(b'{"radius":1.0,"radius":2.0}', 0)
    with pytest.raises(RecordError, match="cannot be read"):
        JsonForm(SHAPE).decode(b'{"radius":1.0', 0)


ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.floats() | st.text(max_size=5),
    lambda part: st.lists(part, max_size=3),
)


@given(ANYTHING)
def test_of_any_value_it_is_read_or_told_to_be_bad(form: object) -> None:
    union = field(ROW, "id")
    fits = isinstance(form, str) or (isinstance(form, int | float) and not isinstance(form, bool) and abs(form) < 1e300)
    try:
        found = read(union, form)
    except RecordError:
        assert not fits
    else:
        assert [held for held in found.values() if held is not None] == [form]
