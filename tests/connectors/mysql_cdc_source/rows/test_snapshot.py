"""The rows that are there before the log."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

import pytest

from connectors.mysql_cdc_source.binlog.server import rows_of
from connectors.mysql_cdc_source.rows.snapshot import transaction
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.testing import at
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import Run, options, running, told
from tests.servers.mariadb import Mariadb

pytestmark = pytest.mark.mariadb

_SMALL = TaskContext(columns=True, batch_records=7)


def _numbered(database: Database, rows: int, key: str = "INT") -> None:
    database.run(f"CREATE TABLE t (id {key} PRIMARY KEY, name VARCHAR(20))", "SET SESSION sql_mode = ''")
    database.run(f"INSERT INTO t SELECT seq, CONCAT('row ', seq) FROM seq_1_to_{rows}")


def _ids(runs: list[Run]) -> list[Any]:
    return [value["id"] for value in chain.from_iterable(run.values for run in runs)]


def _stopped_again_and_again(database: Database, given: Mapping[str, str], rows: int) -> list[Run]:
    """Each run is ended after two batches of rows."""
    runs: list[Run] = []
    positions: Mapping[str, Offset] = {}
    while sum(map(len, (run.values for run in runs))) < rows:
        with running(given, positions, _SMALL) as run:
            wanted = min(14, rows - sum(map(len, (run.values for run in runs))))
            run.until_records(wanted)
        runs.append(run)
        positions = run.positions
    return runs


@pytest.mark.parametrize("key", ["TINYINT UNSIGNED", "INT", "BIGINT", "BIGINT UNSIGNED", "YEAR"])
def test_a_snapshot_that_is_stopped_goes_on_behind_the_last_key(database: Database, key: str) -> None:
    database.run(f"CREATE TABLE t (id {key} PRIMARY KEY)", "SET SESSION sql_mode = ''")
    database.run(
        "INSERT INTO t SELECT seq FROM seq_1950_to_2049" if key == "YEAR" else "INSERT INTO t SELECT seq FROM seq_1_to_100"
    )
    runs = _stopped_again_and_again(database, options(database, change_form="row"), 100)
    assert len(runs) > 3
    assert _ids(runs) == [row[0] for row in database.select("SELECT id FROM t ORDER BY id")]


@pytest.mark.parametrize(
    ("definition", "value"),
    [
        ("id VARCHAR(20)", "CONCAT('é''\\\\', seq)"),
        ("id VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci", "CONCAT('ü', seq)"),
        ("id VARBINARY(20)", "CONCAT(X'00FF27', seq)"),
        ("id DECIMAL(30,2)", "12345678901234567890.25 + seq"),
        ("id DATE", "DATE '2024-01-01' + INTERVAL seq DAY"),
        ("id DATETIME(6)", "TIMESTAMP'2024-01-01 00:00:00.000001' + INTERVAL seq HOUR"),
        ("id UUID", "UUID()"),
        ("id INT, second VARCHAR(9)", "seq DIV 10, CONCAT('x', seq)"),
    ],
)
def test_a_snapshot_by_other_keys_goes_on_behind_the_last_stored_batch(database: Database, definition: str, value: str) -> None:
    key = "id, second" if "second" in definition else "id"
    database.run(f"CREATE TABLE t ({definition}, PRIMARY KEY ({key}))", f"INSERT INTO t SELECT {value} FROM seq_1_to_100")
    runs = _stopped_again_and_again(database, options(database, change_form="row"), 100)
    assert len(runs) > 3
    keys = [tuple(row.values()) for run in runs for row in run.values]
    assert len(keys) == len(set(keys)) == 100
    offsets = [offset for run in runs for _, offset in run.offsets]
    assert offsets == sorted(set(offsets))


def test_rows_behind_keys_that_are_too_long_for_a_position_come_again(database: Database) -> None:
    database.run("CREATE TABLE t (id VARCHAR(700) PRIMARY KEY)")
    database.run("INSERT INTO t SELECT CONCAT(LPAD(seq, 4, '0'), REPEAT('x', IF(seq % 5 = 1, 5, 600))) FROM seq_1_to_50")
    positions: Mapping[str, Offset] = {}
    runs: list[Run] = []
    while len(set(_ids(runs))) < 50:
        assert len(runs) < 10
        with running(options(database, change_form="row"), positions, _SMALL) as run:
            run.until_records(min(14, 50 - len(set(_ids(runs)))))
        runs.append(run)
        positions = run.positions
        assert all(len(str(list(offset)).replace(" ", "")) <= 1_024 for offset in positions.values())
    found = _ids(runs)
    assert set(found) == {row[0] for row in database.select("SELECT id FROM t")}
    assert len(found) < 100


def test_a_table_without_a_key_is_read_from_its_beginning_again(database: Database) -> None:
    database.run("CREATE TABLE t (id INT)", "INSERT INTO t SELECT seq FROM seq_1_to_50")
    with running(options(database, change_form="row"), context=_SMALL) as first:
        first.until_records(20)
    with running(options(database, change_form="row"), first.positions, _SMALL) as second:
        second.until_records(50)
    assert _ids([second]) == list(range(1, 51))
    assert second.batches[0].keys is None
    assert second.offsets[0] > first.offsets[-1]


def test_a_table_that_is_done_is_not_read_again_when_the_next_one_is_not(database: Database) -> None:
    _numbered(database, 20)
    database.run("CREATE TABLE u (id INT)", "INSERT INTO u SELECT seq FROM seq_101_to_120")
    with running(options(database, change_form="row"), context=_SMALL) as first:
        first.until_records(27)
    with running(options(database, change_form="row"), first.positions, _SMALL) as second:
        second.until_records(20)
        second.until(lambda run: run.positions["log"][3] == 1)
    assert _ids([second]) == list(range(101, 121))


@pytest.mark.parametrize("change", ["ADD COLUMN more INT DEFAULT 5, ALGORITHM=COPY", "DROP COLUMN name", "RENAME TO v", None])
def test_a_table_that_is_altered_while_another_one_is_read_is_read_as_it_is_now(database: Database, change: str | None) -> None:
    _numbered(database, 50)
    database.run("CREATE TABLE u (id INT PRIMARY KEY, name VARCHAR(9))", "INSERT INTO u VALUES (101, 'a'), (102, 'b')")
    with running(options(database, change_form="row"), context=_SMALL) as run:
        run.until_records(7)
        database.run(f"ALTER TABLE u {change}" if change else "DROP TABLE u")
        database.run("INSERT INTO t VALUES (51, 'new')")
        run.until(lambda run: run.values[-1]["id"] == 51)
    rows = [value for value in run.values if value["id"] > 100]
    assert (
        rows
        == {
            "ADD COLUMN more INT DEFAULT 5, ALGORITHM=COPY": [
                {"id": 101, "name": "a", "more": 5},
                {"id": 102, "name": "b", "more": 5},
            ],
            "DROP COLUMN name": [{"id": 101}, {"id": 102}],
            "RENAME TO v": [{"id": 101, "name": "a"}, {"id": 102, "name": "b"}],
            None: [],
        }[change]
    )
    assert [value["id"] for value in run.values if value["id"] < 100] == list(range(1, 52))


def test_rows_are_not_read_again_when_all_tables_are_done(database: Database) -> None:
    _numbered(database, 20)
    with running(options(database)) as first:
        first.until(lambda run: run.positions.get("log", (0, 0, 0, 0))[3] == 1)
    with running(options(database), first.positions) as second:
        database.run("INSERT INTO t VALUES (21, 'new')")
        second.until_records(1)
    assert told(second.values) == [("c", None, {"id": 21, "name": "new"})]


def test_what_changes_while_rows_are_read_comes_behind_them(database: Database) -> None:
    _numbered(database, 50)
    with running(options(database), context=_SMALL) as run:
        run.until_records(7)
        database.run(
            "UPDATE t SET name = 'changed' WHERE id = 50", "DELETE FROM t WHERE id = 1", "INSERT INTO t VALUES (51, 'new')"
        )
        run.until_records(53)
    reads, changes = run.values[:50], run.values[50:]
    assert [value["after"] for value in reads] == [{"id": number, "name": f"row {number}"} for number in range(1, 51)]
    assert {(value["op"], value["source"]["snapshot"]) for value in reads} == {("r", "true")}
    assert told(changes) == [
        ("u", {"id": 50, "name": "row 50"}, {"id": 50, "name": "changed"}),
        ("d", {"id": 1, "name": "row 1"}, None),
        ("c", None, {"id": 51, "name": "new"}),
    ]


def test_the_log_is_not_done_before_all_rows_are_stored(database: Database) -> None:
    _numbered(database, 20)
    with running(options(database)) as run:
        stored = run.task.committed
        run.task.committed = lambda positions: None  # type: ignore[method-assign]
        database.run("INSERT INTO t VALUES (21, 'new')")
        run.until_records(21)
        for _ in range(20):
            run.poll()
        assert run.positions["log"][3] == 0
        stored(at(run.positions))
        run.until(lambda run: run.positions["log"][3] == 1)


def test_a_zero_date_is_no_date_and_no_null(database: Database) -> None:
    database.run("CREATE TABLE t (id INT PRIMARY KEY, day DATE NOT NULL)", "SET SESSION sql_mode = ''")
    database.run("INSERT INTO t VALUES (1, '0000-00-00')")
    with running(options(database)) as run:
        run.until_records(1)
        database.run("INSERT INTO t VALUES (2, '2024-00-00')")
        run.until_records(2)
    assert [(value["op"], value["after"]["day"], value["source"]["snapshot"]) for value in run.values] == [
        ("r", "0000-00-00", "true"),
        ("c", "2024-00-00", "false"),
    ]


def test_batches_have_no_more_records_and_bytes_than_they_may(database: Database) -> None:
    _numbered(database, 5_000)
    with running(options(database), context=TaskContext(columns=True, batch_records=300)) as run:
        run.until_records(5_000)
    assert max(map(len, run.batches)) == 300
    assert _ids_of_reads(run) == list(range(1, 5_001))


def test_rows_of_more_than_16_mib_are_read(database: Database) -> None:
    database.run("SET GLOBAL max_allowed_packet = 67108864")
    with Database(database.server) as large:
        large.run("CREATE TABLE t (id INT PRIMARY KEY, text LONGTEXT, more VARCHAR(300))")
        large.run("INSERT INTO t VALUES (1, REPEAT('x', 20000000), REPEAT('é', 200)), (2, REPEAT('y', 300), 'z')")
        with running(options(large, change_form="row")) as run:
            run.until_records(2)
    assert [(row["id"], len(row["text"]), row["text"][-1], len(row["more"])) for row in run.values] == [
        (1, 20_000_000, "x", 200),
        (2, 300, "y", 1),
    ]


def test_only_the_rows_that_are_there_are_read(database: Database) -> None:
    _numbered(database, 10)
    with running(options(database, snapshot_mode="only")) as run:
        run.until(lambda run: run.task.finished)
    assert len(run.values) == 10
    assert run.positions["log"][3] == 1


def test_only_the_rows_that_are_there_are_read_where_there_is_no_log() -> None:
    with Mariadb(log_bin=None).running() as server, Database(server) as database:
        _numbered(database, 10)
        with running(options(database, snapshot_mode="only")) as run:
            run.until(lambda run: run.task.finished)
    assert _ids_of_reads(run) == list(range(1, 11))


def test_a_filter_that_takes_nothing_fails_the_task(database: Database) -> None:
    with pytest.raises(PermanentError, match=r"database\.include"), running(options(database)):
        pass


def _ids_of_reads(run: Run) -> list[int]:
    return [value["after"]["id"] for value in run.values]


def test_the_place_of_the_transaction_is_where_the_log_was_then(database: Database) -> None:
    _numbered(database, 3)
    end = database.end()
    connection, place = transaction(database.login)
    try:
        database.run("INSERT INTO t VALUES (4, 'later')")
        assert place == end
        assert rows_of(connection, f"SELECT COUNT(*) FROM {database.name}.t") == [(3,)]
    finally:
        connection.close()
