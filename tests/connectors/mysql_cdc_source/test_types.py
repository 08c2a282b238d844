"""A row is the same in the snapshot and in the log, for every type."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.context import TaskContext
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.binlog.test_types import KINDS, Kind
from tests.connectors.mysql_cdc_source.capturing import options, running
from tests.examples import some

pytestmark = pytest.mark.mariadb


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_row_of_the_snapshot_is_the_same_as_in_the_log(database: Database, kind: Kind) -> None:
    database.run(f"CREATE TABLE t (id INT PRIMARY KEY, value {kind.definition}, after VARCHAR(3))")

    @settings(max_examples=some(5, 2), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(kind.values | st.none(), min_size=1, max_size=40))
    def rows_are_the_same(values: list[Any]) -> None:
        database.run("DELETE FROM t")
        context = TaskContext(columns=True)
        with running(options(database, snapshot_mode="never", change_form="row"), context=context) as streamed:
            streamed.until(lambda run: "log" in run.positions)
            with database.connection.cursor() as cursor:
                cursor.executemany(f"INSERT INTO t VALUES (%s, {kind.place}, 'end')", list(enumerate(values)))
            streamed.until_records(len(values))
        with running(options(database, snapshot_mode="only", change_form="row"), context=context) as read:
            read.until_records(len(values))
        assert read.values == streamed.values
        assert [list(map(type, row.values())) for row in read.values] == [list(map(_kind, row.values())) for row in streamed.values]
        assert {batch.schema for batch in read.batches} == {batch.schema for batch in streamed.batches}

    rows_are_the_same()


def _kind(value: object) -> type:
    """The text of a date that no calendar has is a text."""
    return str if isinstance(value, str) else type(value)
