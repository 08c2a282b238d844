"""How much a source has still to read: of its first snapshot in rows, of the log in bytes."""

from rocketconnect_sdk.context import TaskContext
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import options, running

_ROWS = 1_000


def test_of_a_snapshot_it_is_about_the_rows_that_the_server_has_counted(database: Database) -> None:
    database.run("CREATE TABLE things (id INT PRIMARY KEY)")
    database.run(f"INSERT INTO things SELECT seq FROM seq_1_to_{_ROWS}")
    database.run("ANALYZE TABLE things")
    with running(options(database), context=TaskContext(columns=True, batch_records=100)) as run:
        run.until_records(100)
        left = run.task.remaining()
        assert left is not None
        assert 0 < left < 2 * _ROWS, "its statistics are an estimate"
        assert run.task.remaining_unit == "rows"
        run.until_records(_ROWS)
        run.until(lambda run: run.task.remaining_unit == "bytes")
