import math
import re
from base64 import b64encode
from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.converters import BUILT_IN, Converter, converter, converter_class
from rocketconnect_sdk.converters.registered import RegisteredConverter
from rocketconnect_sdk.errors import ConfigError, RecordError
from rocketconnect_sdk.schema import STRING, Schema, Type, Unit, decimal, struct, timestamp
from tests.examples import some
from tests.registry.server import shared_url
from tests.rocketconnect_sdk.typed_values import TEXT, typed


def of(name: str, **options: str) -> Converter:
    given = {key.replace("_", "."): value for key, value in options.items()}
    if issubclass(converter_class(name), RegisteredConverter):
        given = {"schema.registry.url": shared_url(), "compatibility": "NONE", **given}
    return converter(name, given, is_key=False)


@pytest.mark.parametrize("kind", [Type.UINT8, Type.UINT16, Type.UINT32])
@pytest.mark.parametrize(
    "own", [{"name": "n", "version": 3}, {"parameters": (("a", "b"),)}, {"name": "n", "parameters": (("a", "b"),)}]
)
def test_an_unsigned_number_with_a_name_or_parameters_of_its_own_stays_one_in_the_envelope(kind: Type, own: dict[str, Any]) -> None:
    json = converter("json", {"schemas.enable": "true"}, is_key=False)
    schema = Schema(kind, **own)
    assert json.decode(json.encode(7, schema)) == (7, schema)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"{}", "the object has neither"),
        (b'{"id":1}', "unknown field `id`"),
        (b'{"Payload":1}', "unknown field `Payload`"),
        (b'{"id":1,"payload":"x"}', "unknown field `id`"),
        (b'{"schema":null,"id":1}', "unknown field `id`"),
        (b'{"schema":{"type":"string","optional":true},"text":"x"}', "unknown field `text`"),
    ],
)
@pytest.mark.parametrize("is_key", [True, False])
def test_an_object_that_is_no_envelope_is_no_null_but_a_bad_record(message: bytes, why: str, *, is_key: bool) -> None:
    json = converter("json", {"schemas.enable": "true"}, is_key=is_key)
    fix = f"without envelopes set {'key' if is_key else 'value'}.converter.schemas.enable=false"
    good = b'{"schema":null,"payload":1}'
    for decode in (json.decode, lambda data: json.decode_many([data]), lambda data: json.decode_many([good, data])):
        with pytest.raises(RecordError, match=f"{why}.*; {re.escape(fix)}$"):
            decode(message)


@given(st.dictionaries(TEXT | st.sampled_from(["schema", "payload"]), st.none() | st.integers() | TEXT, max_size=4), st.booleans())
@settings(deadline=None)
def test_no_field_of_an_object_is_lost_where_envelopes_are_read(fields: dict[str, Any], many: bool) -> None:
    json, message = of("json"), msgspec.json.encode(fields)
    with suppress(RecordError):
        value = json.decode_many([message, message])[0][1] if many else json.decode(message)[0]
        assert fields.keys() <= {"schema", "payload"}
        assert value == fields.get("payload")


@pytest.mark.parametrize(
    ("message", "value"),
    [(b'{"payload":1}', 1), (b'{"schema":{"type":"string","optional":true}}', None), (b'{"schema":null}', None)],
)
def test_an_envelope_that_leaves_out_a_null_is_one(message: bytes, value: object) -> None:
    json = converter("json", {"schemas.enable": "true"}, is_key=False)
    assert json.decode(message)[0] == value
    assert list(json.decode_many([message, message])[0]) == [value, value]


def test_what_else_has_the_parameter_of_unsigned_numbers_is_what_its_word_says() -> None:
    json = converter("json", {"schemas.enable": "true"}, is_key=False)
    message = b'{"schema":{"type":"int64","parameters":{"rocketconnect.type":"uint8"}},"payload":-7}'
    assert json.decode(message)[0] == -7


@given(typed())
@settings(max_examples=some(300), deadline=None)
def test_json_with_envelope_gives_back_value_and_schema(case: tuple[Schema, Any]) -> None:
    schema, value = case
    assume(value is not None)
    json = of("json")
    assert json.decode(json.encode(value, schema)) == (value, schema)


@given(typed())
@settings(max_examples=some(100), deadline=None)
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
@settings(max_examples=some(150), deadline=2000)
def test_whatever_bytes_come_only_a_record_error_leaves(name: str, data: bytes) -> None:
    reader = of(name)
    with suppress(RecordError):
        reader.decode(data)
    with suppress(RecordError):
        reader.decode_many([data, data])


# The suite of converters has values like them each time.
IN_SUITE = [
    pytest.param(value, marks=pytest.mark.slow) for value in (object(), "\ud800", {"a": {1, 2}}, math.nan, 1 << 70, b"\xff")
]


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("value", [*IN_SUITE, math.inf, [math.nan]])
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
        (time(0, 0, 0, 1), Schema(Type.TIME, unit=Unit.MILLISECONDS)),
        (datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=UTC), timestamp(Unit.MILLISECONDS)),
    ):
        with pytest.raises(RecordError):
            of("json").encode(value, schema)
    assert of("json").encode(time(0, 0, 1), Schema(Type.TIME, unit=Unit.MILLISECONDS)).endswith(b'"payload":1000}')
    assert of("json").encode(date(1970, 1, 2), Schema(Type.DATE)).endswith(b'"payload":1}')


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
    with pytest.raises(ConfigError, match=r"cbor.*Use one of string, bytes, json"):
        converter("cbor", {}, is_key=False)
