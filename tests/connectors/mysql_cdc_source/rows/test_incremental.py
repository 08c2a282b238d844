"""Tables that are read in chunks, by a signal, while the log is read."""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest

from connectors.mysql_cdc_source.binlog.gtid import MariadbGtid
from connectors.mysql_cdc_source.binlog.server import Login, Position, end_of_log
from connectors.mysql_cdc_source.rows import incremental
from connectors.mysql_cdc_source.rows.beginning import Begun, begin
from connectors.mysql_cdc_source.rows.snapshot import transaction
from connectors.mysql_cdc_source.rows.window import Seen
from connectors.mysql_cdc_source.watermark import BinlogCoordinate
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import Run, options, running, told

pytestmark = pytest.mark.mariadb

ROWS = 60
SLOWLY = "SLEEP(0.02) = 0"
"""A condition with which the log is read while rows are."""


@pytest.fixture
def table(database: Database) -> Database:
    """With a table t of 60 rows."""
    database.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))")
    database.run(f"INSERT INTO t SELECT seq, CONCAT('row ', seq) FROM seq_1_to_{ROWS}")
    return database


def _given(database: Database, **more: str) -> dict[str, str]:
    given = {"snapshot_mode": "never", "incremental_snapshot_chunk_size": "7", **more}
    return {**options(database), **{name.replace("_", "."): value for name, value in given.items()}}


def _begun(run: Run) -> Run:
    run.until(lambda run: "log" in run.positions)
    return run


def _ask(run: Run, *tables: str, condition: str = "") -> str:
    return run.task.signal("execute-snapshot", {"tables": ",".join(tables), "condition": condition})


def _partition(database: Database, table: str = "t") -> str:
    return f"incremental {database.name}.{table}"


def _is_done(database: Database, table: str = "t", run: int = 1) -> Callable[[Run], bool]:
    return lambda running: running.positions.get(_partition(database, table), ()) >= (run, 2)


def _reads(run: Run) -> list[Any]:
    return [value["after"]["id"] for value in run.values if value["op"] == "r"]


def test_a_table_is_read_in_chunks_while_the_log_is_read(table: Database) -> None:
    with running(_given(table)) as run:
        _ask(_begun(run), f"{table.name}.t")
        run.until_records(7)
        table.run(f"UPDATE t SET name = 'changed' WHERE id = {ROWS}", "DELETE FROM t WHERE id = 1")
        run.until(_is_done(table))
        run.until_records(ROWS + 2)
    assert _reads(run) == list(range(1, ROWS + 1))
    assert {value["source"]["snapshot"] for value in run.values if value["op"] == "r"} == {"incremental"}
    assert max(len(batch) for batch in run.batches) == 7
    assert ("d", {"id": 1, "name": "row 1"}, None) in told(run.values)
    assert run.values[-1]["after"] == {"id": ROWS, "name": "changed"}


def test_only_rows_that_fulfil_the_condition_are_read_also_after_a_restart(table: Database) -> None:
    given = _given(table)
    with running(given) as first:
        _ask(_begun(first), f"{table.name}.t", condition="id % 2 = 0 OR name = 'row 3'")
        first.until_records(7)
    with running(given, first.positions) as second:
        second.until(_is_done(table))
    assert _reads(first) + _reads(second) == [number for number in range(1, ROWS + 1) if number % 2 == 0 or number == 3]


def test_rows_that_are_asked_for_by_their_keys_come_as_they_are_or_as_deleted(table: Database) -> None:
    table.run("DELETE FROM t WHERE id = 2")
    keys = json.dumps([[number] for number in (1, 2, 5, 7, 9, 11, 13, 15, 17, 19, 61)])
    with running(_given(table, tombstones="true")) as run:
        _begun(run).task.signal("execute-snapshot", {"tables": f"{table.name}.t", "keys": keys})
        run.until(_is_done(table))
    found = [value and (value["op"], (value["after"] or value["before"])["id"]) for value in run.values]
    assert found == [*(("r", number) for number in (1, 5, 7, 9, 11, 13, 15, 17, 19)), ("d", 2), None, ("d", 61), None]
    assert run.offsets == sorted(set(run.offsets))


def test_keys_of_texts_and_of_several_columns_are_found(table: Database) -> None:
    table.run("CREATE TABLE u (name VARCHAR(9), part INT, PRIMARY KEY (name, part))", "INSERT INTO u VALUES ('it''s', 1), ('ä', 2)")
    keys = json.dumps([["it's", 1], ["ä", 2], ["ä", 3]])
    with running(_given(table)) as run:
        _begun(run).task.signal("execute-snapshot", {"tables": f"{table.name}.u", "keys": keys})
        run.until(_is_done(table, "u"))
        with pytest.raises(ValueError, match=r"the key of .*u is name, part"):
            run.task.signal("execute-snapshot", {"tables": f"{table.name}.u", "keys": "[[1]]"})
    assert [(value["op"], (value["after"] or value["before"])["part"]) for value in run.values] == [("r", 2), ("r", 1), ("d", 3)]


def test_a_restart_goes_on_behind_the_last_chunk(table: Database) -> None:
    found: list[int] = []
    given = _given(table)
    with running(given) as run:
        _ask(_begun(run), f"{table.name}.t")
        run.until(lambda run: _partition(table) in run.positions)
    positions = run.positions
    while len(found) < ROWS:
        with running(given, positions) as run:
            run.until_records(min(14, ROWS - len(found)))
        found += _reads(run)
        positions = run.positions
    assert found == list(range(1, ROWS + 1))


@pytest.mark.parametrize(
    ("definition", "value"),
    [
        ("id BIGINT UNSIGNED", "18446744073709551000 + seq"),
        ("id VARCHAR(20)", "CONCAT('é''\\\\', seq)"),
        ("id CHAR(20) COLLATE utf8mb4_bin", "CONCAT('é''\\\\', seq)"),
        ("id VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci", "CONCAT('ü', seq)"),
        ("id VARCHAR(700)", "CONCAT(LPAD(seq, 4, '0'), REPEAT('x', 600))"),
        ("id VARBINARY(20)", "CONCAT(X'00FF27', seq)"),
        ("id BINARY(6)", "CONCAT(X'00FF', seq)"),
        ("id DECIMAL(30,2)", "12345678901234567890.25 + seq"),
        ("id DATE", "DATE '2024-01-01' + INTERVAL seq DAY"),
        ("id DATETIME(6)", "TIMESTAMP'2024-01-01 00:00:00.000001' + INTERVAL seq HOUR"),
        ("id TIMESTAMP(3)", "TIMESTAMP'2024-01-01 00:00:00.5' + INTERVAL seq HOUR"),
        ("id TIME(2)", "SEC_TO_TIME(seq)"),
        ("id UUID", "UUID()"),
        ("id INET4", "INET_NTOA(16777216 + seq)"),
        ("id INT, second VARCHAR(9)", "seq DIV 10, CONCAT('x', seq)"),
    ],
)
def test_keys_of_any_type_are_read_behind_and_told_from_those_that_changed(database: Database, definition: str, value: str) -> None:
    key = "id, second" if "second" in definition else "id"
    database.run(f"CREATE TABLE t ({definition}, PRIMARY KEY ({key}), size INT DEFAULT 0)")
    database.run(f"INSERT INTO t ({key}) SELECT {value} FROM seq_1_to_40")
    given = _given(database)
    with running(given) as first:
        _ask(_begun(first), f"{database.name}.t")
        first.until_records(7)
    with running(given, first.positions) as second:
        second.until(_is_done(database))
        # The log has changes of rows that are still being read, so that these are older.
        _ask(second, f"{database.name}.t", condition=SLOWLY)
        second.until(lambda run: _window(run) is not None)
        database.run("UPDATE t SET size = 1")
        second.until(lambda run: sum(value["op"] == "u" for value in run.values) == 40)
        second.until(_is_done(database, run=2))
    rows = database.select("SELECT COUNT(*), COUNT(DISTINCT id) FROM t")[0]
    assert rows[0] == 40
    last: dict[Any, Any] = {}
    for each in [*first.values, *second.values]:
        last[tuple(map(str, list(each["after"].values())[:-1]))] = each["after"]["size"]
    assert len(last) == 40
    assert set(last.values()) == {1}


def _window(run: Run) -> Any:
    log = run.task.log  # type: ignore[attr-defined]
    return None if log is None else log.window


def test_a_snapshot_that_is_paused_reads_nothing_until_it_is_resumed_also_after_a_restart(table: Database) -> None:
    given = _given(table)
    with running(given) as first:
        _ask(_begun(first), f"{table.name}.t")
        first.until_records(7)
        assert "paused" in first.task.signal("pause-snapshot", {})
        first.until(lambda run: run.positions.get("incremental") == (1, 1))
        table.run("INSERT INTO t VALUES (1000, 'new')")
        first.until(lambda run: "c" in {value["op"] for value in run.values})
    read = len(_reads(first))
    with running(given, first.positions) as second:
        table.run("INSERT INTO t VALUES (1001, 'new')")
        second.until_records(1)
        for _ in range(5):
            second.poll()
        assert _reads(second) == []
        second.task.signal("resume-snapshot", {})
        second.until(_is_done(table))
    assert _reads(first) + _reads(second) == [*range(1, ROWS + 1), 1000, 1001]
    assert read < ROWS


def test_a_snapshot_that_is_stopped_can_be_asked_for_again(table: Database) -> None:
    with running(_given(table)) as run:
        _ask(_begun(run), f"{table.name}.t")
        run.until_records(7)
        run.task.signal("stop-snapshot", {"tables": f"{table.name}.t"})
        run.until(_is_done(table))
        for _ in range(5):
            run.poll()
        stopped = len(run.values)
        assert stopped < ROWS
        _ask(run, f"{table.name}.t")
        run.until(_is_done(table, run=2))
    assert _reads(run)[stopped:] == list(range(1, ROWS + 1))


def test_what_cannot_be_read_in_chunks_is_refused_with_what_to_do(table: Database) -> None:
    table.run("CREATE TABLE k (id INT)", "CREATE TABLE f (id FLOAT PRIMARY KEY)")
    name = table.name
    with running(_given(table)) as run:
        _begun(run)
        for wanted, said in (("k", "no primary key.*give it one"), ("f", "FLOAT"), ("none", "database.table")):
            with pytest.raises(ValueError, match=said):
                _ask(run, f"{name}.t", f"{name}.{wanted}")
        for condition in ("nothing = 1", "id = 1) OR (id = 2", "id = 1 -- ", "id = 1 /*"):
            with pytest.raises(PermanentError, match=r"error 10[56]\d"):
                _ask(run, f"{name}.t", condition=condition)
        with pytest.raises(ValueError, match="256"):
            _ask(run, f"{name}.t", condition=f"name = '{'x' * 300}'")
        with pytest.raises(ValueError, match=r"no snapshot is asked for of shop\.t"):
            run.task.signal("stop-snapshot", {"tables": "shop.t"})
        _ask(run, f"{name}.t")
        with pytest.raises(ValueError, match="already"):
            _ask(run, f"{name}.t")


def test_rows_come_behind_the_changes_that_they_show(table: Database) -> None:
    with running(_given(table)) as first:
        _begun(first)
    table.run(*(f"UPDATE t SET name = 'changed' WHERE id = {key}" for key in range(1, ROWS + 1)))
    with running(_given(table), first.positions, TaskContext(columns=True, batch_records=7)) as second:
        _ask(second, f"{table.name}.t")
        second.until(_is_done(table))
    assert [value["op"] for value in second.values] == ["u"] * ROWS + ["r"] * ROWS


def test_a_transaction_that_does_not_show_what_the_log_has_said_already_is_begun_anew(
    table: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the server sends a transaction to replicas before it shows it to others."""
    with running(_given(table)) as run:
        _begun(run)
        begun = [begin(table.login, run.task._server.place)]  # type: ignore[attr-defined]
        table.run("UPDATE t SET name = 'changed'")
        run.until_records(ROWS)
        monkeypatch.setattr(incremental, "begin", lambda *given: begun.pop() if begun else begin(*given))
        _ask(run, f"{table.name}.t")
        run.until(_is_done(table))
    assert not begun
    assert {value["after"]["name"] for value in run.values if value["op"] == "r"} == {"changed"}


def test_a_table_that_is_emptied_while_a_chunk_is_read_has_no_rows(table: Database) -> None:
    with running(_given(table)) as run:
        _ask(_begun(run), f"{table.name}.t", condition=SLOWLY)
        run.until(lambda run: _window(run) is not None)
        # A DELETE does not wait for the transaction of the chunk, as TRUNCATE does.
        table.run("DELETE FROM t", "INSERT INTO t VALUES (1, 'new')")
        run.until(_is_done(table))
        run.until_records(ROWS + 1)
    target: dict[int, Any] = {}
    _applied(target, run)
    assert target == {1: {"id": 1, "name": "new"}}


def test_a_key_that_changes_while_its_chunk_is_read_is_gone_under_its_old_name(table: Database) -> None:
    with running(_given(table)) as run:
        _ask(_begun(run), f"{table.name}.t", condition=SLOWLY)
        run.until(lambda run: _window(run) is not None)
        table.run("UPDATE t SET id = 1000 WHERE id = 3", "UPDATE t SET id = 2000 WHERE id = 50")
        run.until(_is_done(table))
    target: dict[int, Any] = {}
    _applied(target, run)
    assert sorted(target) == sorted({*range(1, ROWS + 1), 1000, 2000} - {3, 50})


def test_a_task_has_not_caught_up_before_all_chunks_are_read(table: Database) -> None:
    with running(_given(table)) as run:
        _ask(_begun(run), f"{table.name}.t", condition=SLOWLY)
        while not _is_done(table)(run):
            assert run.poll() is not None or not run.task.caught_up
        run.until(lambda run: run.task.caught_up)


def test_rows_per_second_are_as_many_as_are_allowed(table: Database) -> None:
    with running(_given(table, incremental_snapshot_max_rate_rows="40")) as run:
        _ask(_begun(run), f"{table.name}.t")
        begin = time.monotonic()
        run.until(_is_done(table))
    assert time.monotonic() - begin >= (ROWS - 7) / 40


def test_a_log_that_was_rotated_and_is_idle_holds_no_chunk_up(table: Database) -> None:
    with running(_given(table)) as run:
        _begun(run)
        table.run("FLUSH BINARY LOGS")
        _ask(run, f"{table.name}.t")
        run.until(_is_done(table))
    assert _reads(run) == list(range(1, ROWS + 1))


def test_a_table_that_is_altered_in_the_middle_is_read_on_with_its_new_columns(table: Database) -> None:
    with running(_given(table)) as run:
        _ask(_begun(run), f"{table.name}.t")
        run.until_records(7)
        table.run("ALTER TABLE t ADD COLUMN size INT DEFAULT 3")
        run.until(_is_done(table))
    assert _reads(run) == list(range(1, ROWS + 1))
    assert run.values[-1]["after"] == {"id": ROWS, "name": f"row {ROWS}", "size": 3}


def test_a_table_that_gets_another_key_in_the_middle_is_read_from_its_beginning(table: Database) -> None:
    with running(_given(table)) as run:
        _ask(_begun(run), f"{table.name}.t")
        run.until_records(7)
        table.run("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (name)")
        run.until(_is_done(table, run=2))
    assert sorted(_reads(run)[-ROWS:]) == list(range(1, ROWS + 1))


def test_a_table_that_is_dropped_in_the_middle_ends_its_snapshot(table: Database) -> None:
    with running(_given(table)) as run:
        _ask(_begun(run), f"{table.name}.t")
        run.until_records(7)
        table.run("DROP TABLE t")
        run.until(_is_done(table))


def test_all_tables_are_read_in_chunks_instead_of_a_long_transaction(table: Database) -> None:
    table.run("CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u SELECT seq FROM seq_101_to_110")
    given = _given(table, snapshot_mode="incremental")
    with running(given) as first:
        first.until_records(7)
    with running(given, first.positions) as second:
        second.until(_is_done(table, "u"))
    assert sorted(_reads(first) + _reads(second)) == [*range(1, ROWS + 1), *range(101, 111)]


def test_chunks_of_all_tables_need_keys(table: Database) -> None:
    table.run("CREATE TABLE k (id INT)")
    with pytest.raises(PermanentError, match="no primary key"), running(_given(table, snapshot_mode="incremental")):
        pass


class _ShownByGtids:
    """What a transaction surely shows by the GTIDs that were done before it, as MySQL has it; here they are MariaDB's."""

    def __init__(self, done: str) -> None:
        self._done = {gtid.domain: gtid.sequence for gtid in map(_gtid, filter(None, done.split(",")))}

    def __call__(self, seen: Seen) -> bool:
        return isinstance(seen.gtid, MariadbGtid) and seen.gtid.sequence <= self._done.get(seen.gtid.domain, 0)

    def missing(self, last: Seen | None, gtid_set: str) -> str:
        del gtid_set
        return "" if last is None or self(last) else str(last.gtid)


def _gtid(text: str) -> MariadbGtid:
    return MariadbGtid(*map(int, text.split("-")))


def _begin_by_gtids(login: Login, place: Callable[[Position], BinlogCoordinate]) -> Begun:
    """What others see is asked for, then the transaction begins, then the end of the log is: with moments in between."""
    before, position = transaction(login)
    before.close()
    assert position is not None
    time.sleep(0.01)
    begun = begin(login, place)
    time.sleep(0.01)
    return Begun(begun.connection, _ShownByGtids(position.gtid_set), end_of_log(begun.connection))


class Writers:
    """Sessions that change the table t at random, until the end of the block."""

    def __init__(self, database: Database, seed: int, *, truncates: bool, image: str) -> None:
        self._database = database
        self._chances = [random.Random(seed + number) for number in range(3)]
        self._truncates = truncates
        self._image = image
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(chance,)) for chance in self._chances]

    def __enter__(self) -> "Writers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _write(self, chance: random.Random) -> None:
        import pymysql

        with self._database.server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"USE {self._database.name}")
            cursor.execute(f"SET autocommit = 1, binlog_row_image = {self._image}")
            while not self._stopping.is_set():
                key, other = chance.randrange(1, 1_200), chance.randrange(1, 1_200)
                statements = [
                    f"UPDATE t SET name = '{chance.randrange(10**6)}' WHERE id = {key}",
                    f"DELETE FROM t WHERE id = {key}",
                    f"INSERT IGNORE INTO t VALUES ({key}, 'again {chance.randrange(10**6)}')",
                    f"UPDATE IGNORE t SET id = {other} WHERE id = {key}",
                    f"UPDATE t SET name = 'many {chance.randrange(10**6)}' WHERE id BETWEEN {key} AND {key + 30}",
                ]
                if self._truncates and chance.random() < 0.002:
                    statements = ["TRUNCATE t"]
                wanted = chance.choices(statements, k=chance.choice((1, 1, 4)))
                try:
                    cursor.execute("BEGIN")
                    for statement in wanted:
                        cursor.execute(statement)
                    cursor.execute("ROLLBACK" if chance.random() < 0.1 else "COMMIT")
                except pymysql.MySQLError:
                    cursor.execute("ROLLBACK")  # a deadlock
                # The log of more than that is not read before the task is ended again.
                self._stopping.wait(0.01)


def test_who_alters_a_table_waits_for_no_chunk_whose_task_waits_for_him(table: Database) -> None:
    given = _given(table, incremental_snapshot_chunk_size="60")
    with running(given) as run, closing(table.server.connect()) as other:
        _ask(_begun(run), f"{table.name}.t", condition=SLOWLY)
        run.until(lambda run: run.task.chunks is not None and run.task.chunks.is_open)  # type: ignore[attr-defined]
        table.run("SET SESSION binlog_row_image = MINIMAL", "UPDATE t SET id = 1000 WHERE id = 1")
        altering = threading.Thread(target=lambda: other.cursor().execute(f"ALTER TABLE {table.name}.t COMMENT 'altered'"))
        altering.start()
        while not table.select("SELECT 1 FROM information_schema.processlist WHERE state LIKE 'Waiting for table metadata lock'"):
            time.sleep(0.05)
        run.until(lambda run: any(value["op"] == "c" for value in run.values))
        altering.join()
    (made,) = [value for value in run.values if value["op"] == "c"]
    assert (made["after"], made["unchanged"]) == ({"id": 1000, "name": "row 1"}, None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["places", "gtids", "minimal images"])
def test_the_target_becomes_the_table_while_it_changes_and_the_task_is_started_again(
    database: Database, seed: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that is stored lost now and then back to some earlier moment, as by a kill."""
    if kind == "gtids":
        monkeypatch.setattr(incremental, "begin", _begin_by_gtids)
    database.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(30))")
    database.run("INSERT INTO t SELECT seq, CONCAT('row ', seq) FROM seq_1_to_1000")
    chance = random.Random(seed)
    target: dict[int, Any] = {}
    given = _given(database, incremental_snapshot_chunk_size=str(chance.choice((5, 20, 70))))
    positions: Mapping[str, Offset] = {}
    image = "MINIMAL" if kind == "minimal images" else "FULL"
    with Writers(database, seed, truncates=seed % 2 == 1, image=image):
        with running(given) as run:
            _ask(_begun(run), f"{database.name}.t", condition="SLEEP(0.0005) = 0" if seed < 2 else "")
            run.until(lambda run: _partition(database) in run.positions)
        positions = run.positions
        _applied(target, run)
        while not _ended(positions, database):
            with running(given, positions, TaskContext(columns=True, batch_records=50)) as run:
                until = time.monotonic() + chance.uniform(0.2, 2)
                run.until(lambda run, until=until: time.monotonic() > until)  # type: ignore[misc]
            positions = run.positions
            _applied(target, run)
    database.run("INSERT INTO t VALUES (100000, 'last')")
    with running(given, positions) as run:
        run.until(lambda run: any((value["after"] or {}).get("id") == 100000 for value in run.values))
    _applied(target, run)
    assert target == {key: {"id": key, "name": name} for key, name in database.select("SELECT * FROM t")}


def _ended(positions: Mapping[str, Offset], database: Database) -> bool:
    return positions.get(_partition(database), ()) >= (1, 2)


def _applied(target: dict[int, Any], run: Run) -> None:
    for value in run.values:
        if value["op"] == "t":
            target.clear()
        elif value["op"] == "d":
            target.pop(value["before"]["id"], None)
        else:
            target[value["after"]["id"]] = value["after"]


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() <= before
