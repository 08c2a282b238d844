"""Tables that are read in chunks, by a signal, while the log is read."""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import psycopg
import pytest

from connectors.postgres_cdc_source.logical.connection import connect
from connectors.postgres_cdc_source.rows import incremental
from connectors.postgres_cdc_source.rows.snapshot import transaction
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset
from tests.connectors.postgres_cdc_source.capturing import Captured, Shop, capturing

ROWS = 60
LARGE = "repeat('x', 3000)"
SLOWLY = "pg_sleep(0.02) IS NOT NULL"
"""A condition with which the log is read while rows are."""


@pytest.fixture
def table(shop: Shop) -> Shop:
    """With a table orders of 60 rows."""
    shop.fill(ROWS)
    return shop


def _given(shop: Shop, **more: str) -> dict[str, str]:
    return shop.config(**{"snapshot_mode": "never", "incremental_snapshot_chunk_size": "7", **more})


def _begun(captured: Captured) -> Captured:
    """The log is read from its place on."""
    return captured.until(lambda so_far: so_far.task.log is not None and so_far.task.log.place)  # type: ignore[attr-defined]


def _ask(captured: Captured, *tables: str, condition: str = "") -> str:
    return captured.task.signal("execute-snapshot", {"tables": ",".join(tables), "condition": condition})


def _partition(shop: Shop, table: str = "orders") -> str:
    return f"incremental {shop.name}.{table}"


def _is_done(shop: Shop, table: str = "orders", run: int = 1) -> Callable[[Captured], bool]:
    return lambda captured: captured.positions.get(_partition(shop, table), ()) >= (run, 2)


def _reads(captured: Captured) -> list[Any]:
    return [value["after"]["id"] for value in captured.values() if value["op"] == "r"]


def _window(captured: Captured) -> Any:
    log = captured.task.log  # type: ignore[attr-defined]
    return None if log is None else log.window


def test_a_table_is_read_in_chunks_while_the_log_is_read(table: Shop) -> None:
    with capturing(_given(table)) as captured:
        _ask(_begun(captured), f"{table.name}.orders")
        captured.until(lambda so_far: so_far.records)
        table.run(
            f"UPDATE {table.name}.orders SET name = 'changed' WHERE id = {ROWS}", f"DELETE FROM {table.name}.orders WHERE id = 1"
        )
        captured.until(_is_done(table))
        captured.until(lambda so_far: len(so_far.records) == ROWS + 2)
    assert _reads(captured) == list(range(1, ROWS + 1))
    assert {value["source"]["snapshot"] for value in captured.values() if value["op"] == "r"} == {"incremental"}
    target = _applied({}, captured)
    assert target[ROWS] == {"id": ROWS, "name": "changed"}
    assert 1 not in target


def test_rows_that_are_asked_for_by_their_keys_come_as_they_are_or_as_deleted(table: Shop) -> None:
    table.run(
        f"DELETE FROM {table.name}.orders WHERE id = 2",
        f"CREATE TABLE {table.name}.parts (order_id uuid, part text, PRIMARY KEY (order_id, part))",
        f"INSERT INTO {table.name}.parts VALUES ('00000000-0000-0000-0000-000000000001', 'it''s')",
    )
    keys = json.dumps([[number] for number in (1, 2, 5, 7, 9, 11, 13, 15, 17, 19, 61)])
    parts = [["00000000-0000-0000-0000-000000000001", "it's"], ["00000000-0000-0000-0000-000000000002", "ä"]]
    with capturing(_given(table)) as captured:
        task = _begun(captured).task
        task.signal("execute-snapshot", {"tables": f"{table.name}.orders", "keys": keys})
        captured.until(_is_done(table))
        assert [(op, row["id"]) for op, row in captured.ops()] == [
            *(("r", number) for number in (1, 5, 7, 9, 11, 13, 15, 17, 19)),
            ("d", 2),
            ("d", 61),
        ]
        task.signal("execute-snapshot", {"tables": f"{table.name}.parts", "keys": json.dumps(parts)})
        captured.until(_is_done(table, "parts"))
    assert [(op, row["part"]) for op, row in captured.ops()[-2:]] == [("r", "it's"), ("d", "ä")]


def test_only_rows_that_fulfil_the_condition_are_read_also_after_a_restart(table: Shop) -> None:
    given = _given(table)
    with capturing(given) as first:
        _ask(_begun(first), f"{table.name}.orders", condition="id % 2 = 0 OR name = 'order 3'")
        first.until(lambda so_far: so_far.records)
    with capturing(given, first.positions) as second:
        second.until(_is_done(table))
    assert _reads(first) + _reads(second) == [number for number in range(1, ROWS + 1) if number % 2 == 0 or number == 3]


@pytest.mark.parametrize(
    ("definition", "value"),
    [
        ("id bigint", "9223372036854775000 + n"),
        ("id text", "'é''\\' || n"),
        ('id text COLLATE "C"', "'é''\\' || n"),
        ("id char(20)", "'é' || n"),
        ("id bytea", "decode('00ff27', 'hex') || n::text::bytea"),
        ("id numeric(30,2)", "12345678901234567890.25 + n"),
        ("id numeric", "n / 8.0"),
        ("id double precision", "n / 7.0::float8"),
        ("id date", "date '2024-01-01' + n"),
        ("id timestamp", "timestamp '2024-01-01 00:00:00.000001' + n * interval '1 hour'"),
        ("id timestamptz", "timestamptz '2024-01-01 00:00:00.5+02' + n * interval '1 hour'"),
        ("id time", "time '00:00:00.5' + n * interval '1 minute'"),
        ("id uuid", "gen_random_uuid()"),
        ("id inet", "inet '10.0.0.0' + n"),
        ("id interval", "n * interval '1 hour'"),
        ("id int[]", "ARRAY[n, n]"),
        ("id jsonb", "to_jsonb(n)"),
        ("id int, second text", "n / 10, 'x' || n"),
    ],
)
def test_keys_of_any_type_are_read_behind_and_told_from_those_that_changed(shop: Shop, definition: str, value: str) -> None:
    key = "id, second" if "second" in definition else "id"
    shop.run(
        f"CREATE TABLE {shop.name}.orders ({definition}, size int DEFAULT 0, PRIMARY KEY ({key}))",
        f"INSERT INTO {shop.name}.orders ({key}) SELECT {value} FROM generate_series(1, 40) n",
    )
    given = _given(shop)
    with capturing(given) as first:
        _ask(_begun(first), f"{shop.name}.orders")
        first.until(lambda so_far: so_far.records)
    with capturing(given, first.positions) as second:
        second.until(_is_done(shop))
        # The log has changes of rows that are still being read, so that these are older.
        _ask(second, f"{shop.name}.orders", condition=SLOWLY)
        second.until(_window)
        shop.run(f"UPDATE {shop.name}.orders SET size = 1")
        second.until(lambda so_far: sum(value["op"] == "u" for value in so_far.values()) == 40)
        second.until(_is_done(shop, run=2))
    last: dict[Any, Any] = {}
    for each in [*first.values(), *second.values()]:
        last[tuple(map(str, list(each["after"].values())[:-1]))] = each["after"]["size"]
    assert len(last) == 40
    assert set(last.values()) == {1}


def test_a_large_value_that_a_change_leaves_out_comes_with_the_row_before(shop: Shop) -> None:
    shop.run(
        f"CREATE TABLE {shop.name}.orders (id int PRIMARY KEY, name text, body text)",
        f"ALTER TABLE {shop.name}.orders ALTER body SET STORAGE EXTERNAL",
        f"INSERT INTO {shop.name}.orders SELECT n, 'order ' || n, {LARGE} FROM generate_series(1, 20) n",
    )
    with capturing(_given(shop)) as captured:
        _ask(_begun(captured), f"{shop.name}.orders", condition=SLOWLY)
        for number in range(40):
            captured.until(lambda so_far: _window(so_far) is not None or _is_done(shop)(so_far))
            shop.run(f"UPDATE {shop.name}.orders SET name = 'changed {number}'")
            captured.poll()
        captured.until(_is_done(shop))
        captured.until(lambda so_far: _applied({}, so_far).get(20, {}).get("name") == "changed 39")
    target = _applied({}, captured)
    assert target == {number: {"id": number, "name": "changed 39", "body": "x" * 3000} for number in range(1, 21)}


def test_a_snapshot_that_is_paused_reads_nothing_until_it_is_resumed_also_after_a_restart(table: Shop) -> None:
    given = _given(table)
    with capturing(given) as first:
        _ask(_begun(first), f"{table.name}.orders")
        first.until(lambda so_far: so_far.records)
        assert "paused" in first.task.signal("pause-snapshot", {})
        first.until(lambda so_far: so_far.positions.get("incremental") == (1, 1))
        table.run(f"INSERT INTO {table.name}.orders VALUES (1000, 'new')")
        first.until(lambda so_far: "c" in {value["op"] for value in so_far.values()})
    read = len(_reads(first))
    with capturing(given, first.positions) as second:
        table.run(f"INSERT INTO {table.name}.orders VALUES (1001, 'new')")
        second.until(lambda so_far: so_far.records)
        for _ in range(5):
            second.poll()
        assert _reads(second) == []
        second.task.signal("resume-snapshot", {})
        second.until(_is_done(table))
    assert _reads(first) + _reads(second) == [*range(1, ROWS + 1), 1000, 1001]
    assert read < ROWS


def test_a_snapshot_that_is_stopped_can_be_asked_for_again(table: Shop) -> None:
    with capturing(_given(table)) as captured:
        _ask(_begun(captured), f"{table.name}.orders")
        captured.until(lambda so_far: so_far.records)
        captured.task.signal("stop-snapshot", {"tables": f"{table.name}.orders"})
        captured.until(_is_done(table))
        for _ in range(5):
            captured.poll()
        stopped = len(captured.records)
        assert stopped < ROWS
        _ask(captured, f"{table.name}.orders")
        captured.until(_is_done(table, run=2))
    assert _reads(captured)[stopped:] == list(range(1, ROWS + 1))


def test_what_cannot_be_read_in_chunks_is_refused_with_what_to_do(table: Shop) -> None:
    name = table.name
    table.run(f"CREATE TABLE {name}.k (id int)", f"ALTER TABLE {name}.k REPLICA IDENTITY FULL")
    with capturing(_given(table)) as captured:
        _begun(captured)
        for wanted, said in (("k", "no primary key.*give it one"), ("none", "schema.table")):
            with pytest.raises(ValueError, match=said):
                _ask(captured, f"{name}.orders", f"{name}.{wanted}")
        for condition in (
            "nothing = 1",
            "id = 1) OR (id = 2",
            "id = 1 -- ",
            "id = 1 /*",
            "true; DROP TABLE x",
            "id = 1 LIMIT 1) --",
        ):
            with pytest.raises(PermanentError, match="SQLSTATE 42"):
                _ask(captured, f"{name}.orders", condition=condition)
        with pytest.raises(ValueError, match="256"):
            _ask(captured, f"{name}.orders", condition=f"name = '{'x' * 300}'")
        with pytest.raises(ValueError, match=r"no snapshot is asked for of shop\.t"):
            captured.task.signal("stop-snapshot", {"tables": "shop.t"})
        _ask(captured, f"{name}.orders", condition="name LIKE 'order %' AND id % 7 = 0")
        with pytest.raises(ValueError, match="already"):
            _ask(captured, f"{name}.orders")
        captured.until(_is_done(table))
    assert _reads(captured) == list(range(7, ROWS + 1, 7))


def test_rows_come_behind_the_changes_that_they_show(table: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental, "LONGEST_WAIT", 60)
    with capturing(_given(table)) as first:
        _begun(first)
    table.run(*(f"UPDATE {table.name}.orders SET name = 'changed' WHERE id = {key}" for key in range(1, ROWS + 1)))
    with capturing(_given(table), first.positions, batch_records=7) as second:
        _ask(second, f"{table.name}.orders")
        second.until(_is_done(table))
    assert [value["op"] for value in second.values()] == ["u"] * ROWS + ["r"] * ROWS


def test_a_transaction_that_does_not_show_what_the_log_has_said_already_is_begun_anew(
    table: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the server sends a transaction to replicas before it shows it to others."""
    with capturing(_given(table)) as captured:
        _begun(captured)
        begun = [transaction(table.address, "")]
        table.run(f"UPDATE {table.name}.orders SET name = 'changed'")
        captured.until(lambda so_far: len(so_far.records) == ROWS)
        monkeypatch.setattr(
            incremental, "transaction", lambda address, snapshot: begun.pop() if begun else transaction(address, snapshot)
        )
        _ask(captured, f"{table.name}.orders")
        captured.until(_is_done(table))
    assert not begun
    assert {value["after"]["name"] for value in captured.values() if value["op"] == "r"} == {"changed"}


def test_a_key_that_changes_while_its_chunk_is_read_is_gone_under_its_old_name(table: Shop) -> None:
    orders = f"{table.name}.orders"
    with capturing(_given(table)) as captured:
        _ask(_begun(captured), orders, condition=SLOWLY)
        captured.until(_window)
        table.run(f"UPDATE {orders} SET id = 1000 WHERE id = 3", f"UPDATE {orders} SET id = 2000 WHERE id = 50")
        captured.until(_is_done(table))
        captured.until(lambda so_far: 2000 in _applied({}, so_far))
    assert sorted(_applied({}, captured)) == sorted({*range(1, ROWS + 1), 1000, 2000} - {3, 50})


def test_a_task_has_not_caught_up_before_all_chunks_are_read(table: Shop) -> None:
    with capturing(_given(table)) as captured:
        _ask(_begun(captured), f"{table.name}.orders", condition=SLOWLY)
        while not _is_done(table)(captured):
            assert captured.poll() or not captured.task.caught_up or _is_done(table)(captured)
        captured.until(lambda so_far: so_far.task.caught_up)


def test_rows_per_second_are_as_many_as_are_allowed(table: Shop) -> None:
    with capturing(_given(table, incremental_snapshot_max_rate_rows="40")) as captured:
        _ask(_begun(captured), f"{table.name}.orders")
        begin = time.monotonic()
        captured.until(_is_done(table))
    assert time.monotonic() - begin >= (ROWS - 7) / 40


@pytest.mark.parametrize("change", ["ADD size int DEFAULT 3", "ADD size int DEFAULT 3, ALTER id TYPE numeric(20)"])
def test_a_table_that_is_altered_in_the_middle_is_read_on_with_its_new_columns(table: Shop, change: str) -> None:
    with capturing(_given(table)) as captured:
        _ask(_begun(captured), f"{table.name}.orders")
        captured.until(lambda so_far: so_far.records)
        table.run(f"ALTER TABLE {table.name}.orders {change}")
        captured.until(_is_done(table, run=2 if "numeric" in change else 1))
    assert sorted(set(map(int, _reads(captured)))) == list(range(1, ROWS + 1))
    assert captured.values()[-1]["after"]["size"] == 3


def test_a_table_that_gets_another_key_in_the_middle_is_read_from_its_beginning(table: Shop) -> None:
    orders = f"{table.name}.orders"
    with capturing(_given(table)) as captured:
        _ask(_begun(captured), orders)
        captured.until(lambda so_far: so_far.records)
        table.run(f"ALTER TABLE {orders} DROP CONSTRAINT orders_pkey, ADD PRIMARY KEY (name)")
        captured.until(_is_done(table, run=2))
    assert sorted(_reads(captured)[-ROWS:]) == list(range(1, ROWS + 1))


def test_a_table_that_is_dropped_in_the_middle_ends_its_snapshot(table: Shop) -> None:
    with capturing(_given(table)) as captured:
        _ask(_begun(captured), f"{table.name}.orders")
        captured.until(lambda so_far: so_far.records)
        table.run(f"DROP TABLE {table.name}.orders")
        captured.until(_is_done(table))


def test_all_tables_are_read_in_chunks_instead_of_a_long_transaction(table: Shop) -> None:
    table.run(
        f"CREATE TABLE {table.name}.u (id int PRIMARY KEY)",
        f"INSERT INTO {table.name}.u SELECT generate_series(101, 110)",
    )
    given = _given(table, snapshot_mode="incremental")
    with capturing(given) as first:
        first.until(lambda so_far: so_far.records)
    with capturing(given, first.positions) as second:
        second.until(_is_done(table, "u"))
    assert sorted(_reads(first) + _reads(second)) == [*range(1, ROWS + 1), *range(101, 111)]


def test_chunks_of_all_tables_need_keys(table: Shop) -> None:
    table.run(f"CREATE TABLE {table.name}.k (id int)", f"ALTER TABLE {table.name}.k REPLICA IDENTITY FULL")
    with pytest.raises(PermanentError, match="no primary key"), capturing(_given(table, snapshot_mode="incremental")):
        pass


class Writers:
    """Sessions that change the table at random, until the end of the block."""

    def __init__(self, shop: Shop, seed: int, *, truncates: bool) -> None:
        self._shop = shop
        self._chances = [random.Random(seed + number) for number in range(3)]
        self._truncates = truncates
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
        orders = f"{self._shop.name}.orders"
        with connect(self._shop.address) as connection:
            while not self._stopping.is_set():
                key, other = chance.randrange(1, 1_200), chance.randrange(1, 1_200)
                statements = [
                    f"UPDATE {orders} SET name = '{chance.randrange(10**6)}' WHERE id = {key}",
                    f"UPDATE {orders} SET body = {LARGE} || '{chance.randrange(10**6)}' WHERE id = {key}",
                    f"DELETE FROM {orders} WHERE id = {key}",
                    f"INSERT INTO {orders} VALUES ({key}, 'again {chance.randrange(10**6)}', {LARGE}) ON CONFLICT DO NOTHING",
                    f"UPDATE {orders} SET id = {other}, body = 'moved' WHERE id = {key}",
                    f"UPDATE {orders} SET name = 'many {chance.randrange(10**6)}' WHERE id BETWEEN {key} AND {key + 30}",
                ]
                if self._truncates and chance.random() < 0.002:
                    statements = [f"TRUNCATE {orders}"]
                wanted = chance.choices(statements, k=chance.choice((1, 1, 4)))
                try:
                    with connection.transaction(force_rollback=chance.random() < 0.1):
                        for statement in wanted:
                            connection.execute(statement.encode())
                except (psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected):
                    pass
                # The log of more than that is not read before the task is ended again.
                self._stopping.wait(0.01)


@pytest.mark.parametrize("seed", [0, 3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_the_target_becomes_the_table_while_it_changes_and_the_task_is_started_again(shop: Shop, seed: int) -> None:
    """With large values, of which most changes say nothing."""
    orders = f"{shop.name}.orders"
    shop.run(
        f"CREATE TABLE {orders} (id int PRIMARY KEY, name text, body text)",
        f"ALTER TABLE {orders} ALTER body SET STORAGE EXTERNAL",
        f"INSERT INTO {orders} SELECT n, 'row ' || n, {LARGE} || n FROM generate_series(1, 1000) n",
    )
    chance = random.Random(seed)
    target: dict[int, Any] = {}
    given = _given(shop, incremental_snapshot_chunk_size=str(chance.choice((20, 70, 200))))
    with Writers(shop, seed, truncates=seed % 2 == 1):
        with capturing(given) as captured:
            _ask(_begun(captured), orders, condition="pg_sleep(0.0005) IS NOT NULL" if seed < 2 else "")
            captured.until(lambda so_far: _partition(shop) in so_far.positions)
        positions: Mapping[str, Offset] = captured.positions
        _applied(target, captured)
        while positions[_partition(shop)] < (1, 2):
            with capturing(given, positions, batch_records=50) as captured:
                until = time.monotonic() + chance.uniform(0.2, 2)
                captured.until(lambda _, until=until: time.monotonic() > until)  # type: ignore[misc]
            positions = captured.positions
            _applied(target, captured)
    shop.run(f"INSERT INTO {orders} VALUES (100000, 'last', '')")
    with capturing(given, positions) as captured:
        captured.until(lambda so_far: any((value["after"] or {}).get("id") == 100000 for value in so_far.values()))
    _applied(target, captured)
    rows = shop.connection.execute(f"SELECT id, name, body FROM {orders}".encode()).fetchall()
    assert target == {key: {"id": key, "name": name, "body": body} for key, name, body in rows}


def _applied(target: dict[int, Any], captured: Captured) -> dict[int, Any]:
    for value in captured.values():
        if value["op"] == "t":
            target.clear()
        elif value["op"] == "d":
            target.pop(value["before"]["id"], None)
        else:
            after, unchanged = value["after"], value["unchanged"] or ()
            held = target.get(after["id"], {})
            target[after["id"]] = {name: held.get(name) if name in unchanged else new for name, new in after.items()}
    return target


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() <= before
