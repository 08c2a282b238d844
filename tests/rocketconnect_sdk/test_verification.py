"""Keys of rows that are compared: their order is that of their values, and JSON has a form for each."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pytest

from connectors.jdbc.reading.sqlite import SqliteReading
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.schema import Schema, Type, Unit
from rocketconnect_sdk.verification import is_comparable, key_of, keys_of, shown_key

DECIMAL = Schema(Type.DECIMAL, precision=20, scale=4)
VALUES = {
    DECIMAL: [Decimal("-10.5000"), Decimal("-9.0000"), Decimal("0.0000"), Decimal("9.5000"), Decimal("10.0001")],
    Schema(Type.DATE): [date(99, 1, 1), date(2024, 2, 29), date(9999, 12, 31)],
    Schema(Type.TIMESTAMP): [datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(2024, 2, 29), datetime(2024, 2, 29, 0, 0, 0, 1)],  # noqa: DTZ001
    Schema(Type.BYTES): [b"", b"\x00", b"\x00\xff", b"a", b"\xff"],
}


@pytest.mark.parametrize("schema", VALUES, ids=lambda schema: schema.type.value)
def test_keys_have_the_order_of_their_values_and_come_through_json(schema: Schema) -> None:
    kind = {Type.DECIMAL: pa.decimal128(20, 4), Type.TIMESTAMP: pa.timestamp("us")}.get(schema.type)
    rows = pa.StructArray.from_arrays([pa.array(VALUES[schema], kind)], ["k"])
    keys = keys_of(rows, ["k"])
    assert keys == sorted(set(keys))
    assert [key_of(json.loads(json.dumps(shown_key(key))), [schema]) for key in keys] == keys
    assert is_comparable(schema)


def test_points_in_time_are_in_utc_and_of_equal_decimals_keys_are_equal() -> None:
    moment = datetime(2024, 2, 29, 12, tzinfo=timezone(timedelta(hours=2)))
    rows = pa.StructArray.from_arrays([pa.array([moment], pa.timestamp("us", "UTC"))], ["k"])
    assert keys_of(rows, ["k"]) == [(moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds"),)]
    one, other = (pa.array([Decimal("1.5")], pa.decimal128(20, scale)) for scale in (1, 4))
    assert [shown_key(key) for each in (one, other) for key in keys_of(pa.StructArray.from_arrays([each], ["k"]), ["k"])] == [
        ["1.5"],
        ["1.5"],
    ]


def test_a_value_that_is_none_of_its_column_has_no_place_in_the_order() -> None:
    with pytest.raises(PermanentError, match="a value of k"):
        keys_of(pa.StructArray.from_arrays([pa.array([None], pa.date32())], ["k"]), ["k"])


@pytest.mark.parametrize("value", ["NaN", "1e5", "", "Infinity", " 1", 1.5, None, True])
def test_what_is_no_number_is_no_key_of_numbers(value: object) -> None:
    with pytest.raises(ValueError, match="is no value of the type decimal"):
        key_of([value], [DECIMAL])


def test_sqlite_orders_no_decimals_and_times() -> None:
    orders = SqliteReading().orders
    assert [orders(schema) for schema in VALUES] == [False, False, False, True]
    assert orders(Schema(Type.STRING))
    assert not is_comparable(Schema(Type.TIMESTAMP, unit=Unit.NANOSECONDS))
