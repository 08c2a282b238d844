"""Texts whose source says how long they are."""

import psycopg
import pymysql
import pytest

from connectors.jdbc_sink.shape import narrowed
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import LENGTH, Schema, Type, struct, text
from tests.connectors.jdbc_sink.conftest import OCEANBASE, Target
from tests.pairs.targets import column_types

INT32 = Schema(Type.INT32)
UPSERT = {"insert_mode": "upsert", "pk_fields": "code", "auto_create": "true"}


def person(code: int, name: int) -> Schema:
    return struct([("code", text(code)), ("name", text(name, optional=True)), ("note", text(optional=True))])


def row(code: str, name: str) -> dict[str, object]:
    return {"code": code, "name": name, "note": name * 9}


KINDS = {"postgres": "character varying({})", "mariadb": "varchar({})", "oceanbase": "varchar({})", "sqlite": "TEXT"}
LONG = {"postgres": "text", "mariadb": "longtext", "oceanbase": "longtext", "sqlite": "TEXT"}


def kinds(target: Target, code: int, name: int) -> dict[str, str]:
    of = KINDS[target.kind]
    return {"code": of.format(code), "name": of.format(name), "note": LONG[target.kind]}


def test_a_new_table_has_columns_of_their_lengths(target: Target) -> None:
    target.write(target.start(**UPSERT), [row("a" * 9, "ü" * 20)], person(9, 20))
    assert column_types(target, "rows") == kinds(target, 9, 20)
    assert target.run('SELECT code, name FROM "rows"') == [("a" * 9, "ü" * 20)]


def test_a_table_that_evolves_becomes_as_wide_as_its_source(target: Target) -> None:
    target.write(target.start(**UPSERT), [row("a", "b")], person(9, 20))
    task = target.start(**UPSERT, schema_evolution="evolve")
    target.write(task, [row("c" * 30, "d" * 50)], person(30, 50))
    target.write(task, [row("e" * 30, "f" * 20)], person(30, 20))
    assert column_types(target, "rows") == kinds(target, 30, 50)
    found = target.run('SELECT code, name FROM "rows" ORDER BY code')
    assert found == [("a", "b"), ("c" * 30, "d" * 50), ("e" * 30, "f" * 20)]


@pytest.mark.parametrize("target", ["mariadb", "postgres", OCEANBASE], indirect=True)
def test_a_column_that_is_widened_keeps_that_it_takes_no_nulls(target: Target) -> None:
    target.run('CREATE TABLE "rows" (code VARCHAR(9) PRIMARY KEY, name VARCHAR(9) NOT NULL)')
    schema = struct([("code", text(9)), ("name", text(20))])
    target.write(target.start(**UPSERT, schema_evolution="evolve"), [{"code": "a", "name": "b" * 20}], schema)
    assert column_types(target, "rows")["name"] == KINDS[target.kind].format(20)
    with pytest.raises((psycopg.Error, pymysql.err.Error)):
        target.run("INSERT INTO \"rows\" VALUES ('b', NULL)")


@pytest.mark.parametrize("target", ["mariadb", "postgres", OCEANBASE], indirect=True)
@pytest.mark.parametrize("policy", ["ignore", "fail"])
def test_a_table_that_does_not_evolve_keeps_its_widths(target: Target, policy: str) -> None:
    target.write(target.start(**UPSERT), [row("a", "b")], person(9, 20))
    task = target.start(**UPSERT, schema_evolution=policy)
    target.write(task, [row("c", "d" * 20)], person(9, 50))
    assert column_types(target, "rows") == kinds(target, 9, 20)
    with pytest.raises(RecordError, match="longer than the 20 characters"):
        target.write(task, [row("e", "f" * 21)], person(9, 50))


@pytest.mark.parametrize("target", ["mariadb", OCEANBASE], indirect=True)
def test_texts_beyond_what_a_row_of_mysql_holds_have_no_length(target: Target) -> None:
    schema = struct([("code", text(9)), *((f"t{number}", text(4_000, optional=True)) for number in range(6))])
    target.write(target.start(**UPSERT), [{"code": "a", **{f"t{number}": "ü" * 4_000 for number in range(6)}}], schema)
    found = column_types(target, "rows")
    assert sorted(found.values()) == ["longtext"] * 2 + ["varchar(4000)"] * 4 + ["varchar(9)"]
    # One that comes later is not known to have room, either.
    later = struct([*((each.name, each.schema) for each in schema.fields), ("more", text(9_000, optional=True))])
    target.write(target.start(**UPSERT, schema_evolution="evolve"), [{"code": "b", "more": "x"}], later)
    assert column_types(target, "rows")["more"] == "longtext"


def test_the_longest_texts_lose_their_length_first() -> None:
    schema = struct([("a", text(10)), ("b", text(10_000)), ("c", text(9_000)), ("id", INT32)])
    assert [each.schema.length for each in narrowed(schema, 65_535).fields] == [10, 0, 9_000, 0]
    assert narrowed(schema, 0) == schema
    other = Schema(Type.STRING, parameters=(("kept", "1"), (LENGTH, "99999")))
    assert narrowed(struct([("a", other)]), 65_535).fields[0].schema.parameters == (("kept", "1"),)
