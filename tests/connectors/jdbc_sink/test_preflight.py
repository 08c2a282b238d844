from pathlib import Path

import pytest

from connectors.jdbc_sink import JdbcSink
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.schema import Schema, Type, struct
from tests.connectors.jdbc_sink.conftest import OCEANBASE, Target

UPSERT = {"insert.mode": "upsert", "pk.fields": "id"}
MAKE = {"auto.create": "true"}


def look(target: Target, **options: str) -> list[Problem]:
    given = {name.replace("_", "."): value for name, value in options.items()}
    return list(JdbcSink().check(parse(JdbcSink().options, {"table.name.format": "rows", **target.options, **given})))


def test_what_works_has_no_problems_and_nothing_is_made(target: Target) -> None:
    assert look(target, **UPSERT, **MAKE) == []
    target.run("CREATE TABLE other (id INTEGER)")
    (only,) = look(target)
    assert (only.key, only.value) == ("table.name.format", "rows")
    assert "auto.create=true" in only.fix


def test_a_key_that_is_no_column_or_not_unique_is_told(target: Target) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER, name TEXT)')
    assert [(each.key, each.value) for each in look(target, insert_mode="upsert", pk_fields="no")] == [("pk.fields", "no")]
    (only,) = look(target, insert_mode="upsert")
    assert "no primary key" in only.reason
    (only,) = look(target, insert_mode="upsert", pk_fields="name")
    assert "more than once" in only.reason
    assert "ADD UNIQUE" in only.fix
    assert ("varchar(191)" in only.fix) is (target.is_mysql)
    if target.kind != "sqlite":
        target.run(*(each for each in only.fix.removeprefix("Run: ").removesuffix(".").split("; ")))
        assert [each for each in look(target, insert_mode="upsert", pk_fields="name") if not each.is_warning] == []


def test_a_key_that_is_not_unique_is_refused_when_rows_come(target: Target) -> None:
    target.run('CREATE TABLE "rows" (id INTEGER)')
    with pytest.raises(PermanentError, match="unique"):
        target.write(target.start(insert_mode="upsert", pk_fields="id"), [{"id": 1}], struct([("id", Schema(Type.INT32))]))


def test_a_wrong_user_and_a_wrong_database_are_told_at_once(target: Target) -> None:
    if target.kind == "sqlite":
        pytest.skip("a file has no users")
    (only,) = look(target, connection_url=target.options["connection.url"] + "_not")
    assert only.key == ("connection.url" if target.kind == "postgres" else "user")
    wrong = parse(JdbcSink().options, {**target.options, "user": "nobody-there"})
    # As it is when secrets are resolved.
    wrong = Config({**wrong, "password": "the-secret"}, wrong.raw)
    found = " ".join(map(str, JdbcSink().check(wrong)))
    assert "nobody-there" in found
    assert "the-secret" not in found


@pytest.mark.parametrize("target", [OCEANBASE], indirect=True)
def test_a_server_of_oceanbase_that_is_named_as_one_of_mysql_is_told_the_url_that_it_needs(target: Target) -> None:
    (only,) = look(target, connection_url=target.options["connection.url"].replace("oceanbase:", "mysql:"), **MAKE)
    assert only.key == "connection.url"
    assert "write oceanbase:// in connection.url" in only.reason


def test_a_password_that_is_still_a_reference_is_not_tried(target: Target) -> None:
    assert look(target, user="nobody-there", password="${env:PASSWORD}") == []


def test_missing_privileges_come_with_the_statements_that_give_them(target: Target) -> None:
    if target.kind == "sqlite":
        pytest.skip("a file has no users")
    target.run('CREATE TABLE "rows" (id INTEGER PRIMARY KEY)')
    name = target.options["connection.url"].rpartition("/")[2]
    user = f"user_{name}"
    at = f"'{user}'@'%'" if target.is_mysql else user
    upsert = {"insert_mode": "upsert", "pk_fields": "id"}
    target.run(f"CREATE USER {at}", f'GRANT SELECT ON "rows" TO {at}')
    (only,) = look(target, user=user, **upsert)
    assert only.key == "user"
    assert "INSERT, UPDATE" in only.fix
    assert "CREATE" in only.fix
    target.run(*only.fix.removeprefix("Run: ").removesuffix(".").split("; "))
    assert look(target, user=user, **upsert) == []
    target.start(user=user, **upsert)


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    config = parse(JdbcSink().options, {"connection.url": f"sqlite:///{tmp_path}/no/db"})
    assert [each.key for each in JdbcSink().check(config)] == ["connection.url"]


def test_who_may_not_change_a_table_that_is_to_evolve_is_told_what_gives_it(target: Target) -> None:
    if target.kind == "sqlite":
        pytest.skip("a file has no users")
    target.run('CREATE TABLE "rows" (id INTEGER PRIMARY KEY)')
    user = f"alters_{target.options['connection.url'].rpartition('/')[2]}"
    at = f"'{user}'@'%'" if target.is_mysql else user
    target.run(f"CREATE USER {at}", f'GRANT SELECT, INSERT, UPDATE ON "rows" TO {at}')
    given = {"insert_mode": "upsert", "pk_fields": "id", "user": user}
    (only,) = look(target, **given)
    target.run(*only.fix.removeprefix("Run: ").removesuffix(".").split("; "))
    assert look(target, **given) == []
    (only,) = look(target, **given, schema_evolution="evolve")
    assert ("ALTER ON" if target.is_mysql else 'GRANT "postgres" TO') in only.fix
    target.run(only.fix.removeprefix("Run: ").removesuffix("."))
    assert look(target, **given, schema_evolution="evolve") == []
    schema = struct([("id", Schema(Type.INT32)), ("new", Schema(Type.STRING, optional=True))])
    target.write(target.start(**given, schema_evolution="evolve"), [{"id": 1, "new": "a"}], schema)
