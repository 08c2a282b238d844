"""The log as changes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from connectors.mysql_cdc_source.binlog.errors import PositionPurged
from connectors.mysql_cdc_source.binlog.server import Connection, Login
from connectors.mysql_cdc_source.rows import beginning
from connectors.mysql_cdc_source.rows import current as current_rows
from connectors.mysql_cdc_source.rows.beginning import begin
from connectors.mysql_cdc_source.rows.snapshot import opened
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.task import LogTask
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.testing import at
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import Run, options, running, told
from tests.servers.mariadb import Mariadb

pytestmark = pytest.mark.mariadb


@pytest.fixture
def table(database: Database) -> Database:
    """With a table t."""
    database.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), size INT)")
    return database


@pytest.fixture
def own(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A database on a server of its own, with a table t."""
    with Mariadb(**getattr(request, "param", {})).running() as server:
        database = Database(server)
        database.__enter__()
        database.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), size INT)")
        yield database


def _begun(run: Run) -> Run:
    run.until(lambda run: "log" in run.positions)
    return run


def _from_now(database: Database, **more: str) -> dict[str, str]:
    return options(database, snapshot_mode="never", **more)


def test_the_task_says_how_much_of_the_log_is_not_read(table: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogTask, "look_seconds", 0.0)
    with running(_from_now(table)) as run:
        _begun(run)
    table.run(*(f"INSERT INTO t VALUES ({number}, 'a', 2)" for number in range(200)))
    with running(_from_now(table), run.positions, TaskContext(columns=True, batch_records=10)) as again:
        again.until_records(10)
        left = again.task.remaining()
        assert left is not None
        assert left > 5_000
        again.until(lambda run: run.task.remaining() == 0)
        assert sum(map(len, again.batches)) == 200


def test_changes_say_what_happened_where_and_in_which_transaction(table: Database) -> None:
    with running(_from_now(table)) as run:
        _begun(run)
        table.run("CREATE TABLE u (id INT)", "BEGIN", "INSERT INTO t VALUES (1, 'a', 2), (2, 'b', 3)", "INSERT INTO u VALUES (7)")
        table.run("UPDATE t SET size = 9 WHERE id = 2", "COMMIT", "DELETE FROM t WHERE id = 1")
        run.until_records(5)
    by_table: dict[str, list[Any]] = {}
    for batch in run.batches:
        by_table.setdefault(batch.partition, []).extend(batch.values)
    changes = by_table[f"table {table.name}.t"]
    assert told(changes) == [
        ("c", None, {"id": 1, "name": "a", "size": 2}),
        ("c", None, {"id": 2, "name": "b", "size": 3}),
        ("u", {"id": 2, "name": "b", "size": 3}, {"id": 2, "name": "b", "size": 9}),
        ("d", {"id": 1, "name": "a", "size": 2}, None),
    ]
    orders = [(value["transaction"]["total_order"], value["transaction"]["data_collection_order"]) for value in changes]
    assert orders == [(1, 1), (2, 2), (4, 3), (1, 1)]
    (other,) = by_table[f"table {table.name}.u"]
    assert (other["transaction"]["id"], other["transaction"]["total_order"]) == (changes[0]["transaction"]["id"], 3)
    source = changes[1]["source"]
    assert (source["connector"], source["db"], source["table"], source["snapshot"]) == ("mariadb", table.name, "t", "false")
    assert (source["row"], source["server_id"], source["gtid"]) == (1, 1, changes[1]["transaction"]["id"])
    assert source["ts_ms"] > 1_700_000_000_000
    assert changes[3]["transaction"]["id"] != changes[0]["transaction"]["id"]


def test_keys_topics_and_schemas_are_those_of_the_table(table: Database) -> None:
    with running(_from_now(table, table_topic="cdc.${database}.${table}")) as run:
        _begun(run)
        table.run("INSERT INTO t VALUES (1, 'a', 2)")
        run.until_records(1)
    (batch,) = run.batches
    assert list(batch.keys or ()) == [{"id": 1}]
    assert batch.topics == [f"cdc_{table.name}_t"]
    assert batch.schema is not None
    assert batch.schema.name == f"test.{table.name}.t.Envelope"


def test_a_changed_key_is_a_deletion_and_a_creation(table: Database) -> None:
    with running(_from_now(table)) as run:
        _begun(run)
        table.run("INSERT INTO t VALUES (1, 'a', 2)", "UPDATE t SET id = 5")
        run.until_records(3)
    row = {"id": 1, "name": "a", "size": 2}
    assert told(run.values) == [("c", None, row), ("d", row, None), ("c", None, {**row, "id": 5})]


def test_a_truncated_table_is_told(table: Database) -> None:
    with running(_from_now(table)) as run:
        _begun(run)
        table.run("TRUNCATE TABLE t", "INSERT INTO t VALUES (1, 'a', 2)", f"/* all of it */ TRUNCATE `{table.name}`.`t`")
        run.until_records(3)
    assert [value["op"] for value in run.values] == ["t", "c", "t"]
    assert [(value["before"], value["after"]) for value in run.values[::2]] == [(None, None)] * 2


def test_columns_that_come_and_go_are_those_of_their_rows(table: Database) -> None:
    with running(_from_now(table, change_form="row")) as run:
        _begun(run)
        table.run("INSERT INTO t VALUES (1, 'a', 2)", "ALTER TABLE t ADD COLUMN more DECIMAL(5,2) FIRST, DROP COLUMN size")
        table.run("INSERT INTO t VALUES (1.5, 2, 'b')", "ALTER TABLE t CHANGE name called VARCHAR(30)")
        table.run("INSERT INTO t VALUES (NULL, 3, 'c')", "DROP TABLE t")
        run.until_records(3)
    assert [json.loads(json.dumps(value, default=str)) for value in run.values] == [
        {"id": 1, "name": "a", "size": 2},
        {"more": "1.50", "id": 2, "name": "b"},
        {"more": None, "id": 3, "called": "c"},
    ]
    assert len({batch.schema for batch in run.batches}) == 3


def test_columns_that_changed_while_the_task_was_down_are_those_of_their_rows(table: Database) -> None:
    with running(_from_now(table, change_form="row")) as first:
        _begun(first)
    table.run("INSERT INTO t VALUES (1, 'a', 2)", "ALTER TABLE t DROP COLUMN name", "INSERT INTO t VALUES (2, 3)")
    table.run("ALTER TABLE t MODIFY size BIGINT UNSIGNED", f"INSERT INTO t VALUES (3, {2**64 - 1})", "RENAME TABLE t TO v")
    with running(_from_now(table, change_form="row"), first.positions) as second:
        second.until_records(3)
    assert second.values == [{"id": 1, "name": "a", "size": 2}, {"id": 2, "size": 3}, {"id": 3, "size": 2**64 - 1}]


def test_a_task_that_is_stopped_anywhere_goes_on_with_exactly_the_rest(table: Database) -> None:
    with running(_from_now(table, change_form="row")) as begin:
        _begun(begin)
    for number in range(40):
        table.run(f"INSERT INTO t SELECT seq, 'x', {number} FROM seq_{number * 10}_to_{number * 10 + 9}")
        table.run(f"DELETE FROM t WHERE id = {number}")
    small = TaskContext(columns=True, batch_records=1)
    runs: list[Run] = []
    positions: Mapping[str, Offset] = begin.positions
    while sum(len(run.values) for run in runs) < 440:
        with running(_from_now(table, change_form="row"), positions, small) as run:
            left = 440 - sum(len(run.values) for run in runs)
            run.until_records(min(left, 1 + 37 * (len(runs) % 2)))
        runs.append(run)
        positions = run.positions
    assert len(runs) > 5
    with running(_from_now(table, change_form="row"), begin.positions) as whole:
        whole.until_records(440)
    assert [value for run in runs for value in run.values] == whole.values
    assert [offset for run in runs for offset in run.offsets] == whole.offsets


def test_the_position_of_the_log_moves_when_nothing_is_captured(table: Database) -> None:
    with Database(table.server) as other:
        with running(_from_now(table)) as run:
            before = _begun(run).positions["log"]
            other.run("CREATE TABLE o (id INT)", "INSERT INTO o VALUES (1)")
            end = other.end()
            run.until(lambda run: run.positions["log"][2] >= end.offset)
        assert run.values == []
        assert run.positions["log"] > before


def test_the_position_of_the_log_moves_under_a_load_that_never_ends(table: Database) -> None:
    with running(_from_now(table), context=TaskContext(columns=True, batch_records=5)) as run:
        _begun(run)
        begin = run.positions["log"]
        for number in range(100, 2100):
            table.run(f"INSERT INTO t VALUES ({number}, 'a', 2)")
            if number % 5 == 0 and run.poll() is not None and run.positions["log"] > begin:
                break
        assert run.positions["log"] > begin


def test_the_position_of_the_log_does_not_move_over_what_is_not_stored(table: Database) -> None:
    with running(_from_now(table)) as run:
        before = _begun(run).positions["log"]
        stored = run.task.committed
        run.task.committed = lambda positions: None  # type: ignore[method-assign]
        table.run("INSERT INTO t VALUES (1, 'a', 2)")
        run.until_records(1)
        for _ in range(20):
            run.poll()
        assert run.positions["log"] == before
        stored(at(run.positions))
        run.until(lambda run: run.positions["log"] > before)


def test_columns_and_tables_are_left_out(table: Database) -> None:
    table.run("CREATE TABLE left_out (id INT)")
    given = options(table, table_exclude=r".*\.left_.*", column_exclude=r".*\.t\.name")
    table.run("INSERT INTO t VALUES (1, 'a', 2)")
    with running(given) as run:
        run.until_records(1)
        table.run("INSERT INTO left_out VALUES (1)", "INSERT INTO t VALUES (2, 'b', 3)")
        run.until_records(2)
    assert told(run.values) == [("r", None, {"id": 1, "size": 2}), ("c", None, {"id": 2, "size": 3})]


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_columns_that_the_log_leaves_out_are_named(table: Database, image: str) -> None:
    table.run("ALTER TABLE t ADD COLUMN text TEXT", "INSERT INTO t VALUES (1, 'a', 2, 'long')")
    table.run(f"SET SESSION binlog_row_image = {image}")
    with running(_from_now(table)) as run:
        _begun(run)
        table.run("UPDATE t SET size = 3")
        run.until_records(1)
    (value,) = run.values
    assert value["after"]["size"] == 3
    assert "text" in value["unchanged"]
    assert "size" not in value["unchanged"]
    assert value["after"]["text"] is None


KEYS = {
    "plain": "id INT",
    "two": "id INT, second VARCHAR(9)",
    "uuid": "id UUID",
    "time": "id TIMESTAMP(3)",
    "bytes": "id VARBINARY(9)",
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_row_that_gets_another_key_is_whole_though_the_log_leaves_out_what_did_not_change(database: Database, kind: str) -> None:
    old, new = {
        "plain": ("7", "8"),
        "two": ("7, 'O''x'", "7, 'é\\\\'"),
        "uuid": ("'3e11fa47-71ca-11e1-9e33-c80aa9429562'", "'4e11fa47-71ca-11e1-9e33-c80aa9429562'"),
        "time": ("'2024-01-01 00:00:00.5'", "'2024-07-01 00:00:00.25'"),
        "bytes": ("X'00FF27'", "X'00FF5C'"),
    }[kind]
    names = "id, second" if kind == "two" else "id"
    more = "name VARCHAR(20), price DECIMAL(9,2), at DATETIME(6), body BLOB, size INT"
    database.run(f"CREATE TABLE t ({KEYS[kind]}, {more}, PRIMARY KEY ({names}))")
    database.run(f"INSERT INTO t VALUES ({old}, 'ü', 1.25, '2024-02-29 01:02:03.000004', X'00FF', NULL)")
    with running(options(database)) as run:
        run.until_records(1)
        columns = ", ".join(f"{name} = {value}" for name, value in zip(names.split(", "), new.split(", "), strict=True))
        database.run("SET SESSION binlog_row_image = MINIMAL", f"UPDATE t SET {columns}, size = 3")
        run.until_records(3)
    read, deleted, created = run.values
    assert [value["op"] for value in (read, deleted, created)] == ["r", "d", "c"]
    kept = ("name", "price", "at", "body")
    assert [created["after"][name] for name in kept] == [read["after"][name] for name in kept]
    assert (created["after"]["size"], created["unchanged"]) == (3, None)
    with running(options(database)) as again:
        again.until_records(1)
    assert again.values[0]["after"] == created["after"]


def test_of_rows_that_got_other_keys_and_are_gone_the_columns_are_named_as_unchanged(table: Database) -> None:
    table.run("INSERT INTO t SELECT seq, CONCAT('row ', seq), seq FROM seq_1_to_600")
    with running(_from_now(table)) as run:
        _begun(run)
    table.run(
        "SET SESSION binlog_row_image = MINIMAL", "UPDATE t SET id = id + 1000 ORDER BY id", "DELETE FROM t WHERE id % 200 = 7"
    )
    with running(_from_now(table), run.positions) as again:
        again.until_records(1203)
    made = {value["after"]["id"]: value for value in again.values if value["op"] == "c"}
    assert list(made) == list(range(1001, 1601))
    gone = {1007, 1207, 1407}
    assert {key for key, value in made.items() if value["unchanged"]} == gone
    assert {key: value["after"]["name"] for key, value in made.items()} == {
        key: None if key in gone else f"row {key - 1000}" for key in range(1001, 1601)
    }
    assert made[1007]["unchanged"] == ["name", "size"]
    orders = [value["transaction"]["total_order"] for value in again.values if value["op"] == "c"]
    assert orders == list(range(1, 601))


def test_columns_of_a_row_that_gets_another_key_are_read_when_others_see_the_change(
    table: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the server sends a transaction to replicas before it shows it to others."""
    table.run("INSERT INTO t VALUES (1, 'a', 2)")
    with running(_from_now(table)) as run:
        _begun(run)
        early = [begin(table.login, run.task._server.place)]  # type: ignore[attr-defined]
        monkeypatch.setattr(current_rows, "begin", lambda *given: early.pop() if early else begin(*given))
        table.run("SET SESSION binlog_row_image = MINIMAL", "UPDATE t SET id = 9")
        run.until_records(2)
    assert not early
    assert (run.values[1]["after"], run.values[1]["unchanged"]) == ({"id": 9, "name": "a", "size": 2}, None)


def test_rows_that_get_other_keys_one_after_the_other_are_completed_over_one_connection_that_holds_no_lock(
    table: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def counted(login: Login) -> Connection:
        made.append(login)
        return opened(login)

    monkeypatch.setattr(beginning, "opened", counted)
    table.run("INSERT INTO t VALUES (1, 'a', 2)", "SET SESSION binlog_row_image = MINIMAL", "SET SESSION lock_wait_timeout = 5")
    with running(_from_now(table)) as run:
        _begun(run)
        for number in range(2, 7):
            table.run(f"UPDATE t SET id = {number}")
            run.until_records(2 * (number - 1))
            table.run(f"ALTER TABLE t ALTER COLUMN size SET DEFAULT {number}")
    created = [value["after"] for value in run.values if value["op"] == "c"]
    assert created == [{"id": number, "name": "a", "size": 2} for number in range(2, 7)]
    assert len(made) == 1


def test_a_row_that_gets_another_key_and_whose_table_is_gone_names_what_is_not_known(table: Database) -> None:
    table.run("INSERT INTO t VALUES (1, 'a', 2)")
    with running(_from_now(table)) as run:
        _begun(run)
    table.run("SET SESSION binlog_row_image = MINIMAL", "UPDATE t SET id = 9", "DROP TABLE t")
    with running(_from_now(table), run.positions) as again:
        again.until_records(2)
    assert [value["unchanged"] for value in again.values] == [None, ["name", "size"]]


def test_columns_that_are_made_of_others_or_hidden_are_there_in_both(table: Database) -> None:
    columns = "id INT PRIMARY KEY, twice INT AS (id * 2) VIRTUAL, kept INT AS (id * 3) STORED, hidden INT INVISIBLE"
    table.run(f"CREATE TABLE g ({columns})", "INSERT INTO g (id, hidden) VALUES (1, 5)")
    with running(options(table, table_include=r".*\.g")) as run:
        run.until_records(1)
        table.run("INSERT INTO g (id, hidden) VALUES (2, 6)")
        run.until_records(2)
    assert [tuple(value["after"].values()) for value in run.values] == [(1, 2, 3, 5), (2, 4, 6, 6)]
    assert len({batch.schema for batch in run.batches}) == 1


def test_a_large_transaction_comes_in_small_batches(table: Database) -> None:
    with running(_from_now(table), context=TaskContext(columns=True, batch_records=500)) as run:
        _begun(run)
        table.run("INSERT INTO t SELECT seq, 'x', seq FROM seq_1_to_100000")
        run.until_records(100_000)
    assert [value["after"]["id"] for value in run.values] == list(range(1, 100_001))
    # An event has 8 KiB of rows, and comes whole.
    assert max(map(len, run.batches)) < 3_000


def test_a_new_row_of_which_the_log_leaves_columns_out_is_refused(table: Database) -> None:
    table.run("SET SESSION binlog_row_image = MINIMAL")
    with running(_from_now(table)) as run:
        _begun(run)
        table.run("INSERT INTO t (id) VALUES (1)")
        with pytest.raises(PermanentError, match=r"name, size.*SET GLOBAL binlog_row_image = 'FULL'"):
            run.until_records(1)


@pytest.mark.parametrize("own", [{"binlog_row_metadata": "MINIMAL"}], indirect=True)
def test_a_log_without_names_of_columns_is_refused_with_what_to_set(own: Database) -> None:
    with running(_from_now(own)) as run:
        _begun(run)
        own.run("INSERT INTO t VALUES (1, 'a', 2)")
        with pytest.raises(PermanentError, match="SET GLOBAL binlog_row_metadata = 'FULL'"):
            run.until_records(1)


def test_a_server_that_was_killed_is_read_on_behind_the_last_change(own: Database) -> None:
    given = _from_now(own, change_form="row")
    with running(given) as run:
        _begun(run)
        own.run("INSERT INTO t VALUES (1, 'a', 2)")
        run.until_records(1)
        own.server.stop()
        for _ in range(2):
            # It is polled again and again.
            with pytest.raises(SystemAway):
                run.until_records(2)
        own.server.start()
        with own.server.connect(database=own.name) as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO t VALUES (2, 'b', 3)")
        run.until_records(2)
    assert [value["id"] for value in run.values] == [1, 2]


def test_a_log_that_was_purged_is_told_with_what_is_there(own: Database) -> None:
    with running(_from_now(own)) as first:
        _begun(first)
    # A server keeps a file as long as it believes that somebody reads it.
    own.server.stop()
    own.server.start()
    with own.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("FLUSH BINARY LOGS")
        cursor.execute("PURGE BINARY LOGS TO 'log.000003'")
    with running(_from_now(own), first.positions) as second, pytest.raises(PositionPurged, match=r"log\.000001.*log\.000003"):
        second.until_records(1)


def test_a_log_that_was_reset_is_not_taken_for_the_one_of_before(own: Database) -> None:
    with running(_from_now(own)) as first:
        _begun(first)
        own.run("INSERT INTO t VALUES (1, 'a', 2)")
        first.until_position("log", (0, 1, own.end().offset))
    own.server.stop()
    own.server.start()
    with own.server.connect(database=own.name) as connection, connection.cursor() as cursor:
        cursor.execute("RESET MASTER")
        cursor.execute("INSERT INTO t SELECT seq, 'x', 1 FROM seq_2_to_2000")
    with pytest.raises(PermanentError, match="another one than before"), running(_from_now(own), first.positions) as second:
        second.until_records(1)


def test_a_log_with_an_event_larger_than_packets_may_be_by_now_goes_on(own: Database) -> None:
    own.run("ALTER TABLE t ADD COLUMN text LONGTEXT", "SET GLOBAL max_allowed_packet = 67108864")
    with own.server.connect(database=own.name) as large, large.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (1, 'large', 1, REPEAT('x', 20000000))")
    own.run("SET GLOBAL max_allowed_packet = 16777216")
    with running(_from_now(own, change_form="row")) as first:
        _begun(first)
        own.run("INSERT INTO t VALUES (2, 'a', 2, NULL)")
        first.until_records(1)
        first.until_position("log", (0, 1, own.end().offset))
    own.run("INSERT INTO t VALUES (3, 'b', 3, NULL)")
    with running(_from_now(own, change_form="row"), first.positions) as second:
        second.until_records(1)
    assert [value["id"] for value in first.values + second.values] == [2, 3]


@pytest.mark.slow
def test_another_server_with_the_same_transactions_is_read_on_behind_them(own: Database) -> None:
    given = _from_now(own, change_form="row")
    with running(given) as first:
        _begun(first)
        own.run("INSERT INTO t VALUES (1, 'a', 2)")
        first.until_records(1)
        first.until_position("log", (0, 1, own.end().offset))
    with Mariadb(server_id="2", log_slave_updates="ON", slave_skip_errors="1032").running() as replica:
        with replica.connect() as connection, connection.cursor() as cursor:
            cursor.execute(
                f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={own.server.port}, MASTER_USER='root', "
                f"MASTER_PASSWORD='the-root-secret', MASTER_USE_GTID=slave_pos"
            )
            cursor.execute("SET GLOBAL gtid_slave_pos = ''")
            cursor.execute("START SLAVE")
            own.run("INSERT INTO t VALUES (2, 'b', 3)")
            cursor.execute("SELECT MASTER_GTID_WAIT(%s, 30)", [own.end().gtid_set])
            assert cursor.fetchone() == (0,)
            cursor.execute("STOP SLAVE")
            cursor.execute(f"INSERT INTO {own.name}.t VALUES (3, 'c', 4)")
        with running({**given, "port": str(replica.port)}, first.positions) as second:
            second.until_records(2)
            second.until(lambda run: run.positions["log"][0] == 1)
    assert [value["id"] for value in second.values] == [2, 3]
    assert {offset[0] for _, offset in second.offsets} == {1}


def test_it_has_caught_up_when_all_is_read_that_was_in_the_log_at_its_start(table: Database) -> None:
    with running(_from_now(table)) as run:
        _begun(run)
        assert run.task.caught_up
    table.run("INSERT INTO t VALUES (1, 'a', 2)", "INSERT INTO t VALUES (2, 'b', 3)")
    with running(_from_now(table), run.positions) as again:
        assert not again.task.caught_up
        again.until_records(2)
        again.until(lambda run: run.task.caught_up)
    with running(options(table)) as other:
        assert not other.task.caught_up
        other.until(lambda run: run.task.caught_up)
    assert sum(map(len, other.batches)) == 2
