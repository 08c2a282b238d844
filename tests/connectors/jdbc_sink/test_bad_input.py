"""What users get wrong, and what they are told."""

from contextlib import closing

import pytest

from connectors.jdbc_sink import JdbcSink
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import Schema, Type, struct
from tests.connectors.jdbc_sink.conftest import OCEANBASE, Target

NUMBER, TEXT = Schema(Type.INT64), Schema(Type.STRING, optional=True)
UPSERT = {"insert_mode": "upsert", "auto_create": "true", "pk_fields": "id"}


def problems(target: Target, **options: str) -> str:
    given = {name.replace("_", "."): value for name, value in options.items()}
    config = parse(JdbcSink().options, {"table.name.format": "rows", **target.options, **given})
    return "\n".join(map(str, JdbcSink().check(config)))


ODD = ["select", "100%", "%s", 'say "so"', "a`b", "über", "a b", "address.city", "'", "--", ";", "back\\slash", "UPPER"]


@pytest.mark.parametrize("mode", ["insert", "upsert", "update"])
def test_columns_may_have_any_name(target: Target, mode: str) -> None:
    schema = struct([("the.key%", NUMBER), *((name, TEXT) for name in ODD)])
    rows = [{"the.key%": number, **dict.fromkeys(ODD, f"value {number}")} for number in range(150)]
    target.write(target.start(insert_mode="upsert", auto_create="true", pk_fields="the.key%"), rows[:1], schema)
    task = target.start(insert_mode=mode, delete_enabled="false", pk_fields="the.key%", schema_evolution="evolve")
    target.write(task, rows[1:2], schema)
    target.write(task, rows[2:], struct([*((each.name, each.schema) for each in schema.fields), ("new.one%", TEXT)]))
    assert target.run('SELECT count(*) FROM "rows"') == [(150,) if mode != "update" else (1,)]


@pytest.mark.parametrize("name", ["order", "100%", "%s", 'say "so"', "a`b", "über", "back\\slash"])
def test_tables_may_have_any_name(target: Target, name: str) -> None:
    schema = struct([("id", NUMBER), ("name", TEXT)])
    task = target.start(**UPSERT, **{"table.name.format": name})
    target.write(task, [{"id": 1, "name": "a"}], schema)
    target.write(task, [{"id": 1, "name": "b"}, {"id": 2, "name": "b"}], schema)
    with closing(target.connect()) as database:
        cursor = database.cursor()
        quoted = f"`{name.replace('`', '``')}`" if target.is_mysql else '"' + name.replace('"', '""') + '"'
        cursor.execute(f"SELECT id, name FROM {quoted} ORDER BY id")
        assert list(cursor.fetchall()) == [(1, "b"), (2, "b")]


@pytest.mark.parametrize("name", ["100%", "%s", 'say "so"'])
def test_the_table_of_positions_may_have_any_name(target: Target, name: str) -> None:
    schema = struct([("id", NUMBER)])
    options = {**UPSERT, "positions.table": name}
    target.write(target.start(**options), [{"id": 1}], schema)
    task = target.start(**options)
    target.write(task, [{"id": 2}], schema)
    assert target.run('SELECT id FROM "rows" ORDER BY id') == [(1,), (2,)]
    assert task.start()


@pytest.mark.parametrize("target", ["mariadb", OCEANBASE], indirect=True)
@pytest.mark.parametrize(("collation", "warned"), [("utf8mb4_general_ci", True), ("utf8mb4_bin", False)])
def test_keys_that_the_database_takes_for_the_same_are_warned_of(
    target: Target, collation: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    target.run(f'CREATE TABLE "rows" (id VARCHAR(9) COLLATE {collation} PRIMARY KEY, name VARCHAR(9))')
    target.write(target.start(**UPSERT), [{"id": "a", "name": "b"}], struct([("id", Schema(Type.STRING)), ("name", TEXT)]))
    assert any("upper and lower case" in record.getMessage() for record in caplog.records) is warned


@pytest.mark.parametrize("long", ["x" * 65, "ü" * 33])
def test_a_name_that_the_database_cuts_off_or_refuses_is_told_before_anything_is_made(target: Target, long: str) -> None:
    if target.kind == "sqlite" or (target.is_mysql and len(long) < 65):
        pytest.skip("it takes this name")
    what = "63 bytes" if target.kind == "postgres" else "64 characters"
    assert what in problems(target, **UPSERT, **{"table.name.format": long})
    with pytest.raises(PermanentError, match=rf"the column {long}.*{what}"):
        target.write(target.start(**UPSERT), [{"id": 1, long: "a"}], struct([("id", NUMBER), (long, TEXT)]))
    with pytest.raises(PermanentError, match=rf"the table {long}.*{what}"):
        target.write(target.start(**UPSERT, **{"table.name.format": long}), [{"id": 1}], struct([("id", NUMBER)]))
    task = target.start(**UPSERT, schema_evolution="evolve")
    target.write(task, [{"id": 1}], struct([("id", NUMBER)]))
    with pytest.raises(PermanentError, match=rf"the column {long}.*{what}"):
        target.write(task, [{"id": 1, long: "a"}], struct([("id", NUMBER), (long, TEXT)]))


def test_two_topics_of_one_table_with_other_columns_fail_before_anything_is_written_or_add_them(target: Target) -> None:
    task = target.start(**UPSERT)
    other = struct([("id", NUMBER), ("place", TEXT)])
    target.write(task, [{"id": 1, "name": "a"}], struct([("id", NUMBER), ("name", TEXT)]))
    with pytest.raises(PermanentError, match=r"rows: .*schema\.evolution is fail: place \(string\) is no column"):
        target.write(task, [{"id": 2, "place": "b"}], other, topic="other")
    target.write(target.start(**UPSERT, schema_evolution="evolve"), [{"id": 2, "place": "b"}], other, topic="other")
    assert target.run('SELECT id, name, place FROM "rows" ORDER BY id') == [(1, "a", None), (2, None, "b")]


def test_a_server_that_takes_no_writes_is_told_at_once_and_tried_again(target: Target) -> None:
    name = target.options["connection.url"].rpartition("/")[2]
    on, off = {
        "postgres": (f"ALTER DATABASE {name} SET default_transaction_read_only = on", ""),
        **dict.fromkeys(("mariadb", "oceanbase"), ("SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0")),
        "sqlite": ("", ""),
    }[target.kind]
    if not on:
        pytest.skip("a file has no server")
    target.run(on)
    try:
        assert "is read-only" in problems(target, **UPSERT)
        with pytest.raises(RetriableError, match=r"read-only.*Name the server that takes writes"):
            target.start(**UPSERT)
    finally:
        if off:
            target.run(off)


def test_a_privilege_that_is_taken_away_in_mid_run_comes_with_its_grant(target: Target) -> None:
    if target.kind == "sqlite":
        pytest.skip("a file has no users")
    schema = struct([("id", NUMBER), ("name", TEXT)])
    target.run('CREATE TABLE "rows" (id BIGINT PRIMARY KEY, name VARCHAR(9))')
    user = f"user_{target.options['connection.url'].rpartition('/')[2]}"
    at = f"'{user}'@'%'" if target.is_mysql else user
    target.run(f"CREATE USER {at}", f'GRANT SELECT ON "rows" TO {at}')
    target.options = {**target.options, "user": user}
    given = problems(target, insert_mode="update")
    assert "UPDATE" in given
    target.run(*given.partition("Run: ")[2].rstrip(".").split("; "))
    assert problems(target, insert_mode="update") == ""
    task = target.start(insert_mode="upsert")
    target.write(task, [{"id": 1, "name": "a"}], schema)
    target.run(f'REVOKE UPDATE ON "rows" FROM {at}')
    with pytest.raises(PermanentError, match=r"rows: .*Run: GRANT UPDATE ON") as error:
        target.write(task, [{"id": 1, "name": "b"}], schema)
    target.run(str(error.value).partition("Run: ")[2])
    target.write(task, [{"id": 1, "name": "b"}], schema)
    assert target.run('SELECT id, name FROM "rows"') == [(1, "b")]


def test_updates_of_a_table_without_a_key_are_told_when_the_configuration_is_checked(target: Target) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER)')
    assert "has no primary key" in problems(target, insert_mode="update")
