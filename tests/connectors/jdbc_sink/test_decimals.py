"""Decimals of any digits: numeric without a precision in PostgreSQL."""

from decimal import Decimal
from typing import Any

import pytest

from connectors.jdbc import parse_url
from connectors.jdbc.session import Session
from connectors.jdbc_sink.verification import JdbcTables
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type, decimal, struct
from tests.connectors.jdbc_sink.conftest import Target
from tests.connectors.jdbc_sink.test_there import of_rows

INT32 = Schema(Type.INT32)
LONG = "123456789012345678901234567890123456789012345678901234567890.123456789012345678901234567890"
CASES: list[tuple[Schema, list[Any]]] = [
    (Schema(Type.STRING), [LONG, f"-{LONG}", "1e-50", "NaN", "1.50"]),
    (decimal(30, precision=76), [Decimal("1234567890123456789012345678901234567890123456.5"), Decimal("1E-30"), Decimal(100)]),
    (decimal(2, precision=38), [Decimal("123456789012345678901234567890123456.78")]),
    (decimal(0, precision=50), [Decimal(10**49)]),
    (Schema(Type.FLOAT64), [0.1, 1e300, -2.5e-300]),
    (Schema(Type.INT64), [-(1 << 63)]),
    (Schema(Type.UINT64), [(1 << 64) - 1]),
]

pytestmark = pytest.mark.parametrize("target", ["postgres"], indirect=True)


@pytest.mark.parametrize("mode", ["upsert", pytest.param("insert", marks=pytest.mark.slow)])
def test_every_number_has_a_place_in_a_column_without_a_precision(target: Target, mode: str) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER PRIMARY KEY, n NUMERIC)')
    task = target.start(insert_mode=mode)
    wanted: list[Any] = []
    for schema, values in CASES:
        columns = struct([("id", INT32), ("n", schema)])
        assert of_rows(target, {"rows": columns}, insert_mode=mode) == []
        target.write(task, [{"id": len(wanted) + place, "n": value} for place, value in enumerate(values)], columns)
        wanted += values
    found = [number for (number,) in target.run('SELECT n FROM "rows" ORDER BY id')]
    assert [str(number) for number in found[3:5]] == ["NaN", "1.50"]
    assert [number for number in found if number.is_finite()] == [Decimal(str(value)) for value in wanted if value != "NaN"]


def test_json_without_a_schema_has_numbers_and_texts_for_it_also_in_the_key(target: Target) -> None:
    target.run('CREATE TABLE "rows" (id NUMERIC PRIMARY KEY, n NUMERIC)')
    task = target.start(insert_mode="upsert", pk_mode="record_key", delete_enabled="true")
    rows = [{"n": 12.50}, {"n": "12345678901234567890123456789012345678.5"}, {"n": 100}]
    target.write(task, rows, None, keys=[{"id": 1}, {"id": "20"}, {"id": 3.5}])
    shown = 'SELECT id::text, n::text FROM "rows" ORDER BY "rows".id'
    assert target.run(shown) == [("1", "12.5"), ("3.5", "100"), ("20", "12345678901234567890123456789012345678.5")]
    target.write(task, [None], None, keys=[{"id": 20}])
    with pytest.raises(RecordError):
        target.write(task, [{"n": "much"}], None, keys=[{"id": 4}])
    assert target.run('SELECT count(*) FROM "rows"') == [(2,)]


def test_a_scale_below_zero_keeps_its_multiples_alone(target: Target) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER PRIMARY KEY, n NUMERIC(5,-2), w NUMERIC(90,2))')
    task = target.start(insert_mode="upsert")
    for schema, good, bad in [(Schema(Type.STRING), "1200", "1234"), (INT32, 1200, 1234), (Schema(Type.FLOAT64), 1200.0, 1200.5)]:
        columns = struct([("id", INT32), ("n", schema)])
        with pytest.raises(RecordError, match=r"n .*1234|n 1200\.5"):
            target.write(task, [{"id": 1, "n": good}, {"id": 2, "n": bad}], columns)
        target.write(task, [{"id": 1, "n": good}], columns)
    with pytest.raises(RecordError, match=r"w '1\.005' has more digits behind the point than the 2"):
        target.write(task, [{"id": 3, "w": "1.005"}], parse_columns("id:int32,w"))
    assert target.run('SELECT n FROM "rows"') == [(1200,)]


def test_a_comparison_takes_a_number_for_itself_however_it_is_written_and_a_text_without_what_fills_it_up(target: Target) -> None:
    target.run(
        'CREATE TABLE "rows" (id INTEGER PRIMARY KEY, n NUMERIC, code CHAR(5))',
        "INSERT INTO \"rows\" VALUES (1, 1.50, 'ab'), (2, 1e20, 'ab'), (3, 0.0, 'ab')",
    )
    session = Session(parse_url(target.options["connection.url"], writes=True), "postgres", "")
    with JdbcTables(session, "rows").open("rows") as there:
        (read,) = list(there.behind(None, ["id"]))
        mine, _ = there.kept(read.values, there.columns)
        for schema, values in [(decimal(3, precision=30), ["1.5", "1e20", "0"]), (Schema(Type.STRING), ["1.500", "1E+20", "-0"])]:
            plain = [Decimal(each) for each in values] if schema.type is Type.DECIMAL else values
            columns = struct([("id", INT32), ("n", schema), ("code", Schema(Type.STRING))])
            rows = [{"id": n, "n": each, "code": "ab"} for n, each in enumerate(plain, 1)]
            theirs, reasons = there.kept(to_array(rows, columns), columns)
            assert not reasons
            assert theirs["code"].to_pylist() == mine["code"].to_pylist()
            assert theirs["n"].to_pylist() == mine["n"].to_pylist() == ["1.5", "100000000000000000000", "0"]
