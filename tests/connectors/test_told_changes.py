"""A change concerns the row that it tells, whatever the order of the fields and however many there are: every sink of changes."""

import itertools
import json
from collections.abc import Sequence
from logging import getLogger
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings

from connectors.file_sink.columns import DIRECTORY, Columns
from connectors.lakes.upserts import Keyed, Upserts
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.evolution import Policy
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.spark.types import to_spark
from tests.connectors.doris.conftest import doris
from tests.connectors.doris.run import opened
from tests.connectors.jdbc_sink.conftest import Target, target
from tests.connectors.lakes.changes import Frame
from tests.connectors.told import COLUMNS, KEY, Row, Story, stories
from tests.servers.doris import Doris

__all__ = ["doris", "target"]
TABLE = struct(
    [("v", Schema(Type.INT64, optional=True)), ("id", Schema(Type.INT64)), ("c", Schema(Type.STRING, optional=True))], name="row"
)
KEEP, DELETE = {"v": 2, "id": 1, "c": "keep"}, {"v": 1, "id": 2, "c": "delete"}
_names = itertools.count()


def deletion(before: Row) -> Story:
    """Of the second of two rows, alone in its batch."""
    first = [{"op": "c", "before": None, "after": row} for row in (KEEP, DELETE)]
    return Story([first, [{"op": "d", "before": before, "after": None}]], [], {1: KEEP})


def beside_an_insert(before: Row) -> Story:
    added = {"v": 5, "id": 3, "c": "added"}
    batch = [{"op": "d", "before": before, "after": None}, {"op": "c", "before": None, "after": added}]
    return Story([deletion(before).batches[0], batch], [], {1: KEEP, 3: added})


FORMS = [deletion(DELETE), deletion({"id": 2}), deletion({"c": "x", "id": 2, "w": 1}), beside_an_insert({"id": 2})]


def lake(batches: Sequence[Sequence[object]], schemas: Sequence[Schema | None]) -> dict[int, Row]:
    """What the sinks of lakes make of their tables: all by the same way."""
    rows: dict[int, Row] = {}
    upserts = Upserts(
        Path("t"), None, Columns(Path("t"), Policy.IGNORE, DIRECTORY, getLogger("t")), Keyed((KEY,), False, True, False)
    )
    for batch, schema in zip(batches, schemas, strict=True):
        if schema is not None:
            upserts.say(schema)
        frame: Any = Frame(pa.table({"value": to_spark(to_array(batch, schema or STRING))}))
        made = upserts.prepare(frame, TABLE)
        assert made is not None
        merge, _ = made
        for row, gone in zip(merge.rows.to_pylist(), merge.gone, strict=True):
            rows.pop(row[KEY], None)
            if not gone:
                rows[row[KEY]] = {name: row[name] for name in COLUMNS}
    return rows


def test_the_columns_of_the_key_stand_first_in_a_new_table_of_a_lake_in_the_order_of_the_key() -> None:
    number = Schema(Type.INT64)
    records = struct([(name, number) for name in ("v", "day", "id")], optional=True)
    for table, names in ((None, ["id", "day", "v"]), (records, ["v", "day", "id"])):
        evolving = Columns(Path("t"), Policy.EVOLVE, DIRECTORY, getLogger("t"))
        upserts = Upserts(Path("t"), None, evolving, Keyed(("id", "day"), by_key=False, delete=True, truncate=False))
        upserts.say(records)
        frame: Any = Frame(pa.table({"value": to_spark(to_array([{"v": 1, "day": 2, "id": 3}], records))}))
        made = upserts.prepare(frame, table)
        assert made is not None
        merge, settled = made
        assert [each.name for each in settled.table.fields] == merge.rows.column_names == names
        assert merge.rows.to_pylist() == [{"v": 1, "day": 2, "id": 3}]


def database(target: Target, batches: Sequence[Sequence[object]], schemas: Sequence[Schema | None]) -> dict[int, Row]:
    name = f"told{next(_names)}"
    target.run(f'CREATE TABLE "{name}" (v bigint, id bigint PRIMARY KEY, c varchar(99))')
    task = target.start(
        insert_mode="upsert", pk_fields="id", delete_enabled="true", schema_evolution="ignore", table_name_format=name
    )
    for batch, schema in zip(batches, schemas, strict=True):
        target.write(task, batch, schema)
    task.close()
    return {row[1]: dict(zip(COLUMNS, row, strict=True)) for row in target.run(f'SELECT v, id, c FROM "{name}"')}


def doris_rows(doris: Doris, batches: Sequence[Sequence[object]], schemas: Sequence[Schema | None]) -> dict[int, Row]:
    name = f"told{next(_names)}"
    doris.run(
        f"CREATE TABLE IF NOT EXISTS `shop`.`{name}` (`id` BIGINT NOT NULL, `v` BIGINT NULL, `c` VARCHAR(99) NULL) "
        "UNIQUE KEY (`id`) DISTRIBUTED BY HASH (`id`)"
    )
    options = {"insert.mode": "upsert", "pk.fields": "id", "delete.enabled": "true", "schema.evolution": "ignore"}
    run = opened(options | doris.options("shop") | {"table": name}).start()
    for batch, schema in zip(batches, schemas, strict=True):
        run.write_values(batch, schema)
    run.task.close()
    return {row[1]: dict(zip(COLUMNS, row, strict=True)) for row in doris.run(f"SELECT v, id, c FROM shop.{name}")}


def none(story: Story) -> list[Schema | None]:
    """The schemas of JSON."""
    return [None] * len(story.batches)


@given(stories())
@example(FORMS[0])
@example(FORMS[1])
@example(FORMS[2])
@example(FORMS[3])
def test_a_lake_has_the_rows_that_json_tells(story: Story) -> None:
    assert lake(story.texts, none(story)) == story.after


@given(stories(more=False))
def test_a_lake_has_the_rows_that_envelopes_with_schemas_tell(story: Story) -> None:
    assert lake(story.batches, story.schemas) == story.after


SERVERS = pytest.mark.parametrize(
    "target",
    [
        "sqlite",
        pytest.param("postgres", marks=[pytest.mark.slow, pytest.mark.postgres]),
        pytest.param("mariadb", marks=[pytest.mark.slow, pytest.mark.mariadb]),
    ],
    indirect=True,
)
_SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)


@SERVERS
@_SHARED
@given(stories())
@example(FORMS[0])
@example(FORMS[1])
@example(FORMS[2])
@example(FORMS[3])
def test_a_database_has_the_rows_that_json_tells(target: Target, story: Story) -> None:
    assert database(target, story.texts, none(story)) == story.after


@SERVERS
@_SHARED
@given(stories(more=False))
def test_a_database_has_the_rows_that_envelopes_with_schemas_tell(target: Target, story: Story) -> None:
    assert database(target, story.batches, story.schemas) == story.after


@pytest.mark.postgres
@pytest.mark.parametrize("target", ["postgres"], indirect=True)
@pytest.mark.parametrize("story", FORMS)
def test_postgres_deletes_the_row_that_the_change_tells(target: Target, story: Story) -> None:
    assert database(target, story.texts, none(story)) == story.after


@_SHARED
@given(stories(more=False))
@example(FORMS[0])
@example(FORMS[2])
@example(FORMS[3])
def test_doris_has_the_rows_that_json_tells(doris: Doris, story: Story) -> None:
    assert doris_rows(doris, story.texts, none(story)) == story.after


@_SHARED
@given(stories(more=False))
def test_doris_has_the_rows_that_envelopes_with_schemas_tell(doris: Doris, story: Story) -> None:
    assert doris_rows(doris, story.batches, story.schemas) == story.after


@pytest.mark.parametrize("before", [{}, {"v": 1}, {"id": None, "v": 1}, {"w": 1}])
def test_a_deletion_that_does_not_tell_the_key_is_a_bad_record(before: Row) -> None:
    text = json.dumps({"op": "d", "before": before, "after": None})
    with pytest.raises(RecordError, match="of the row before the change id is null, and the column takes no null"):
        lake([[text]], [None])


def test_a_deletion_whose_row_has_no_such_field_is_a_bad_record() -> None:
    row = struct([("v", Schema(Type.INT64))], optional=True)
    schema = struct([("op", STRING), ("before", row), ("after", TABLE)])
    with pytest.raises(RecordError, match="id is missing, and the column takes no null"):
        lake([[{"op": "d", "before": {"v": 1}, "after": None}]], [schema])


def test_of_the_row_before_a_change_only_the_key_matters() -> None:
    change = {"op": "u", "before": {"id": 1, "v": "0000-00-00", "c": [1]}, "after": {"id": 1, "v": 5, "c": "x"}}
    assert lake([[json.dumps(change)]], [None]) == {1: change["after"]}


def test_a_key_of_another_type_before_the_change_is_compared_by_its_value() -> None:
    before = struct([("id", STRING)], optional=True)
    schema = struct([("op", STRING), ("before", before), ("after", TABLE)])
    change = {"op": "u", "before": {"id": "1"}, "after": KEEP}
    with pytest.raises(RecordError, match="of the row before the change id is string, and the column is int64"):
        lake([[change]], [schema])
