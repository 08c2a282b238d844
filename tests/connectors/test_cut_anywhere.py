"""What a record does to a table does not depend on the records beside it: the same ones, cut into batches at any places."""

import itertools
from logging import getLogger
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings

from connectors.file_sink.columns import DIRECTORY, Columns
from connectors.lakes.upserts import Keyed, Upserts
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.evolution import Policy
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.spark.types import to_spark
from rocketconnect_sdk.targets.merging import Merge
from tests.connectors.clickhouse import run as clickhouse_runs
from tests.connectors.cuts import COLUMNS, DEFAULTS, History, Row, deletion, histories, table, written
from tests.connectors.doris import run as doris_runs
from tests.connectors.doris.conftest import doris
from tests.connectors.jdbc_sink.conftest import Target, target
from tests.connectors.lakes.changes import Frame
from tests.servers.clickhouse import ClickHouse
from tests.servers.doris import Doris

__all__ = ["doris", "target"]
_names = itertools.count()
_TEXT = Schema(Type.STRING, optional=True)
_LAKE = struct([("id", Schema(Type.INT64)), ("v", Schema(Type.INT64, optional=True)), ("c", _TEXT), ("x", _TEXT)], name="row")
_PLACES = "_rc_queue String, _rc_offset UInt64, _rc_row UInt32"
_NO_DEFAULTS = dict.fromkeys(DEFAULTS)
_SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
_FIRST = {"id": 1, "x": "y"}
TOGETHER_AND_APART = [
    History([[{"id": 1, "v": 1, "c": "a", "x": "y"}], [{"id": 1, "v": 2}, {"id": 2, "c": "b"}]]),
    History([[{"id": 1, "v": 1}], [{"id": 1, "c": "a"}, {"id": 1, "v": 2}, {"id": 1, "x": "y"}]]),
    History([[_FIRST], [deletion(1), written({"id": 1, "v": 2})]]),
    History([[_FIRST], [written({"id": 2, "v": 2}, was=1)]]),
    History([[_FIRST], [written({"id": 2, "v": 2}), {"id": 1, "c": "b"}]]),
    History([[_FIRST], [deletion(1)], [None], [None, {"id": 2}]]),
]


def _examples(test: Any) -> Any:
    for each in TOGETHER_AND_APART:
        test = example(each)(test)
    return test


def lake(history: History) -> dict[int, Row]:
    """What the sinks of lakes make of their tables: all by the same way."""
    rows: dict[int, Row] = {}
    columns = Columns(Path("t"), Policy.IGNORE, DIRECTORY, getLogger("t"))
    upserts = Upserts(Path("t"), None, columns, Keyed(("id",), False, True, True))
    for batch in history.texts:
        frame: Any = Frame(pa.table({"value": to_spark(to_array(batch, _TEXT))}))
        made = upserts.prepare(frame, _LAKE)
        rows = rows if made is None else merged(rows, made[0])
    return rows


def merged(there: dict[int, Row], merge: Merge) -> dict[int, Row]:
    """As MERGE does it: all that is looked at is the table before."""
    there = {} if merge.truncates else there
    made = dict(there)
    written = merge.rows.to_pylist()
    bases = [None] * len(written) if merge.bases is None else merge.bases.to_pylist()
    for row, gone, kept, base in zip(written, merge.gone, merge.kept or [()] * len(written), bases, strict=True):
        made.pop(row["id"], None)
        if not gone:
            of = there.get(base["id"], {}) if base else {}
            others = {name: value for name, value in there.get(row["id"], {}).items() if name not in row}
            made[row["id"]] = {**_NO_DEFAULTS, **others, **row, **{name: of.get(name) for name in kept}}
    return made


@given(histories(truncates=True))
@_examples
def test_a_lake_has_the_same_rows_wherever_batches_end(history: History) -> None:
    assert lake(history) == lake(history.whole) == table(history, _NO_DEFAULTS)


def database(target: Target, history: History, mode: str = "upsert") -> list[Row]:
    name = f"cut{next(_names)}"
    key = "PRIMARY KEY" if mode == "upsert" else "NOT NULL"
    target.run(f"CREATE TABLE \"{name}\" (id bigint {key}, v bigint NOT NULL DEFAULT 7, c varchar(9), x varchar(9) DEFAULT 'x')")
    given_ = {"pk_fields": "id", "delete_enabled": "true", "truncate_enabled": "true"} if mode == "upsert" else {}
    task = target.start(insert_mode=mode, schema_evolution="ignore", table_name_format=name, **given_)
    for batch in history.texts:
        target.write(task, batch, None)
    task.close()
    return [dict(zip(COLUMNS, row, strict=True)) for row in target.run(f'SELECT id, v, c, x FROM "{name}"')]


DATABASES = pytest.mark.parametrize(
    "target",
    [
        "sqlite",
        pytest.param("postgres", marks=[pytest.mark.slow, pytest.mark.postgres]),
        pytest.param("mariadb", marks=[pytest.mark.slow, pytest.mark.mariadb]),
    ],
    indirect=True,
)


@DATABASES
@_SHARED
@given(histories(truncates=True))
@_examples
def test_a_database_has_the_same_rows_wherever_batches_end(target: Target, history: History) -> None:
    for cut in (history, history.whole):
        assert {row["id"]: row for row in database(target, cut)} == table(history)


@DATABASES
@_SHARED
@given(histories(changes=False))
def test_a_database_gets_the_same_new_rows_wherever_batches_end(target: Target, history: History) -> None:
    for cut in (history, history.whole):
        assert _sorted(database(target, cut, "insert")) == _sorted([{**DEFAULTS, **row} for row in history])


@pytest.mark.parametrize("target", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
@pytest.mark.parametrize("history", TOGETHER_AND_APART)
def test_postgres_has_the_same_rows_together_and_apart(target: Target, history: History) -> None:
    for cut in (history, history.whole):
        assert {row["id"]: row for row in database(target, cut)} == table(history)


def _sorted(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: [repr(row[name]) for name in COLUMNS])


@_SHARED
@given(histories())
@_examples
def test_doris_has_the_same_rows_wherever_batches_end(doris: Doris, history: History) -> None:
    """A row is written whole there, so that what is not named is the default also in one that was there."""
    for cut in (history, history.whole):
        name = f"cut{next(_names)}"
        doris.run(
            f"CREATE TABLE IF NOT EXISTS `shop`.`{name}` (`id` BIGINT NOT NULL, `v` BIGINT NOT NULL DEFAULT '7', "
            "`c` VARCHAR(9) NULL, `x` VARCHAR(9) NULL DEFAULT 'x') UNIQUE KEY (`id`) DISTRIBUTED BY HASH (`id`)"
        )
        options = {"insert.mode": "upsert", "pk.fields": "id", "delete.enabled": "true", "schema.evolution": "ignore"}
        run = doris_runs.opened(options | doris.options("shop") | {"table": name}).start()
        for batch in cut.texts:
            run.write_values(batch, None)
        run.task.close()
        found = [dict(zip(COLUMNS, row, strict=True)) for row in doris.run(f"SELECT id, v, c, x FROM shop.{name}")]
        assert {row["id"]: row for row in found} == table(history, keeps=False)


@pytest.mark.slow
@_SHARED
@given(histories(changes=False))
def test_clickhouse_gets_the_same_rows_wherever_batches_end(clickhouse: ClickHouse, history: History) -> None:
    _clickhouse_gets(clickhouse, history)


def test_clickhouse_gives_rows_that_name_different_columns_their_defaults(clickhouse: ClickHouse) -> None:
    _clickhouse_gets(clickhouse, TOGETHER_AND_APART[0])


def _clickhouse_gets(clickhouse: ClickHouse, history: History) -> None:
    for cut in (history, history.whole):
        name = f"cut{next(_names)}"
        columns = f"id Int64, v Int64 DEFAULT 7, c Nullable(String), x String DEFAULT 'x', {_PLACES}"
        clickhouse.run(f"CREATE TABLE {name} ({columns}) ENGINE = MergeTree ORDER BY id")
        run = clickhouse_runs.opened(clickhouse.options() | {"table": name}).start()
        for batch in cut.texts:
            run.write_values(batch, None)
        found = [dict(zip(COLUMNS, row, strict=True)) for row in clickhouse.run(f"SELECT id, v, c, x FROM {name}")]
        assert _sorted(found) == _sorted([{**DEFAULTS, **row} for row in history])
