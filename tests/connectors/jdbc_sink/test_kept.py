"""A value that a column would change without an error is a bad record, with the column, its type and the value."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from connectors.jdbc.kept import mysql, postgres
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type, decimal, struct, timestamp
from tests.connectors.jdbc_sink.conftest import EACH, OCEANBASE, Target
from tests.connectors.jdbc_sink.test_preflight import look

INT32, TEXT, BYTES, DOUBLE = (Schema(kind) for kind in (Type.INT32, Type.STRING, Type.BYTES, Type.FLOAT64))
CLOCK, MOMENT, TIME, JSON = timestamp(zone=False), timestamp(), Schema(Type.TIME), Schema(Type.JSON)
LATE = datetime(2024, 12, 31, 23, 59, 59, 700_000)  # noqa: DTZ001  # without a zone
WHOLE = LATE.replace(microsecond=0)
ARRAY = '{"%s"}'

Case = tuple[Schema, list[Any], list[Any]]
"""The type of the records, values that are kept, and values that would be changed."""
POSTGRES: Mapping[str, Case] = {
    "timestamp(0)": (CLOCK, [WHOLE], [LATE]),
    "timestamp(3)": (CLOCK, [LATE], [LATE.replace(microsecond=700_001)]),
    "timestamptz(0)": (MOMENT, [WHOLE.replace(tzinfo=UTC)], [LATE.replace(tzinfo=UTC)]),
    "time(0)": (TIME, [time(23, 59, 59)], [time(23, 59, 59, 700_000)]),
    "timetz(1)": (TEXT, ["23:59:59.7+00", "23:59:59.70+01"], ["23:59:59.75+00"]),
    "interval(1)": (TEXT, ["1.5 seconds", "1 day"], ["1.55 seconds"]),
    "interval day": (TEXT, ["1 day"], ["1 day 3 hours", "P1DT3H", "1 03:00:00"]),
    "interval day to second(0)": (TEXT, ["1 day 03:04:05", "2 days"], ["1 mon", "03:04:05.5"]),
    "char(5)": (TEXT, ["ab", "ab   ", "abcde"], ["ab ", "abcde  "]),
    "varchar(3)": (TEXT, ["ab ", "abc"], ["abc  "]),
    "money": (TEXT, ["1.25", "$1,234.50"], ["1.005"]),
    "name": (TEXT, ["ü" * 31], ["ü" * 32]),
    '"char"': (TEXT, ["x"], ["xy", "ü"]),
    "jsonb": (
        JSON,
        ['{"a": 1.10, "b": {"a": 2}}', "12345678901234567890.5"],
        ['{"a": 1, "a": 2}', '[{"b": {"c": 1, "c": 1}}]'],
    ),
    "numeric(5,2)": (decimal(5, precision=10), [Decimal("1.5")], [Decimal("1.005")]),
    "numeric(5,2)[]": (TEXT, ["{1.50,NULL}"], ["{1.005}", "{1e-3}"]),
    "timestamp(0)[]": (TEXT, [ARRAY % WHOLE], [ARRAY % LATE]),
    "varchar(3)[]": (TEXT, ["{abc}"], ["{abc }", '{"abc  "}']),
    "real": (DOUBLE, [0.5], [0.1, 16777217.0]),
    "bit(3)": (TEXT, ["101"], ["10", "1011"]),
}
MARIADB: Mapping[str, Case] = {
    "DATETIME": (CLOCK, [WHOLE], [LATE]),
    "DATETIME(3)": (MOMENT, [LATE.replace(tzinfo=UTC)], [LATE.replace(microsecond=700_001, tzinfo=UTC)]),
    "TIMESTAMP NULL": (MOMENT, [WHOLE.replace(tzinfo=UTC)], [LATE.replace(tzinfo=UTC)]),
    "TIME": (TIME, [time(23, 59, 59)], [time(23, 59, 59, 700_000)]),
    "CHAR(5)": (TEXT, ["ab", "abcde"], ["ab ", "ab   ", "abcde  "]),
    "VARCHAR(3)": (TEXT, ["ab ", "abc"], ["abc  "]),
    "TINYTEXT": (TEXT, ["a" * 250 + " "], ["a" * 254 + "  ", "ü" * 200]),
    "VARCHAR(9) CHARACTER SET latin1": (TEXT, ["ü"], ["ł"]),
    "VARCHAR(9) CHARACTER SET utf8mb3": (TEXT, ["ł"], ["\U0001f600"]),
    r"ENUM('a','it''s','x,y','b\\c')": (TEXT, ["a", "it's", "x,y", "b\\c"], ["A", "a ", "1", ""]),
    "SET('a','b')": (TEXT, ["a,b", "b", ""], ["b,a", "A", "3", "a,a", "a "]),
    "BINARY(4)": (BYTES, [b"abcd", b"ab\0\0"], [b"ab", b"abcde", b""]),
    "VARBINARY(4)": (BYTES, [b"ab\0"], [b"abcde"]),
    "FLOAT(7,4)": (DOUBLE, [1.125], [1.03125]),
    "DOUBLE(7,2)": (DOUBLE, [1.55], [1.555]),
    "DOUBLE UNSIGNED": (DOUBLE, [1.55], [-1.0]),
    "FLOAT": (DOUBLE, [0.5], [0.1, 16777217.0]),
    "YEAR": (Schema(Type.INT16), [0, 1901, 2155], [5, 70, 99, 1900]),
    "BIT(3)": (Schema(Type.UINT64), [7], [8]),
    "DECIMAL(5,2)": (decimal(5, precision=10), [Decimal("1.5")], [Decimal("1.005")]),
    "DATE": (Schema(Type.DATE), [date(1, 1, 1), date(9999, 12, 31)], []),
    "TIMESTAMP(6) NULL": (MOMENT, [datetime(2038, 1, 19, tzinfo=UTC)], [datetime(1970, 1, 1, tzinfo=UTC)]),
    "MEDIUMINT": (INT32, [-(1 << 23)], [1 << 23]),
}
SEEKDB: Mapping[str, Case] = {
    # seekdb has one character set.
    **{kind: case for kind, case in MARIADB.items() if "CHARACTER SET" not in kind},
    "TIMESTAMP(6) NULL": (MOMENT, [datetime(1970, 1, 1, tzinfo=UTC), datetime(2038, 1, 19, tzinfo=UTC)], []),
    "json": (JSON, ['{"a": 1.10}', "12345678901234567890"], ["0.12345678901234567890", '{"a": 1, "a": 1}']),
}
SQLITE: Mapping[str, Case] = {
    "numeric(9,2)": (TEXT, ["7", "a", "1.50"], ["0.12345678901234567890", "12345678901234567890.12", "9223372036854775809"]),
    "string": (TEXT, ["-7", "Infinity and more"], ["+7", " 7", "99999999999999999999"]),
    "varchar(9)": (TEXT, ["007"], []),
    "json": (TEXT, ['{"a": 1.10}'], ["1.10"]),
}
KINDS = {"postgres": POSTGRES, "mariadb": MARIADB, "oceanbase": SEEKDB, "sqlite": SQLITE}


def check(target: Target, mode: str, *, bulk: bool) -> None:
    cases = KINDS[target.kind]
    target.run(f'CREATE TABLE "rows" (id INTEGER PRIMARY KEY, {", ".join(f"c{n} {kind}" for n, kind in enumerate(cases))})')
    task = target.start(insert_mode=mode, schema_evolution="ignore")
    number = 0
    for place, (kind, (schema, kept, changed)) in enumerate(cases.items()):
        columns = struct([("id", INT32), (f"c{place}", schema)])
        rows = [{"id": number + index, f"c{place}": value} for index, value in enumerate([*kept, *changed])]
        number += len(rows)
        good, bad = rows[: len(kept)], rows[len(kept) :]
        if bad:
            with pytest.raises(RecordError):
                target.write(task, rows, columns)
            reasons = task.unwritable(None)
            assert sorted(reasons) == list(range(len(good), len(rows))), (kind, reasons)
            assert all(f"c{place}" in reason for reason in reasons.values())
        target.write(task, good * (100 if bulk and mode == "upsert" else 1), columns)
        shown = target.run(f'SELECT c{place} FROM "rows" WHERE c{place} IS NOT NULL ORDER BY id')
        assert len(shown) == len(good), kind
        for (found,), row in zip(shown, good, strict=True):
            compare(kind, found, row[f"c{place}"])


def compare(kind: str, found: Any, value: Any) -> None:
    """What the database shows, beside what was written."""
    if isinstance(value, str) and not isinstance(found, str):
        return
    match found:
        case datetime():
            assert found.replace(tzinfo=None) == value.replace(tzinfo=None), kind
        case bytes() if isinstance(value, int):
            assert int.from_bytes(found, "big") == value, kind
        case bytes():
            assert found == value, kind
        case str() if kind == "char(5)":
            assert found == value.ljust(5), kind
        case str() if kind not in ("money", "timetz(1)", "json", "numeric(9,2)", "numeric(5,2)[]", "timestamp(0)[]"):
            assert found == value, kind
        case int() | float() | Decimal():
            assert found == value, kind
        case _:
            pass


@pytest.mark.parametrize(
    ("target", "mode", "bulk"),
    [
        ("postgres", "upsert", False),
        ("mariadb", "upsert", False),
        ("sqlite", "insert", False),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                ("postgres", "insert", False),
                ("mariadb", "insert", False),
                ("mariadb", "upsert", True),
                ("oceanbase", "insert", False),
                ("oceanbase", "upsert", True),
                ("sqlite", "upsert", False),
            ]
        ),
    ],
    indirect=["target"],
)
def test_what_a_column_would_change_is_a_bad_record_and_the_rest_is_shown_as_it_was_written(
    target: Target, mode: str, bulk: bool
) -> None:
    check(target, mode, bulk=bulk)


@EACH
@pytest.mark.parametrize("mode", ["upsert", pytest.param("insert", marks=pytest.mark.slow)])
def test_a_null_where_none_may_be_is_a_bad_record_and_does_not_become_the_default(target: Target, mode: str) -> None:
    kind, schema = ("INTEGER", INT32) if not target.is_mysql else ("TIMESTAMP(6)", MOMENT)
    default = "5" if not target.is_mysql else "'2024-12-31 23:59:59'"
    target.run(f'CREATE TABLE "rows" (id INTEGER PRIMARY KEY, c {kind} NOT NULL DEFAULT {default})')
    columns = struct([("id", INT32), ("c", replace(schema, optional=True))])
    task = target.start(insert_mode=mode)
    with pytest.raises(RecordError, match="c is null, and the column takes no null"):
        target.write(task, [{"id": 1, "c": None}, {"id": 2, "c": 5 if schema is INT32 else WHOLE.replace(tzinfo=UTC)}], columns)
    assert list(task.unwritable(None)) == [0]
    target.write(task, [{"id": 3}], struct([("id", INT32)]))
    target.write(task, [{"id": 4}, {"id": 5, "c": 6 if schema is INT32 else f"{WHOLE.isoformat()}Z"}], None)
    filled: object = 5 if schema is INT32 else WHOLE
    assert target.run('SELECT id, c FROM "rows" ORDER BY id') == [(3, filled), (4, filled), (5, 6 if schema is INT32 else WHOLE)]


@pytest.mark.parametrize("target", ["mariadb", "sqlite", OCEANBASE], indirect=True)
def test_a_null_in_a_column_that_counts_by_itself_is_a_bad_record(target: Target) -> None:
    counts = "INTEGER PRIMARY KEY" if target.kind == "sqlite" else "INTEGER AUTO_INCREMENT PRIMARY KEY"
    target.run(f'CREATE TABLE "rows" (id {counts}, name VARCHAR(9))')
    columns = struct([("id", replace(INT32, optional=True)), ("name", TEXT)])
    with pytest.raises(RecordError, match="id is null"):
        target.write(target.start(), [{"id": None, "name": "a"}], columns)
    assert target.run('SELECT id FROM "rows"') == []


KEYS = [
    ("postgres", "CHAR(5)", ["a"], "a "),
    ("mariadb", "VARCHAR(5)", ["a"], "a "),
    pytest.param("mariadb", "CHAR(5) COLLATE utf8mb4_bin", ["a"], "a ", marks=pytest.mark.slow),
    pytest.param("oceanbase", "VARCHAR(5)", ["a"], "a ", marks=pytest.mark.slow),
    pytest.param("oceanbase", "VARCHAR(5) COLLATE utf8mb4_bin", ["a", "A"], "a ", marks=pytest.mark.slow),
    pytest.param("mariadb", "VARCHAR(5) COLLATE utf8mb4_nopad_bin", ["a", "a ", "A"], "", marks=pytest.mark.slow),
    pytest.param("postgres", "VARCHAR(5)", ["a", "a ", "A"], "", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("target", "kind", "kept", "same"), KEYS, indirect=["target"])
def test_a_key_that_is_another_one_but_for_spaces_at_its_end_is_a_bad_record(
    target: Target, kind: str, kept: list[str], same: str
) -> None:
    target.run(f'CREATE TABLE "rows" (id {kind} PRIMARY KEY, n INTEGER)')
    columns = struct([("id", TEXT), ("n", INT32)])
    task = target.start(insert_mode="upsert")
    if same:
        with pytest.raises(RecordError, match="id 'a ' ends in spaces"):
            target.write(task, [{"id": "a", "n": 1}, {"id": same, "n": 2}], columns)
    target.write(task, [{"id": key, "n": 1} for key in kept], columns)
    assert target.run('SELECT count(*) FROM "rows"') == [(len(kept),)]


INEXACT = {
    "postgres": (
        "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "TEXT COLLATE folded",
    ),
    **dict.fromkeys(("mariadb", "oceanbase"), ("SET @a = 1", "VARCHAR(5) COLLATE utf8mb4_general_ci")),
    "sqlite": ("SELECT 1", "TEXT COLLATE NOCASE"),
}


@EACH
def test_a_key_whose_collation_takes_texts_for_the_same_is_told_at_validation(target: Target) -> None:
    before, kind = INEXACT[target.kind]
    target.run(before, f'CREATE TABLE "rows" (id {kind} PRIMARY KEY, n INTEGER)')
    (problem,) = look(target, insert_mode="upsert")
    assert (problem.key, problem.value, problem.is_warning) == ("pk.fields", "id", True)
    assert "takes keys for one" in problem.reason
    assert look(target, insert_mode="insert") == []


def test_what_a_type_keeps_of_values_that_no_server_here_has() -> None:
    (json,) = mysql.checks(mysql.Column("json", "json", None, None, None, None))
    texts = ["1.10", "0.1", "12345678901234567890", "123456789012345678901", "0.12345678901234567890", '{"a":1,"a":1}', "none"]
    assert json.found(pa.array(texts)).to_pylist() == [False, False, False, True, True, True, False]
    assert [
        mysql.key_checks(mysql.Column("varchar", "varchar(9)", None, 9, None, name)) == [] for name in ("utf8mb4_0900_ai_ci", None)
    ] == [
        True,
        True,
    ]
    (tens,) = postgres.checks(postgres.Column("numeric", (3 << 16 | (-2 & 0x7FF)) + 4, "numeric(3,-2)"))
    assert (
        tens.found(pa.array(["1200", "12E2", "1234", "1250.5", "NaN", "0", "x"])).to_pylist()
        == [False] * 2 + [True] * 2 + [False] * 3
    )
