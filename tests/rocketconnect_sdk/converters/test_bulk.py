"""What a converter does with many at once, or with a column of Arrow, is what it does with each."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.converters.json.columns import texts_of
from rocketconnect_sdk.converters.json.forms import Form
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type, struct
from tests.rocketconnect_sdk.typed_values import LEAVES, columns, is_plain_json, many, shown

JSON = {
    "enveloped": {},
    "plain": {"schemas.enable": "false"},
    "numeric": {"decimal.format": "NUMERIC"},
    "text": {"schemas.enable": "false", "decimal.format": "TEXT"},
}


@pytest.mark.parametrize("options", JSON.values(), ids=JSON)
@given(case=columns().flatmap(many), begin=st.integers(0, 3))
def test_json_of_a_column_is_that_of_its_values(options: dict[str, str], case: tuple[Schema, list[Any]], begin: int) -> None:
    schema, values = case
    json = converter("json", options, is_key=False)
    column = Column(to_array(values, schema)[begin:])
    alone = [json.encode(value, schema) for value in values[begin:]]
    assert json.encode_many(values[begin:], schema) == alone
    assert json.encode_many(column, schema) == alone
    found, its_schema = json.decode_many(alone)
    assert list(found) == [json.decode(message)[0] for message in alone]
    assert its_schema == (schema if not options.get("schemas.enable") and alone else its_schema)


@given(case=columns().flatmap(many))
def test_json_of_a_column_without_bad_values_is_made_at_once(case: tuple[Schema, list[Any]]) -> None:
    schema, values = case
    assert texts_of(to_array(values, schema), schema, Form()) is not None


@given(case=columns().flatmap(many), last=st.booleans())
def test_json_of_a_column_with_the_same_values_again_and_again_is_that_of_each(case: tuple[Schema, list[Any]], last: bool) -> None:
    schema, values = case
    values = [*values[:1] * 20, *values[1:2] * 20, *(values[:1] if last else ())]
    json = converter("json", {}, is_key=False)
    for held in (values, values[:20]):
        assert json.encode_many(Column(to_array(held, schema)), schema) == [json.encode(value, schema) for value in held]


def test_the_zeros_of_floats_keep_their_signs() -> None:
    json = converter("json", {"schemas.enable": "false"}, is_key=False)
    values = [0.0, *[-0.0] * 30, 0.0]
    made = json.encode_many(Column(to_array(values, Schema(Type.FLOAT64))), Schema(Type.FLOAT64))
    assert made == [b"0.0", *[b"-0.0"] * 30, b"0.0"]


BINARY = {
    "string": (STRING, Schema(Type.INT64), Schema(Type.BOOLEAN), Schema(Type.FLOAT64), Schema(Type.ARRAY, items=Schema(Type.INT8))),
    "bytes": (BYTES, STRING),
    "short": (Schema(Type.INT16), Schema(Type.UINT8)),
    "integer": (Schema(Type.INT32),),
    "long": (Schema(Type.INT64), Schema(Type.INT8)),
    "float": (Schema(Type.FLOAT32), Schema(Type.INT8)),
    "double": (Schema(Type.FLOAT64), Schema(Type.FLOAT32)),
    "arrow": (STRING, struct([("a", Schema(Type.INT64))])),
}


def values_of(schema: Schema) -> st.SearchStrategy[Any]:
    if schema.type is Type.STRUCT:
        return st.fixed_dictionaries({field.name: LEAVES[field.schema] for field in schema.fields})
    return LEAVES[schema] if schema.items is None else st.lists(LEAVES[schema.items], max_size=3)


@pytest.mark.parametrize(("name", "schema"), [(name, schema) for name, schemas in BINARY.items() for schema in schemas])
@given(data=st.data(), begin=st.integers(0, 3))
def test_others_write_and_read_many_as_each(name: str, schema: Schema, data: st.DataObject, begin: int) -> None:
    values = data.draw(st.lists(values_of(schema), min_size=1, max_size=5))[begin:]
    subject = converter(name, {}, is_key=False)
    alone = [subject.encode(value, schema) for value in values]
    assert list(subject.encode_many(values, schema)) == alone
    assert list(subject.encode_many(Column(to_array(values, schema)), schema)) == alone
    found, its_schema = subject.decode_many(alone)
    pairs = [subject.decode(message) for message in alone]
    assert list(found) == [value for value, _ in pairs]
    assert not pairs or {its_schema} == {each for _, each in pairs}


@pytest.mark.parametrize(
    ("name", "bad"),
    [("short", 1 << 15), ("long", True), ("long", 1.5), ("float", 1e39), ("double", "x"), ("bytes", 5), ("string", "\ud800")],
)
def test_one_that_cannot_be_written_is_told(name: str, bad: object) -> None:
    subject = converter(name, {}, is_key=False)
    good: object = "a" if name in ("bytes", "string") else 1
    with pytest.raises(RecordError):
        subject.encode_many([good, bad], None)


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16"])
def test_text_in_another_encoding_is_not_taken_for_utf8(encoding: str) -> None:
    subject = converter("string", {"serializer.encoding": encoding}, is_key=False)
    assert subject.encode_many(Column(to_array(["\u00fc"], STRING)), STRING) == ["\u00fc".encode(encoding)]


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        (Schema(Type.FLOAT64), [1.0, float("nan")]),
        (STRING, ["a", None]),
        (struct([("a", Schema(Type.INT64))]), [{"a": 1}, {"a": None}]),
        (Schema(Type.ARRAY, items=STRING), [["a"], [None]]),
    ],
)
def test_a_column_with_a_value_that_json_cannot_have_is_told(schema: Schema, values: list[object]) -> None:
    """And which one it is, by encoding each."""
    json = converter("json", {}, is_key=False)
    with pytest.raises(RecordError):
        json.encode_many(Column(to_array(values, schema)), schema)
    assert json.encode(values[0], schema)


@given(case=columns().flatmap(many), data=st.data())
def test_whatever_json_comes_many_are_read_as_each(case: tuple[Schema, list[Any]], data: st.DataObject) -> None:
    """Also where something else stands for a value: the same value, or a RecordError with both."""
    row, values = struct([("a", case[0])]), [{"a": value} for value in case[1]] * 8
    json = converter("json", {}, is_key=False)
    messages = [json.encode(value, row) for value in values]
    begin = messages[0].index(b'"payload":') + len(b'"payload":')
    changed = bytearray(messages[-1])
    for _ in range(data.draw(st.integers(0, 2))):
        changed[data.draw(st.integers(begin, len(changed) - 1))] = data.draw(st.sampled_from(b'0019-+.eE"Zz:{}[],ntf= '))
    messages[-1] = bytes(changed)
    try:
        alone = [json.decode(message)[0] for message in messages]
    except RecordError:
        with pytest.raises(RecordError):
            json.decode_many(messages)
        return
    assert shown(json.decode_many(messages)[0]) == shown(alone)


@given(st.data())
def test_rows_of_every_type_but_maps_are_read_as_a_column(data: st.DataObject) -> None:
    leaves = [(f"f{number}", replace(leaf, optional=number % 2 == 0)) for number, leaf in enumerate(LEAVES)]
    row = struct([*leaves, ("list", Schema(Type.ARRAY, items=Schema(Type.DATE))), ("in", struct([("a", Schema(Type.UUID))]))])
    some = {
        **{name: LEAVES[replace(leaf, optional=False)] for name, leaf in leaves},
        "list": st.lists(st.dates(), max_size=2),
        "in": st.fixed_dictionaries({"a": st.uuids()}),
    }
    rows = [data.draw(st.fixed_dictionaries(some)) for _ in range(2)]
    rows.append({**rows[0], **{name: None for name, leaf in leaves if leaf.optional}})
    json = converter("json", {}, is_key=False)
    messages = [json.encode(value, row) for value in rows * 6]
    found, schema = json.decode_many(messages)
    assert schema == row
    assert shown(found) == shown(json.decode(message)[0] for message in messages)
    assert isinstance(found, Column) or not all(map(is_plain_json, rows))
    if isinstance(found, Column):
        assert found.array.equals(to_array(list(found), row))
        assert to_array(found, row) is found.array


@pytest.mark.parametrize("bad", [b'{"a":null}', b"{}", b'{"a":"x"}', b'{"a":3652059}', b"[]", b"null"])
def test_one_that_is_no_row_of_its_schema_is_told_of_many(bad: bytes) -> None:
    """And the others are read as a column."""
    json, row = converter("json", {}, is_key=False), struct([("a", Schema(Type.DATE))])
    good = json.encode({"a": date(2024, 2, 29)}, row)
    assert isinstance(json.decode_many([good] * 20)[0], Column)
    with pytest.raises(RecordError):
        json.decode_many([good] * 19 + [good.replace(b'{"a":19782}', bad)])
