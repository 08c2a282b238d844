"""What is written does not depend on the settings of the server."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from connectors.jdbc import dialect, oceanbase
from connectors.jdbc.dialect import Connection
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.schema import Schema, Type, struct, timestamp
from tests.connectors.jdbc_sink.conftest import OCEANBASE, Target

INT32 = Schema(Type.INT32)
ODD_MODES = "NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT,PAD_CHAR_TO_FULL_LENGTH"


@pytest.fixture
def odd(target: Target) -> Iterator[Target]:
    """A database whose sessions begin with settings that nobody expects."""
    name = target.options["connection.url"].rpartition("/")[2]
    if target.kind == "postgres":
        settings = {
            "timezone": "'Asia/Kathmandu'",
            "datestyle": "'SQL, DMY'",
            "intervalstyle": "'sql_standard'",
            "extra_float_digits": "-5",
            "bytea_output": "'escape'",
            "array_nulls": "off",
            "standard_conforming_strings": "off",
        }
        target.run(*(f"ALTER DATABASE {name} SET {setting} = {value}" for setting, value in settings.items()))
        yield target
        return
    given = {"sql_mode": f"'{ODD_MODES}'", "time_zone": "'+05:45'", "sql_select_limit": "1", "sql_safe_updates": "1"}
    kept = dict(zip(given, target.run(f"SELECT {', '.join(f'@@global.{each}' for each in given)}")[0], strict=True))
    target.run(*(f"SET GLOBAL {setting} = {value}" for setting, value in given.items()))
    try:
        yield target
    finally:
        target.run(*(f"SET GLOBAL {each} = {value if isinstance(value, int) else repr(value)}" for each, value in kept.items()))


@pytest.mark.parametrize("target", ["mariadb", OCEANBASE], indirect=True)
@pytest.mark.parametrize(
    ("mode", "count"),
    [
        ("upsert", 200),
        *(pytest.param(mode, count, marks=pytest.mark.slow) for mode, count in [("insert", 3), ("insert", 200), ("upsert", 3)]),
    ],
)
def test_the_number_0_of_a_column_that_counts_by_itself_is_kept(target: Target, mode: str, count: int) -> None:
    target.run('CREATE TABLE "rows" (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(9))')
    rows = [{"id": number, "name": "a"} for number in range(count)]
    target.write(target.start(insert_mode=mode), rows, struct([("id", INT32), ("name", Schema(Type.STRING))]))
    assert target.run('SELECT id FROM "rows" ORDER BY id') == [(number,) for number in range(count)]


@pytest.mark.parametrize("target", [pytest.param("postgres", marks=pytest.mark.slow), "mariadb", OCEANBASE], indirect=True)
def test_rows_are_the_same_whatever_sessions_begin_with(odd: Target) -> None:
    schema = struct(
        [
            ("id", INT32),
            ("text", Schema(Type.STRING)),
            ("data", Schema(Type.BYTES)),
            ("double", Schema(Type.FLOAT64)),
            ("at", timestamp()),
        ]
    )
    at = datetime(2024, 2, 3, 4, 5, 6, 700000, tzinfo=UTC)
    rows = [{"id": n, "text": "a\\b'\"|| ", "data": b"\\\xff'", "double": 0.1 + 0.2, "at": at} for n in (0, 1, 2)]
    task = odd.start(insert_mode="upsert", pk_fields="id", auto_create="true", truncate_enabled="true")
    odd.write(task, rows, schema)
    odd.write(task, rows, schema)
    shown, setting = "text, data, \"double\", at AT TIME ZONE 'UTC'", "SET extra_float_digits = 3"
    if odd.is_mysql:
        shown, setting = 'text, data, "double", at', "SET sql_select_limit = 9"
    found = odd.run(setting, f'SELECT {shown} FROM "rows"')
    wanted = ("a\\b'\"|| ", b"\\\xff'", 0.1 + 0.2, at.replace(tzinfo=None))
    assert [(text, bytes(data), double, when) for text, data, double, when in found] == [wanted] * 3


@pytest.mark.parametrize("target", [OCEANBASE], indirect=True)
def test_a_server_that_never_answers_the_making_of_a_table_is_away_and_asked_again_on_another_connection(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def execute(connection: Connection, statement: str) -> None:
        asked.append(statement)
        dialect.execute(connection, statement if len(asked) > 1 else "SELECT SLEEP(60)")

    monkeypatch.setattr(oceanbase, "_CREATE_SECONDS", 1)
    monkeypatch.setattr(oceanbase, "execute", execute)
    with pytest.raises(SystemAway, match="timed out"):
        target.start(auto_create="true")
    schema = struct([("id", INT32)])
    target.write(target.start(auto_create="true"), [{"id": 1}], schema)
    assert len(asked) > 1
    assert target.run('SELECT id FROM "rows"') == [(1,)]
