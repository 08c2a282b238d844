"""What a deleted connector leaves behind in its database."""

from pathlib import Path

import pytest

from connectors.jdbc_sink import JdbcSink
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import Schema, Type, struct
from tests.connectors.jdbc_sink.conftest import Target

ROWS = struct([("id", Schema(Type.INT32))])
OPTIONS = {"auto_create": "true", "insert_mode": "insert"}


def delete(target: Target, uid: str, **options: str) -> None:
    given = {"table.name.format": "rows", **target.options, **{name.replace("_", "."): value for name, value in options.items()}}
    JdbcSink().deleted(parse(JdbcSink().options, given), uid)


def positions_of(target: Target) -> int:
    return int(target.run('SELECT COUNT(*) FROM "rocketconnect_positions"')[0][0])


def test_a_deleted_connector_leaves_its_rows_and_none_of_its_positions(target: Target) -> None:
    task = target.start(**OPTIONS)
    target.write(task, [{"id": 1}], ROWS)
    delete(target, "another")
    assert positions_of(target) > 2
    delete(target, "test")
    delete(target, "test")
    assert positions_of(target) == 0
    assert target.run('SELECT id FROM "rows"') == [(1,)]
    with pytest.raises(PermanentError, match="a newer owner"):
        target.write(task, [{"id": 2}], ROWS)


def test_the_positions_stay_where_that_is_wanted(target: Target) -> None:
    target.write(target.start(**OPTIONS), [{"id": 1}], ROWS)
    before = positions_of(target)
    delete(target, "test", positions_delete="false")
    assert positions_of(target) == before


def test_nothing_is_made_where_nothing_is_left(target: Target, tmp_path: Path) -> None:
    delete(target, "uid")
    assert target.kind != "sqlite" or not (tmp_path / "db").exists()
