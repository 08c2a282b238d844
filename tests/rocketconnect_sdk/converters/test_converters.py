import math
from base64 import b64encode
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.converters import BUILT_IN, Converter, converter
from rocketconnect_sdk.errors import ConfigError, RecordError
from rocketconnect_sdk.schema import BYTES, DATE, STRING, TIME, TIMESTAMP, Schema, Type, decimal, struct

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='\\"'), max_size=20)


def of(name: str, **options: str) -> Converter:
    return converter(name, {key.replace("_", "."): value for key, value in options.items()}, is_key=False)


def whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


def cents(digits: int) -> st.SearchStrategy[Decimal]:
    return st.integers(-(10**digits), 10**digits).map(lambda number: Decimal(number).scaleb(-2))


LEAVES: list[tuple[Schema, st.SearchStrategy[Any]]] = [
    (Schema(Type.BOOLEAN), st.booleans()),
    (Schema(Type.INT8), whole(8)),
    (Schema(Type.INT16), whole(16)),
    (Schema(Type.INT32), whole(32)),
    (Schema(Type.INT64), whole(64)),
    (Schema(Type.FLOAT64), st.floats(allow_nan=False, allow_infinity=False)),
    (STRING, TEXT),
    (BYTES, st.binary(max_size=20)),
    (decimal(2), cents(27)),
    (Schema(Type.INT32, name=DATE), st.dates()),
    (Schema(Type.INT32, name=TIME), st.integers(0, 86_399_999)),
    (
        Schema(Type.INT64, name=TIMESTAMP),
        st.integers(-62_135_596_800_000, 253_402_300_799_999).map(
            lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
        ),
    ),
]


@st.composite
def typed(draw: st.DrawFn, depth: int = 2) -> tuple[Schema, Any]:
    """A schema and a value that fits it."""
    kind = draw(st.sampled_from(["leaf", "leaf", "optional", "struct", "array", "map", "pairs"] if depth else ["leaf"]))
    if kind == "optional":
        schema, value = draw(typed(depth - 1))
        return Schema(**{**_fields(schema), "optional": True}), draw(st.sampled_from([None, value]))
    if kind == "struct":
        parts = {name: draw(typed(depth - 1)) for name in draw(st.lists(NAMES, unique=True, max_size=4))}
        return struct([(name, schema) for name, (schema, _) in parts.items()]), {name: value for name, (_, value) in parts.items()}
    if kind == "array":
        schema, value = draw(typed(depth - 1))
        return Schema(Type.ARRAY, items=schema), [value] * draw(st.integers(0, 2))
    if kind in ("map", "pairs"):
        schema, value = draw(typed(depth - 1))
        keys, key = (STRING, TEXT) if kind == "map" else (Schema(Type.INT32), whole(32))
        return Schema(Type.MAP, keys=keys, items=schema), dict.fromkeys(draw(st.lists(key, max_size=2)), value)
    schema, values = draw(st.sampled_from(LEAVES))
    return schema, draw(values)


def _fields(schema: Schema) -> dict[str, Any]:
    return {name: getattr(schema, name) for name in Schema.__dataclass_fields__}


@given(typed())
@settings(max_examples=300, deadline=None)
def test_json_with_envelope_gives_back_value_and_schema(case: tuple[Schema, Any]) -> None:
    schema, value = case
    assume(value is not None)
    json = of("json")
    assert json.decode(json.encode(value, schema)) == (value, schema)


@given(typed())
@settings(max_examples=100, deadline=None)
def test_many_are_written_and_read_like_one(case: tuple[Schema, Any]) -> None:
    schema, value = case
    assume(value is not None)
    json = of("json")
    many = json.encode_many([value, value], schema)
    assert many == [json.encode(value, schema)] * 2
    assert json.decode_many(many) == ([value, value], schema)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


@given(JSON, st.sampled_from(["true", "false"]))
@settings(deadline=None)
def test_json_without_schema_gives_back_the_value(value: object, enveloped: str) -> None:
    json = of("json", schemas_enable=enveloped)
    assert json.decode(json.encode(value, None)) == (value, None)


@given(TEXT)
def test_strings_are_their_utf8(value: str) -> None:
    assert of("string").encode(value, None) == value.encode()
    assert of("string").decode(value.encode()) == (value, STRING)


@pytest.mark.parametrize(("name", "bits"), [("short", 16), ("integer", 32), ("long", 64)])
def test_whole_numbers_have_their_limits(name: str, bits: int) -> None:
    numbers = of(name)
    for number in (-(1 << bits - 1), (1 << bits - 1) - 1, 0):
        assert numbers.decode(numbers.encode(number, None))[0] == number
    for wrong in (1 << bits - 1, 1.0, True, "1"):
        with pytest.raises(RecordError):
            numbers.encode(wrong, None)


ENVELOPE = b'{"schema":%s,"payload":%s}'
FRAGMENTS = st.sampled_from(
    [
        b'{"type":"struct","fields":[{"type":"int64","field":"a"}]}',
        b'{"type":"array","items":{"type":"string"}}',
        b'{"type":"map","keys":{"type":"int32"},"values":{"type":"bytes"}}',
        b'{"type":"bytes","name":"io.openmessaging.connector.api.data.logical.Decimal","parameters":{"scale":"999999999999"}}',
        b'{"type":"bytes","name":"io.openmessaging.connector.api.data.logical.Decimal","parameters":{"scale":"x"}}',
        b'{"type":"int64","name":"io.openmessaging.connector.api.data.logical.Timestamp"}',
        b'{"type":"int32","name":"io.openmessaging.connector.api.data.logical.Date"}',
        b'{"type":"int32","optional":true,"default":[]}',
        b'{"type":["struct"]}',
        b'{"type":"struct","fields":[{"type":"int64","field":"a"},{"type":"int64","field":"a"}]}',
        b"null",
        b"[]",
        b"9223372036854775807",
        b"1e999",
        b'"AQ=="',
        b'"\\ud800"',
        b"[[1,2],[3]]",
        b'{"a":1}',
        b"[" * 5000,
        b'{"a":' * 5000,
        b'{"type":"array","items":' * 3000,
    ]
)


@pytest.mark.parametrize("name", BUILT_IN)
@given(data=st.binary(max_size=200) | st.builds(ENVELOPE.__mod__, st.tuples(FRAGMENTS, FRAGMENTS)) | FRAGMENTS)
@settings(max_examples=150, deadline=2000)
def test_whatever_bytes_come_only_a_record_error_leaves(name: str, data: bytes) -> None:
    reader = of(name)
    with suppress(RecordError):
        reader.decode(data)
    with suppress(RecordError):
        reader.decode_many([data, data])


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("value", [object(), "\ud800", {"a": {1, 2}}, math.nan, math.inf, [math.nan], 1 << 70, b"\xff"])
def test_whatever_value_comes_only_a_record_error_leaves(name: str, value: object) -> None:
    for schema in (None, STRING, Schema(Type.INT64), decimal(2)):
        with suppress(RecordError):
            of(name).encode(value, schema)


def test_a_decimal_that_would_take_minutes_is_refused() -> None:
    schema = decimal(0)
    json = of("json")
    for huge in (Decimal("1E+10000000"), Decimal("9" * 100_000)):
        with pytest.raises(RecordError):
            json.encode(huge, schema)
    form = json.encode(Decimal(1), schema).replace(b'"AQ=="', b'"%b"' % b64encode(b"\x01" * 3_000_000))
    with pytest.raises(RecordError):
        json.decode(form)


def test_nan_is_refused_rather_than_written_as_null() -> None:
    row = struct([("x", Schema(Type.FLOAT64, optional=True))])
    for value, schema in (({"x": math.nan}, row), ({"x": math.nan}, None), ([1.0, [math.inf]], None)):
        with pytest.raises(RecordError, match="NaN"):
            of("json").encode(value, schema)
    assert b"null" in of("json").encode({"x": None}, row)


def test_a_value_that_does_not_fit_its_schema_is_refused() -> None:
    row = struct([("x", Schema(Type.INT8)), ("y", Schema(Type.STRING, optional=True))])
    for wrong in ({"x": 128}, {"x": "1"}, {"x": None}, {}, {"x": 1, "unknown": 2}, [1], {"x": True}, {"x": 1, "y": 5}):
        with pytest.raises(RecordError):
            of("json").encode(wrong, row)


def test_a_missing_optional_field_is_null_and_a_missing_required_one_an_error() -> None:
    json = of("json")
    row = struct([("x", Schema(Type.INT8)), ("y", Schema(Type.STRING, optional=True)), ("z", decimal(1, optional=True))])
    form = json.encode({"x": 1, "y": "a", "z": Decimal("1.5")}, row)
    assert json.decode(form.replace(b',"y":"a","z":"Dw=="', b""))[0] == {"x": 1, "y": None, "z": None}
    with pytest.raises(RecordError):
        json.decode(form.replace(b'"x":1,', b""))


def test_a_default_stands_for_null_in_both_directions() -> None:
    row = struct([("x", Schema(Type.INT32, default=5))])
    json = of("json")
    assert b'"x":5' in json.encode({"x": None}, row)
    assert json.decode(json.encode({"x": 1}, row).replace(b'"x":1', b'"x":null'))[0] == {"x": 5}


def test_decimals_keep_every_digit_as_numbers() -> None:
    json = of("json", decimal_format="numeric")
    value = Decimal("12345678901234567890.12")
    assert b'"payload":12345678901234567890.12' in json.encode(value, decimal(2))
    assert json.decode(json.encode(value, decimal(2)))[0] == value


def test_more_precision_than_the_schema_holds_is_refused() -> None:
    for value, schema in (
        (Decimal("1.234"), decimal(2)),
        (time(0, 0, 0, 1), Schema(Type.INT32, name=TIME)),
        (datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=UTC), Schema(Type.INT64, name=TIMESTAMP)),
    ):
        with pytest.raises(RecordError):
            of("json").encode(value, schema)
    assert of("json").encode(time(0, 0, 1), Schema(Type.INT32, name=TIME)).endswith(b'"payload":1000}')
    assert of("json").encode(date(1970, 1, 2), Schema(Type.INT32, name=DATE)).endswith(b'"payload":1}')


def test_batches_of_several_schemas_are_left_to_decode() -> None:
    json = of("json")
    mixed = [json.encode("a", STRING), json.encode(1, Schema(Type.INT64))]
    with pytest.raises(RecordError):
        json.decode_many(mixed)
    assert [json.decode(item)[0] for item in mixed] == ["a", 1]


def test_a_schema_is_forgotten_when_too_many_others_came() -> None:
    json = of("json", schemas_cache_size="2")
    for name in "abcde":
        row = struct([(name, STRING)])
        assert json.decode(json.encode({name: "x"}, row)) == ({name: "x"}, row)
    assert len(json._writers) == len(json._readers) == 2  # type: ignore[attr-defined]


def test_other_encodings_are_options() -> None:
    latin = of("string", serializer_encoding="iso-8859-1", deserializer_encoding="iso-8859-1")
    assert latin.encode("ü", None) == b"\xfc"
    assert latin.decode(b"\xfc")[0] == "ü"
    with pytest.raises(RecordError):
        latin.encode("世", None)
    with pytest.raises(ConfigError, match=r"deserializer\.encoding"):
        of("string", deserializer_encoding="no-such")


def test_text_of_other_values_is_their_json() -> None:
    assert [of("string").encode(value, None) for value in (1, True, {"a": [1]}, b"x")] == [b"1", b"true", b'{"a":[1]}', b"x"]


def test_a_field_name_that_msgspec_cannot_write_is_refused() -> None:
    with pytest.raises(RecordError, match="field names"):
        of("json").encode({'a"b': "x"}, struct([('a"b', STRING)]))


def test_an_unknown_converter_is_named_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"avro.*Use one of string, bytes, json"):
        converter("avro", {}, is_key=False)
