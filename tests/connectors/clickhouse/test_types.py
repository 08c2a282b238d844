"""What rows are in the tables of an old and of a new server."""

from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.clickhouse.native import block, type_of
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.conformance.runs import QUEUE
from rocketconnect_sdk.errors import RecordRefused
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type, Unit, decimal, struct, timestamp
from tests.connectors.clickhouse.run import opened
from tests.servers.clickhouse import ClickHouse

_TEXT = Schema(Type.STRING)
_UUID = "01234567-89ab-cdef-0123-456789abcdef"
_MAP = Schema(Type.MAP, keys=_TEXT, items=Schema(Type.INT32))
EVERY: list[tuple[Schema, object, str, str]] = [
    (Schema(Type.BOOLEAN), True, "1", "true"),
    (Schema(Type.INT8), -128, "-128", "-128"),
    (Schema(Type.INT16), -32768, "-32768", "-32768"),
    (Schema(Type.INT32), -(2**31), "-2147483648", "-2147483648"),
    (Schema(Type.INT64), -(2**63), "-9223372036854775808", "-9223372036854775808"),
    (Schema(Type.UINT8), 255, "255", "255"),
    (Schema(Type.UINT16), 65535, "65535", "65535"),
    (Schema(Type.UINT32), 2**32 - 1, "4294967295", "4294967295"),
    (Schema(Type.UINT64), 2**64 - 1, "18446744073709551615", "18446744073709551615"),
    (Schema(Type.FLOAT32), 0.5, "0.5", "0.5"),
    (Schema(Type.FLOAT64), 0.1, "0.1", "0.1"),
    (decimal(2, precision=9), Decimal("-1234567.89"), "-1234567.89", "-1234567.89"),
    (decimal(2, precision=18), Decimal("0.07"), "0.07", "0.07"),
    (decimal(3, precision=38), Decimal("1234567890123456789.125"), "1234567890123456789.125", "1234567890123456789.125"),
    (decimal(1, precision=60), Decimal("1" * 59 + ".5"), "1" * 59 + ".5", "1" * 59 + ".5"),
    (_TEXT, "it's \\ ü\0\n" * 40, "it's \\ ü\0\n" * 40, "it's \\ ü\0\n" * 40),
    (Schema(Type.BYTES), b"\x01\x02", "\x01\x02", "\x01\x02"),
    (Schema(Type.DATE), date(2024, 2, 29), "2024-02-29", "2024-02-29"),
    (Schema(Type.TIME), time(23, 59, 59, 1), "23:59:59.000001", "23:59:59.000001"),
    (Schema(Type.TIME, unit=Unit.MILLISECONDS), time(1, 2, 3, 4000), "01:02:03.004", "01:02:03.004"),
    (Schema(Type.TIME, unit=Unit.NANOSECONDS), 1, "00:00:00.000000001", "00:00:00.000000001"),
    *((timestamp(unit, zone=zone), None, "", "") for unit in Unit for zone in (True, False)),
    (Schema(Type.UUID), UUID(_UUID), _UUID, _UUID),
    (Schema(Type.JSON), '{"a": [1]}', '{"a": [1]}', '{"a": [1]}'),
    (_MAP, {"a": 1}, '{"a":1}', '{"a":1}'),
    (struct([("x", Schema(Type.INT32)), ("y", _TEXT)]), {"x": 1, "y": "z"}, '{"x":1,"y":"z"}', '{"x":1,"y":"z"}'),
    (Schema(Type.ARRAY, items=Schema(Type.INT16)), [1, -2], "[1,-2]", "[1,-2]"),
    (Schema(Type.ARRAY, items=Schema(Type.STRING, optional=True)), ["a", None], "['a',NULL]", "['a',NULL]"),
    (Schema(Type.ARRAY, items=decimal(1, precision=5)), [Decimal("1.5")], "[1.5]", "[1.5]"),
    (Schema(Type.ARRAY, items=Schema(Type.UUID)), [UUID(_UUID)], f"['{_UUID}']", f"['{_UUID}']"),
    (Schema(Type.ARRAY, items=Schema(Type.ARRAY, items=Schema(Type.INT8))), [[1], []], "[[1],[]]", "[[1],[]]"),
]
_MOMENT = datetime(2024, 1, 2, 3, 4, 5, 678000, UTC)
_SHOWN = {Unit.MILLISECONDS: "678", Unit.MICROSECONDS: "678000", Unit.NANOSECONDS: "678000000"}


def _value(schema: Schema, value: object) -> object:
    if schema.type is not Type.TIMESTAMP:
        return value
    if schema.unit is Unit.NANOSECONDS:
        return int(_MOMENT.timestamp()) * 10**9 + 678_000_000
    return _MOMENT if schema.zone else _MOMENT.replace(tzinfo=None)


def test_every_type_has_its_column_and_every_value_its_form(clickhouse: ClickHouse) -> None:
    """The server's own zone is another one than UTC."""
    is_new = clickhouse.run("SELECT version()")[0][0] > "20"
    fields = [(f"c{number}", schema) for number, (schema, *_) in enumerate(EVERY)]
    told = {f"c{number}": _value(schema, value) for number, (schema, value, *_) in enumerate(EVERY)}
    run = opened(clickhouse.options() | {"table": "every", "table.create": "true", "table.order.by": "c3, c18"}).start()
    run.write_values([told, told], struct(fields))
    found = clickhouse.run(f"SELECT {', '.join(f'toString({name})' for name, _ in fields)} FROM every")
    wanted = [
        f"2024-01-02 03:04:05.{_SHOWN[schema.unit]}" if schema.type is Type.TIMESTAMP else (new if is_new else old)
        for schema, _, old, new in EVERY
    ]
    assert [dict(zip([name for name, _ in fields], row, strict=True)) for row in found] == [
        dict(zip([name for name, _ in fields], wanted, strict=True))
    ] * 2


def test_nulls_of_every_type_are_nulls_but_in_arrays_which_take_none(clickhouse: ClickHouse) -> None:
    nullable = [(f"c{number}", replace(schema, optional=True)) for number, (schema, *_) in enumerate(EVERY)]
    plain = [(name, schema) for name, schema in nullable if schema.type is not Type.ARRAY]
    whole = {f"c{number}": _value(schema, value) for number, (schema, value, *_) in enumerate(EVERY)}
    run = opened(clickhouse.options() | {"table": "nulls", "table.create": "true"}).start()
    run.write_values([{name: None for name, _ in plain}, {name: whole[name] for name, _ in plain}], struct(plain))
    counted = ", ".join(f"count({name})" for name, _ in plain)
    assert clickhouse.run(f"SELECT {counted} FROM nulls") == [[1] * len(plain)]
    arrays = opened(clickhouse.options() | {"table": "arrays", "table.create": "true"}, uid="other").start()
    lists = struct([("a", Schema(Type.ARRAY, optional=True, items=Schema(Type.INT8)))])
    batch = SinkBatch(QUEUE, "orders", [{"a": [1]}, {"a": None}, {"a": [2]}], range(3), schema=lists)
    with pytest.raises(RecordRefused, match="a is null, and the column takes no null") as refused:
        arrays.stage(batch)
    assert list(refused.value.refused) == [1]
    arrays.task.commit([refused.value.receipt], arrays.commit_of(3))
    assert sorted(clickhouse.run("SELECT a FROM arrays")) == [[[1]], [[2]]]


def test_columns_that_are_there_get_what_they_have_room_for(clickhouse: ClickHouse) -> None:
    """Wider numbers, moments of whole seconds, texts that the server reads; what has no room is refused alone."""
    clickhouse.run(
        "CREATE TABLE there (n Int16, d Decimal(9, 2), day Date, at DateTime, e Enum8('a' = 1, 'b' = 2), f FixedString(2), "
        "b UInt8, `from` String DEFAULT 'nowhere', twice Int32 MATERIALIZED n * 2, "
        "_rc_queue String, _rc_offset UInt64, _rc_row UInt32) ENGINE = MergeTree ORDER BY n"
    )
    schema = struct(
        [
            ("n", Schema(Type.INT64)),
            ("d", decimal(4, precision=20)),
            ("day", Schema(Type.DATE)),
            ("at", timestamp()),
            ("e", _TEXT),
            ("f", _TEXT),
            ("b", Schema(Type.BOOLEAN)),
        ]
    )
    good: dict[str, Any] = {
        "n": 7,
        "d": Decimal("1.2500"),
        "day": date(2024, 1, 1),
        "at": datetime(2024, 1, 1, tzinfo=UTC),
        "e": "b",
        "f": "xy",
        "b": True,
    }
    bad: dict[str, Any] = {
        "n": 1 << 20,
        "d": Decimal("1.0001"),
        "day": date(1960, 1, 1),
        "at": datetime(2024, 1, 1, microsecond=1, tzinfo=UTC),
    }
    late = ({"at": datetime(1960, 1, 1, tzinfo=UTC)}, {"e": "c"}, {"f": "xyz"}, {"f": "x"})
    values = [good, *({**good, name: value} for name, value in bad.items()), *({**good, **each} for each in late), good]
    run = opened(clickhouse.options() | {"table": "there", "schema.evolution": "ignore"}).start()
    with pytest.raises(RecordRefused) as refused:
        run.stage(SinkBatch(QUEUE, "orders", values, range(len(values)), schema=schema))
    said = [
        "n 1048576 has no place",
        "d 1.0001 has no place",
        "day 1960-01-01 is no Date",
        "has no place in a column of timestamp",
        "is out of the range of DateTime",
        "e c is none of the values of its Enum8",
        "f xyz has other than the 2 bytes of its column",
        "f x has other than the 2 bytes of its column",
    ]
    reasons = refused.value.refused
    assert sorted(reasons) == list(range(1, len(values) - 1))
    assert [part for part, (_, reason) in zip(said, sorted(reasons.items()), strict=True) if part not in reason] == []
    run.task.commit([refused.value.receipt], run.commit_of(len(values)))
    shown = "n, toString(d), toString(day), toString(at, 'UTC'), toString(e), f, b, `from`, twice"
    wanted = [7, "1.25", "2024-01-01", "2024-01-01 00:00:00", "b", "xy", 1, "nowhere", 14]
    assert clickhouse.run(f"SELECT {shown} FROM there") == [wanted] * 2


def test_columns_of_arrow_are_taken_as_they_are(clickhouse: ClickHouse) -> None:
    """No object is made of any row."""

    class Sealed(Column):
        def __iter__(self) -> Any:
            raise AssertionError

    rows = pa.StructArray.from_arrays([pa.array(range(1000), pa.int64()), pa.array([f"t{n}" for n in range(1000)])], ["n", "s"])
    schema = struct([("n", Schema(Type.INT64, optional=True)), ("s", Schema(Type.STRING, optional=True))])
    run = opened(clickhouse.options() | {"table": "columns", "table.create": "true"}).start()
    run.write(900, batch=SinkBatch(QUEUE, "orders", Sealed(rows.slice(100)), range(900), schema=schema))
    assert clickhouse.run("SELECT count(), sum(n), min(s) FROM columns") == [[900, sum(range(100, 1000)), "t100"]]


@given(st.lists(st.one_of(st.none(), st.binary(max_size=300))), st.integers(0, 3))
def test_texts_have_their_lengths_before_them(texts: list[bytes | None], start: int) -> None:
    array = pa.array(texts, pa.binary())[start:]
    made = block([("c", type_of(array.type), array)])
    count, rest = _read_number(made[1:])
    assert count == len(array)
    head = b"\x01c\x10Nullable(String)"
    assert rest.startswith(head)
    rest = rest[len(head) :]
    nulls, rest = rest[:count], rest[count:]
    assert list(nulls) == [text is None for text in texts[start:]]
    for text in texts[start:]:
        length, rest = _read_number(rest)
        assert rest[:length] == (text or b"")
        rest = rest[length:]
    assert rest == b""


def _read_number(data: bytes) -> tuple[int, bytes]:
    number = shift = 0
    for index, byte in enumerate(data):
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, data[index + 1 :]
    raise AssertionError
