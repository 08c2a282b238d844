"""Queries as users end them."""

from typing import TYPE_CHECKING

import pytest

from connectors.jdbc_source import JdbcSource
from connectors.jdbc_source.queries import bare
from rocketconnect_sdk.options import parse

if TYPE_CHECKING:
    from tests.connectors.jdbc_source.conftest import Database

ENDS = ["", ";", " ; ;\n", " -- note", "; -- note", " -- a; b\n;", " /* c */"]


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "sqlite"])
@pytest.mark.parametrize("end", ENDS)
def test_semicolons_and_comments_at_the_end_are_no_part_of_a_query(dialect: str, end: str) -> None:
    query = "SELECT ';' AS \"--\" -- one\nFROM t WHERE a = '/*'"
    assert bare(query + end, dialect) == query


def test_what_cannot_be_taken_apart_is_left_to_the_database() -> None:
    for query in ("SELECT 'x", "SELECT 1; SELECT 2", ";", ""):
        assert bare(query, "postgres") == query


@pytest.mark.parametrize("end", ENDS)
def test_a_query_that_ends_so_is_read(database: "Database", end: str) -> None:
    database.run("CREATE TABLE t (id integer)")
    source = JdbcSource()
    given = {**database.options, "query": f"SELECT id FROM t{end}"}
    assert list(source.check(parse(source.options, given))) == []
