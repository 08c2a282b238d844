"""What types without a word of their own look like in JSON schemas, so that others read them, too."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.converters.json.schema import from_json, to_json
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type, Unit, decimal, timestamp
from tests.rocketconnect_sdk.typed_values import LEAVES

MS, US, NS = Unit.MILLISECONDS, Unit.MICROSECONDS, Unit.NANOSECONDS
ID = UUID("12345678-1234-5678-1234-567812345678")
NAMED: list[tuple[Schema, object, str, str, str]] = [
    (Schema(Type.TIME, unit=US), time(0, 0, 1, 7), "int64", "io.debezium.time.MicroTime", "1000007"),
    (Schema(Type.TIME, unit=NS), 5, "int64", "io.debezium.time.NanoTime", "5"),
    (timestamp(MS, zone=False), datetime(1970, 1, 1, 0, 0, 1), "int64", "io.debezium.time.Timestamp", "1000"),  # noqa: DTZ001
    (timestamp(US, zone=False), datetime(1969, 12, 31, 23, 59, 59), "int64", "io.debezium.time.MicroTimestamp", "-1000000"),  # noqa: DTZ001
    (timestamp(NS, zone=False), -7, "int64", "io.debezium.time.NanoTimestamp", "-7"),
    (
        timestamp(US),
        datetime(2024, 2, 29, 1, 2, 3, 45, UTC),
        "string",
        "io.debezium.time.ZonedTimestamp",
        '"2024-02-29T01:02:03.000045Z"',
    ),
    (timestamp(NS), -1, "string", "io.debezium.time.ZonedTimestamp", '"1969-12-31T23:59:59.999999999Z"'),
    (Schema(Type.UUID), ID, "string", "io.debezium.data.Uuid", f'"{ID}"'),
    (Schema(Type.JSON), '{"a":1}', "string", "io.debezium.data.Json", '"{\\"a\\":1}"'),
]


def json(**options: str) -> Any:
    return converter("json", {key.replace("_", "."): value for key, value in options.items()}, is_key=False)


@pytest.mark.parametrize(("schema", "value", "word", "name", "payload"), NAMED)
def test_types_that_rocketmq_connect_lacks_have_debeziums_names(
    schema: Schema, value: object, word: str, name: str, payload: str
) -> None:
    form = to_json(schema)
    assert (form["type"], form["name"], form["version"]) == (word, name, 1)
    message = json().encode(value, schema)
    assert message.endswith(f'"payload":{payload}}}'.encode())
    assert json().decode(message) == (value, schema)


def test_whole_numbers_without_a_sign_are_larger_ones_with_one_to_whoever_does_not_know_them() -> None:
    assert [to_json(Schema(Type(f"uint{bits}")))["type"] for bits in (8, 16, 32, 64)] == ["int16", "int32", "int64", "bytes"]
    largest = (1 << 64) - 1
    message = json().encode(largest, Schema(Type.UINT64))
    assert b'"name":"io.openmessaging.connector.api.data.logical.Decimal"' in message
    assert json().decode(message) == (largest, Schema(Type.UINT64))
    assert json(schemas_enable="false").encode(largest, Schema(Type.UINT64)) == str(largest).encode()
    assert json(decimal_format="NUMERIC").encode(largest, Schema(Type.UINT64)).endswith(f'"payload":{largest}}}'.encode())
    # Somebody has cast it and kept the parameters: the word is believed.
    assert from_json({"type": "string", "parameters": {"rocketconnect.type": "uint8"}}).type is Type.STRING


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (Schema(Type.UINT8), 256),
        (Schema(Type.UINT32), -1),
        (Schema(Type.UINT64), 1 << 64),
        (Schema(Type.UINT64), -1),
        (Schema(Type.UINT64), True),
        (Schema(Type.UINT64), "5"),
        (Schema(Type.TIME), 5),
        (timestamp(), 5),
        (timestamp(NS), "x"),
        (timestamp(zone=False), datetime(2024, 1, 1, tzinfo=UTC)),
        (Schema(Type.UUID), 5),
        (Schema(Type.DATE), datetime(2024, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_value_of_another_type_is_refused(schema: Schema, value: object) -> None:
    for options in ({}, {"schemas_enable": "false"}, {"decimal_format": "NUMERIC"}):
        with pytest.raises(RecordError):
            json(**options).encode(value, schema)


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        (timestamp(), b'"2024-02-30T00:00:00Z"'),
        (timestamp(), b'"2024-02-29T00:00:00.0000001Z"'),
        (timestamp(), b'"yesterday"'),
        (Schema(Type.UUID), b'"12345678"'),
        (Schema(Type.UINT64), b"18446744073709551616"),
        (Schema(Type.UINT64), b"1.5"),
        (Schema(Type.TIME, unit=NS), b"86400000000000"),
    ],
)
def test_a_text_that_stands_for_no_value_is_a_bad_record(schema: Schema, payload: bytes) -> None:
    message = b'{"schema":%b,"payload":%b}' % (msgspec.json.encode(to_json(schema)), payload)
    with pytest.raises(RecordError):
        json().decode(message)


def test_the_names_of_kafka_connect_are_read() -> None:
    def read(word: str, name: str, payload: str, parameters: str = "{}") -> object:
        schema = f'{{"type":"{word}","name":"org.apache.kafka.connect.data.{name}","version":1,"parameters":{parameters}}}'
        return json().decode(f'{{"schema":{schema},"payload":{payload}}}'.encode())

    assert read("int32", "Date", "1") == (date(1970, 1, 2), Schema(Type.DATE))
    assert read("int32", "Time", "1000") == (time(0, 0, 1), Schema(Type.TIME, unit=MS))
    assert read("int64", "Timestamp", "1") == (datetime(1970, 1, 1, 0, 0, 0, 1000, UTC), timestamp(MS))
    precisely = '{"scale":"2","connect.decimal.precision":"9","more":"x"}'
    schema = Schema(Type.DECIMAL, precision=9, scale=2, parameters=(("more", "x"),))
    assert read("bytes", "Decimal", '"MDk="', precisely) == (Decimal("123.45"), schema)


def test_a_decimal_that_is_a_number_has_the_digits_behind_its_point_that_the_schema_says() -> None:
    """So that those who look at the digits of the number, as Kafka Connect does, find the scale there."""
    numeric = json(decimal_format="NUMERIC", schemas_enable="false")
    assert [numeric.encode(value, decimal(2)) for value in (Decimal(5), Decimal("-1.5"), 7)] == [b"5.00", b"-1.50", b"7.00"]
    for refused in (Decimal("1.005"), Decimal("NaN")):
        with pytest.raises(RecordError):
            numeric.encode(refused, decimal(2))


def test_a_float32_is_one_however_many_digits_it_is_written_with() -> None:
    message = b'{"schema":{"type":"float"},"payload":0.1}'
    assert json().decode(message) == (0.10000000149011612, Schema(Type.FLOAT32))
    assert json().decode_many([message])[0] == [0.10000000149011612]
    for payload in (b"3.4028236e38", b"-1e39"):
        with pytest.raises(RecordError):
            json().decode(message.replace(b"0.1", payload))
    with pytest.raises(RecordError):
        json().encode(1e39, Schema(Type.FLOAT32))


def test_keys_that_are_text_in_json_make_an_object_of_a_map() -> None:
    """As Kafka Connect and RocketMQ Connect want it of all that is a string to them."""
    plain = json(schemas_enable="false")
    assert (
        plain.encode({ID: 1}, Schema(Type.MAP, keys=Schema(Type.UUID), items=Schema(Type.INT8))) == b'{"%b":1}' % str(ID).encode()
    )
    assert plain.encode({"[]": 1}, Schema(Type.MAP, keys=Schema(Type.JSON), items=Schema(Type.INT8))) == b'{"[]":1}'
    assert plain.encode({1: 1}, Schema(Type.MAP, keys=Schema(Type.INT8), items=Schema(Type.INT8))) == b"[[1,1]]"


def test_a_default_of_a_decimal_is_read_to_its_last_digit_and_stands_for_null() -> None:
    parameters = '"parameters":{"scale":"20"},"default":0.12345678901234567890'
    form = f'{{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal",{parameters}}}'
    value, schema = json().decode(f'{{"schema":{form},"payload":null}}'.encode())
    assert value == schema.default == Decimal("0.12345678901234567890")


@pytest.mark.parametrize(
    "parameters",
    [{"scale": "x"}, {"scale": "99999"}, {"scale": "2", "connect.decimal.precision": "0"}, {"connect.decimal.precision": "1e9"}],
)
def test_a_decimal_of_no_possible_size_is_a_bad_record(parameters: dict[str, str]) -> None:
    with pytest.raises(RecordError, match="a decimal has the"):
        from_json({"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": parameters})


@given(st.sampled_from(list(LEAVES)).flatmap(lambda schema: st.tuples(st.just(schema), LEAVES[schema])))
def test_a_default_of_every_type_comes_along_with_its_schema(case: tuple[Schema, Any]) -> None:
    schema, value = case
    with_default = Schema(
        schema.type, precision=schema.precision, scale=schema.scale, unit=schema.unit, zone=schema.zone, doc="d", default=value
    )
    form = msgspec.json.decode(msgspec.json.encode(to_json(with_default)))
    assert from_json(form) == with_default


def test_a_default_that_does_not_fit_is_a_bad_record() -> None:
    for form in (
        {"type": "int32", "default": "x"},
        {"type": "int32", "default": True},
        {"type": "array", "items": {"type": "int8"}, "default": []},
    ):
        with pytest.raises(RecordError, match="default"):
            from_json(form)
