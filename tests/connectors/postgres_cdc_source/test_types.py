"""A value is the same in the snapshot and in the log, for every type; what has no counterpart is never null in silence."""

from collections.abc import Iterator
from typing import Any

import pytest

from connectors.postgres_cdc_source.logical.wire.values import Beyond
from connectors.postgres_cdc_source.rows.log_columns import LogColumns
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.converters.json.converter import JsonConverter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import parse
from tests.connectors.postgres_cdc_source.capturing import Shop, capturing, is_streaming

VALUES: dict[str, list[str]] = {
    "boolean": ["true", "false"],
    "smallint": ["-32768", "32767", "0"],
    "integer": ["-2147483648", "2147483647"],
    "bigint": ["-9223372036854775808", "9223372036854775807"],
    "oid": ["0", "4294967295"],
    "real": ["1.5", "-0", "3.4028235e38", "1e-45", "0.1"],
    "double precision": ["0.1", "-0", "1.7976931348623157e308", "5e-324"],
    "numeric(12, 3)": ["0.001", "-999999999.999", "7"],
    "numeric(60, 20)": ["0.00000000000000000001", "1234567890123456789012345678901234567890.5"],
    "numeric": ["1.10", "1e100", "-0.0"],
    "money": ["1234.56", "-0.05", "92233720368547758.07"],
    "text": ["", "a", "é\"',\n\r\\\t", "\\N", "  x  ", "NULL"],
    "varchar(9)": ["", "ab"],
    "char(4)": ["a", "abcd"],
    "name": ["n"],
    "bytea": ["", "\\x00ff", "\\x5c"],
    "date": ["0001-01-01", "9999-12-31", "1970-01-01"],
    "time": ["00:00:00", "23:59:59.999999"],
    "timetz": ["23:59:59.999999+05:30"],
    "timestamp": ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1969-12-31 23:59:59.5"],
    "timestamptz": ["0001-01-02 00:00:00+00", "2024-02-29 12:00:00.000001+03", "1969-12-31 23:59:59.5+00"],
    "interval": ["1 year 2 days 03:04:05.000006", "-1 month", "0"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffff00"],
    "json": ['{"a": [1, null]}', "null", '"x"'],
    "jsonb": ['{"b": 1, "a": 2}', "null"],
    "inet": ["10.0.0.1", "::1/64"],
    "cidr": ["10.0.0.0/8"],
    "macaddr": ["08:00:2b:01:02:03"],
    "bit(3)": ["101"],
    "varbit": ["1", ""],
    "xml": ["<a>1</a>"],
    "point": ["(1,2)"],
    "int4range": ["[1,5)", "empty"],
    "tsvector": ["'a':1 'b':2"],
    "integer[]": ["{}", "{1,NULL,3}"],
    "text[]": ['{a,"b,c",NULL,"NULL",""}'],
    "timestamptz[]": ['{"2024-01-01 00:00:00+00"}'],
}


def test_values_are_the_same_where_many_rows_of_the_log_are_read_at_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def row(*_: Any) -> None:
        pytest.fail("a row is read by itself")

    monkeypatch.setattr(LogColumns, "row", row)
    names = {f"c{number}": kind for number, kind in enumerate(VALUES)}
    declared = ", ".join(f"{name} {kind}" for name, kind in names.items())
    shop.run(f"CREATE TABLE {shop.name}.t (id int PRIMARY KEY, {declared})")
    insert = f"INSERT INTO {shop.name}.t VALUES (%s, {', '.join(f'%s::text::{kind}' for kind in VALUES)})"
    longest = max(map(len, VALUES.values()))
    for number in range(longest + 1):
        given = [texts[number] if number < len(texts) else None for texts in VALUES.values()]
        shop.connection.execute(insert.encode(), [number, *given])
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        count, times = len(captured.records), 100
        again = f"SELECT id + 100 * n, {', '.join(names)} FROM {shop.name}.t, generate_series(1, {times}) n ORDER BY 1"
        shop.run(f"INSERT INTO {shop.name}.t {again}")
        captured.until(lambda so_far: len(so_far.records) == count * (times + 1))
    events = captured.values()
    for number, event in enumerate(events[count:]):
        for name in names:
            assert repr(event["after"][name]) == repr(events[number % count]["after"][name]), (name, VALUES[names[name]])


@pytest.mark.parametrize("columns", [True, False])
def test_a_value_is_the_same_in_the_snapshot_and_in_the_log(shop: Shop, columns: bool) -> None:
    names = {f"c{number}": kind for number, kind in enumerate(VALUES)}
    declared = ", ".join(f"{name} {kind}" for name, kind in names.items())
    shop.run(f"CREATE TABLE {shop.name}.t (id int PRIMARY KEY, {declared})")
    longest = max(map(len, VALUES.values()))
    insert = f"INSERT INTO {shop.name}.t VALUES (%s, {', '.join(f'%s::text::{kind}' for kind in VALUES)})"
    for row in range(longest + 1):
        given = [texts[row] if row < len(texts) else None for texts in VALUES.values()]
        shop.connection.execute(insert.encode(), [row, *given])
    with capturing(shop.config(), columns=columns) as captured:
        captured.until(is_streaming)
        count = len(captured.records)
        assert count == longest + 1
        others = ", ".join(names)
        shop.run(f"INSERT INTO {shop.name}.t SELECT id + 100, {others} FROM {shop.name}.t ORDER BY id")
        captured.until(lambda so_far: len(so_far.records) == 2 * count)
    read, logged = captured.values()[:count], captured.values()[count:]
    for one, other in zip(read, logged, strict=True):
        for name, kind in names.items():
            assert one["after"][name] == other["after"][name], (kind, one["after"][name])
            # Zeros have signs, decimals have digits; UTC has several names.
            assert str(one["after"][name]) == str(other["after"][name]) or "timestamptz" in kind, kind
    assert all(value is None for name, value in read[-1]["after"].items() if name != "id")
    assert [value is None for value in read[0]["after"].values()] == [False] * (1 + len(VALUES))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("date", "infinity"),
        ("date", "0044-03-15 BC"),
        ("timestamp", "10000-01-01"),
        ("timestamptz", "-infinity"),
        ("time", "24:00:00"),
        ("numeric(8, 2)", "NaN"),
    ],
)
def test_a_value_without_a_counterpart_is_a_bad_record_and_costs_no_other(shop: Shop, kind: str, text: str) -> None:
    shop.run(f"CREATE TABLE {shop.name}.t (id int PRIMARY KEY, value {kind})")
    for number, value in enumerate((None, text, None)):
        shop.connection.execute(f"INSERT INTO {shop.name}.t VALUES (%s, %s)".encode(), [number, value])
    json = JsonConverter(parse(JsonConverter.options, {}), is_key=False)

    def check(batch: Any) -> Iterator[int]:
        for value in batch.values:
            number, held = value["after"]["id"], value["after"]["value"]
            if number % 10 == 1:
                assert not isinstance(batch.values, Column)
                assert isinstance(held, Beyond) or str(held) == "NaN"
                with pytest.raises(RecordError):
                    json.encode(value, batch.schema)
            else:
                assert json.encode(value, batch.schema)
            yield number

    with capturing(shop.config()) as captured:
        batches: list[Any] = []
        poll = captured.task.poll

        def remembered() -> Any:
            batch = poll()
            if batch is not None and len(batch):
                batches.append(batch)
            return batch

        captured.task.poll = remembered  # type: ignore[method-assign]
        captured.until(is_streaming)
        shop.run(f"INSERT INTO {shop.name}.t SELECT id + 10, value FROM {shop.name}.t ORDER BY id")
        captured.until(lambda so_far: len(so_far.records) == 6)
    assert [number for batch in batches for number in check(batch)] == [0, 1, 2, 10, 11, 12]
