"""What Kafka's JsonConverter wrote is read exactly, and what is written here is read by it: recorded, and with its own code."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from math import inf, isnan, nan
from struct import pack, unpack
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rocketconnect_sdk.converters import converter, converter_class
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import STRING, Schema, Type, decimal, struct
from tests.rocketconnect_sdk.converters.interoperability.connect_data import SENT, had, ours, sorted_maps
from tests.rocketconnect_sdk.converters.interoperability.connect_peer import Peer, Reader
from tests.rocketconnect_sdk.converters.interoperability.kafka_connect import (
    PACKAGE,
    RECORDED,
    WAYS,
    json_converter,
    kafka_connect,
    recorded,
)
from tests.rocketconnect_sdk.typed_values import typed

EXAMPLES = json.loads(RECORDED.read_text(encoding="utf-8"))
WRITTEN = {f"{example['name']} {example['decimal.format']}": example for example in EXAMPLES["written_there"]}
READ = [(schema, value, way) for schema, value in SENT for way in WAYS]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Peer:
    return kafka_connect(tmp_path_factory.mktemp("java"))


@pytest.fixture(scope="module")
def reader(kafka: Peer) -> Iterator[Reader]:
    with kafka.running() as found:
        yield found


@pytest.mark.parametrize("name", WRITTEN)
def test_what_kafka_connect_wrote_is_read(name: str) -> None:
    """The schema with all that it says, and the value."""
    example = WRITTEN[name]
    value, schema = json_converter("kafka", "BASE64").decode(example["written"].encode())
    expected = ours(example["value"], schema)
    if isinstance(expected, float) and isnan(expected):
        assert isinstance(value, float)
        assert isnan(value)
        return
    assert repr(value) == repr(expected), "also of the same type, and -0 as such"
    if schema is not None:
        assert sorted_maps(had(schema, value, PACKAGE)) == sorted_maps({key: example[key] for key in ("schema", "value")})


# JSON has no form for some, whatever has no schema is not told, and defaults of decimals are always base64, which both read.
OTHERWISE = ("NaN", "Infinity", "nothing said", "defaults NUMERIC")


@pytest.mark.parametrize("name", [name for name in WRITTEN if not any(word in name for word in OTHERWISE)])
def test_what_kafka_connect_wrote_is_written_again_as_it_was(name: str) -> None:
    example = WRITTEN[name]
    converter = json_converter("kafka", example["decimal.format"])
    written = converter.encode(*converter.decode(example["written"].encode()))
    assert numbers(json.loads(written)) == numbers(json.loads(example["written"]))


def numbers(form: Any) -> Any:
    """JSON with floating point numbers as 32 bits have them: 0.1 there is 0.10000000149011612 here, and the same number."""
    if isinstance(form, float):
        return unpack("f", pack("f", form))[0] if abs(form) < 3.5e38 else form
    if isinstance(form, dict):
        return {key: numbers(part) for key, part in form.items()}
    return [numbers(part) for part in form] if isinstance(form, list) else form


@pytest.mark.parametrize("number", range(len(READ)))
def test_what_is_written_is_what_kafka_connect_read(number: int) -> None:
    """The recorded message; and with its own names it had the value itself, not only what stands for it."""
    schema, value, way = READ[number]
    example = EXAMPLES["read_there"][number]
    assert (example["names"], example["decimal.format"]) == way
    assert json_converter(*way).encode(value, schema).decode() == example["message"]
    if way[0] == "kafka":
        assert {key: example[key] for key in ("schema", "value")} == sorted_maps(had(schema, value, PACKAGE))


@pytest.mark.parametrize("number", range(len(READ)))
def test_what_went_through_kafka_connect_is_as_it_was(number: int) -> None:
    """Whichever names it has: what Kafka Connect does not know it keeps."""
    schema, value, way = READ[number]
    assert json_converter(*way).decode(EXAMPLES["read_there"][number]["written"].encode()) == (value, schema)


def test_numbers_that_json_lacks_are_read_where_kafka_connect_writes_them_as_text() -> None:
    messages = [WRITTEN[f"float64 {name} BASE64"]["written"].encode() for name in ("NaN", "Infinity", "-Infinity")]
    values, schema = json_converter("kafka", "BASE64").decode_many(messages)
    assert repr(list(values)) == repr([nan, inf, -inf])
    assert schema == Schema(Type.FLOAT64)


@pytest.mark.slow
@pytest.mark.kafka
def test_what_is_recorded_is_what_kafka_connect_does(kafka: Peer) -> None:
    assert {"origin": EXAMPLES["origin"], **recorded(kafka)} == EXAMPLES, f"write it anew: python -m {kafka_connect.__module__}"


@pytest.mark.slow
@pytest.mark.kafka
@given(case=typed(), way=st.sampled_from(WAYS))
def test_kafka_connect_has_whatever_is_written(reader: Reader, case: tuple[Schema, Any], way: tuple[str, str]) -> None:
    schema, value = case
    assume("" not in names_of(schema))  # Kafka Connect has no field without a name.
    assume("-0.0" not in repr(case))  # It reads numbers as decimals, and these have no negative zero.
    converter = json_converter(*way)
    answer = sorted_maps(reader.read(way[1], converter.encode(value, schema)))
    assert "error" not in answer
    assert converter.decode(answer["written"].encode()) == (value, schema)
    if way[0] == "kafka":
        assert {key: answer[key] for key in ("schema", "value")} == sorted_maps(had(schema, value, PACKAGE))


SEVEN = Schema(Type.INT64, default=7)
DEFAULTS: dict[str, tuple[Schema, Any]] = {
    "nullable": (replace(SEVEN, optional=True), 5),
    "required": (SEVEN, 5),
    "text": (replace(STRING, optional=True, default="none"), "x"),
    "decimal": (replace(decimal(2), optional=True, default=Decimal("1.50")), Decimal("2.00")),
    "date": (Schema(Type.DATE, optional=True, default=date(2024, 2, 29)), date(1970, 1, 1)),
    "without a default": (Schema(Type.INT64, optional=True), 5),
}
AROUND: dict[str, Callable[[Schema], Schema]] = {
    "alone": lambda leaf: leaf,
    "in a struct": lambda leaf: struct([("a", leaf)]),
    "in an array": lambda leaf: Schema(Type.ARRAY, items=leaf),
    "in a map": lambda leaf: Schema(Type.MAP, keys=STRING, items=leaf),
}


def held(schema: Schema, value: Any) -> Any:
    return {Type.STRUCT: {"a": value}, Type.MAP: {"a": value}, Type.ARRAY: [value]}.get(schema.type, value)


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize(("way", "replaces"), [("BASE64", "true"), ("NULLS", "false")])
def test_nulls_and_defaults_are_what_they_are_to_kafka_connect(
    reader: Reader, way: str, replaces: str, name: str, around: str
) -> None:
    """With replace.null.with.default and without it: what is null or missing here is so there, and back; or both refuse it."""
    ours = converter("json", {"names": "kafka", "replace.null.with.default": replaces}, is_key=False)
    leaf, other = DEFAULTS[name]
    schema = AROUND[around](leaf)
    whole = ours.encode(held(schema, other), schema)
    head, _, _ = whole.partition(b'"payload":')
    null = json.dumps(held(schema, None)).encode()
    for payload in (null, *([b"{}"] if schema.type is Type.STRUCT else [])):
        message = b'%b"payload":%b}' % (head, payload)
        answer = reader.read(way, message)
        if "error" in answer:
            with pytest.raises(RecordError):
                ours.decode(message)
            with pytest.raises(RecordError):
                ours.encode(held(schema, None), schema)
            continue
        value, its_schema = ours.decode(message)
        assert its_schema == schema
        # What it wrote again is what it had, whatever a struct of Kafka Connect shows for a null.
        assert ours.decode(answer["written"].encode()) == (value, schema)
        assert json.loads(ours.encode(value, schema)) == json.loads(answer["written"])
        assert json.loads(ours.encode(held(schema, None), schema)) == json.loads(answer["written"])


def names_of(schema: Schema) -> set[str]:
    parts = [field.schema for field in schema.fields] + [part for part in (schema.items, schema.keys) if part is not None]
    return {field.name for field in schema.fields}.union(*map(names_of, parts))


@pytest.mark.parametrize(
    ("java", "name"),
    [
        ("json.JsonConverter", "json"),
        ("storage.StringConverter", "string"),
        ("converters.ByteArrayConverter", "bytes"),
        ("converters.ShortConverter", "short"),
        ("converters.IntegerConverter", "integer"),
        ("converters.LongConverter", "long"),
        ("converters.FloatConverter", "float"),
        ("converters.DoubleConverter", "double"),
    ],
)
def test_the_class_names_of_kafka_connect_are_aliases(java: str, name: str) -> None:
    assert converter_class(f"org.apache.kafka.connect.{java}") is converter_class(name)
