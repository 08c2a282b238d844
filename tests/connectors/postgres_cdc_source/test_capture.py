"""Rows that are there, then each change of them; restarts at any place give exactly the rest."""

import time
from typing import Any

import pytest

from connectors.postgres_cdc_source.logical.slots import drop_slot, inspect_slot
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from tests.connectors.postgres_cdc_source.capturing import SECONDS, Captured, Shop, capturing, is_streaming, wait_until_free


def row(number: int, name: str = "") -> dict[str, Any]:
    return {"id": number, "name": name or f"order {number}"}


@pytest.mark.parametrize("columns", [True, False])
def test_the_rows_that_are_there_come_first_and_then_each_change(shop: Shop, columns: bool) -> None:
    shop.fill(3)
    with capturing(shop.config(), columns=columns) as captured:
        captured.until(is_streaming)
        assert captured.ops() == [("r", row(1)), ("r", row(2)), ("r", row(3))]
        shop.run(
            f"INSERT INTO {shop.name}.orders VALUES (4, 'new')",
            f"UPDATE {shop.name}.orders SET name = 'changed' WHERE id = 4",
            f"UPDATE {shop.name}.orders SET id = 5 WHERE id = 4",
            f"DELETE FROM {shop.name}.orders WHERE id = 5",
            f"TRUNCATE {shop.name}.orders",
        )
        captured.until(lambda so_far: len(so_far.records) == 9)
    assert [(value["op"], value["after"], key) for _, _, key, value in captured.records[3:]] == [
        ("c", row(4, "new"), {"id": 4}),
        ("u", row(4, "changed"), {"id": 4}),
        ("d", None, {"id": 4}),
        ("c", row(5, "changed"), {"id": 5}),
        ("d", None, {"id": 5}),
        ("t", None, None),
    ]
    source = captured.values()[3]["source"]
    assert (source["connector"], source["db"], source["schema"], source["table"]) == (
        "postgresql",
        shop.address.database,
        shop.name,
        "orders",
    )
    assert captured.values()[3]["transaction"]["total_order"] == 1
    assert {partition for partition, *_ in captured.records} == {f"snapshot {shop.name}.orders", f"table {shop.name}.orders"}


def test_changes_of_one_transaction_have_its_number_and_their_order(shop: Shop) -> None:
    shop.fill(0)
    shop.run(f"CREATE TABLE {shop.name}.other (id int PRIMARY KEY)")
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        with shop.connection.transaction():
            shop.run(
                f"INSERT INTO {shop.name}.orders VALUES (1, 'a')",
                f"INSERT INTO {shop.name}.other VALUES (7)",
                f"INSERT INTO {shop.name}.orders VALUES (2, 'b')",
            )
        captured.until(lambda so_far: len(so_far.records) == 3)
    found = {value["after"]["id"]: value["transaction"] for value in captured.values()}
    assert len({each["id"] for each in found.values()}) == 1
    orders = {number: (each["total_order"], each["data_collection_order"]) for number, each in found.items()}
    assert orders == {1: (1, 1), 7: (2, 1), 2: (3, 2)}


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("bigint", marks=pytest.mark.slow),
        pytest.param('text COLLATE "C"', marks=pytest.mark.slow),
        pytest.param("uuid", marks=pytest.mark.slow),
        pytest.param("none", marks=pytest.mark.slow),
        "int, region text",
    ],
)
def test_a_snapshot_that_is_broken_off_anywhere_goes_on_behind_what_is_stored(shop: Shop, key: str) -> None:
    kind, _, second = key.partition(", ")
    value = {"uuid": "('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid"}.get(kind, "n::text::" + kind.split()[0])
    columns = f"id {kind if key != 'none' else 'int'}{', ' + second if second else ''}, number int"
    primary = "" if key == "none" else f", PRIMARY KEY (id{', region' if second else ''})"
    identity = "" if primary else f"ALTER TABLE {shop.name}.t REPLICA IDENTITY FULL"
    made = value if key != "none" else "n"
    shop.run(f"CREATE TABLE {shop.name}.t ({columns}{primary})", *filter(None, [identity]))
    shop.run(f"INSERT INTO {shop.name}.t SELECT {made}{', chr(97 + n % 3)' if second else ''}, n FROM generate_series(1, 50) n")
    whole: list[int] | None = None
    for polls in (1, 2, 4, 100):
        drop_slot(shop.connection, shop.name)
        with capturing(shop.config(), batch_records=10) as first:
            for _ in range(polls):
                first.poll()
            stored = dict(first.positions)
        begun = [value["after"]["number"] for value in first.values()]
        wait_until_free(shop.connection, shop.name)
        with capturing(shop.config(), stored, batch_records=7) as second_run:
            second_run.until(is_streaming)
        rest = [value["after"]["number"] for value in second_run.values()]
        wait_until_free(shop.connection, shop.name)
        if key == "none":
            # Without a key nobody knows where it was: it begins again.
            assert rest in (list(range(1, 51)), [])
        else:
            assert sorted(begun + rest) == list(range(1, 51)), (polls, begun, rest)
            whole = whole or begun + rest
            assert begun + rest == whole


def test_rows_behind_keys_that_are_too_long_for_a_position_come_again(shop: Shop) -> None:
    shop.run(f"CREATE TABLE {shop.name}.t (id text PRIMARY KEY, number int)")
    key = "lpad(n::text, 4, '0') || repeat('x', CASE WHEN n % 5 = 1 THEN 5 ELSE 600 END)"
    shop.run(f"INSERT INTO {shop.name}.t SELECT {key}, n FROM generate_series(1, 50) n")
    with capturing(shop.config(), batch_records=7) as first:
        for _ in range(3):
            first.poll()
        stored = dict(first.positions)
    assert all(len(str(list(offset)).replace(" ", "")) <= 1_024 for offset in stored.values())
    begun = [value["after"]["number"] for value in first.values()]
    wait_until_free(shop.connection, shop.name)
    with capturing(shop.config(), stored, batch_records=7) as second_run:
        second_run.until(is_streaming)
    rest = [value["after"]["number"] for value in second_run.values()]
    assert set(begun + rest) == set(range(1, 51))
    assert 0 < len(begun + rest) - 50 < 7


def test_a_key_of_bytes_that_is_too_long_for_a_position_is_told(shop: Shop) -> None:
    shop.run(
        f"CREATE TABLE {shop.name}.t (id bytea PRIMARY KEY)", f"INSERT INTO {shop.name}.t VALUES (decode(repeat('ab', 500), 'hex'))"
    )
    with capturing(shop.config()) as captured, pytest.raises(PermanentError, match="Shorten it, or exclude the table"):
        captured.until(is_streaming)


def test_a_task_that_begins_again_in_the_log_gives_exactly_the_rest(shop: Shop) -> None:
    shop.fill(1)
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        positions = dict(captured.positions)
    for number in range(2, 8):
        shop.run(f"INSERT INTO {shop.name}.orders VALUES ({number}, 'a')")
    shop.run(f"UPDATE {shop.name}.orders SET id = id + 100 WHERE id >= 5")
    wait_until_free(shop.connection, shop.name)

    def everything(positions: dict[str, Any], size: int) -> Captured:
        # Nothing is stored at the watermark: the slot stays where it is.
        with capturing(shop.config(), positions, stores=False, batch_records=size) as task:
            return task.until(
                lambda so_far: any(offset[-2:] == (1, 1) and key == {"id": 107} for _, offset, key, _ in so_far.records)
            )

    whole = everything(positions, 1000).records
    assert len(whole) == 6 + 3 * 2
    for number, (partition, offset, *_) in enumerate(whole[:-1]):
        rest = everything({**positions, partition: offset}, 3).records
        assert [record[1:3] for record in rest] == [record[1:3] for record in whole[number + 1 :]]


def test_what_happens_during_the_snapshot_comes_behind_it(shop: Shop) -> None:
    shop.fill(30)
    with capturing(shop.config(), batch_records=10) as captured:
        captured.until(lambda so_far: so_far.records)
        shop.run(f"DELETE FROM {shop.name}.orders WHERE id = 30", f"INSERT INTO {shop.name}.orders VALUES (31, 'late')")
        captured.until(lambda so_far: ("c", row(31, "late")) in so_far.ops())
    assert [op for op, _ in captured.ops()] == ["r"] * 30 + ["d", "c"]


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        ("ALTER TABLE {0}.u ALTER id TYPE bigint", [{"id": 101, "name": "a"}, {"id": 102, "name": "b"}]),
        ("ALTER TABLE {0}.u ADD more int DEFAULT 5", [{"id": 101, "name": "a", "more": 5}, {"id": 102, "name": "b", "more": 5}]),
        ("ALTER TABLE {0}.u DROP name", [{"id": 101}, {"id": 102}]),
        ("ALTER TABLE {0}.u RENAME TO v", [{"id": 101, "name": "a"}, {"id": 102, "name": "b"}]),
        ("DROP TABLE {0}.u", []),
        ("TRUNCATE {0}.u", []),
        ("VACUUM FULL {0}.u", [{"id": 101, "name": "a"}, {"id": 102, "name": "b"}]),
    ],
)
def test_a_table_that_is_altered_while_another_one_is_read_is_read_as_it_is_now(shop: Shop, change: str, rows: list[Any]) -> None:
    shop.fill(30)
    shop.run(
        f"CREATE TABLE {shop.name}.u (id int PRIMARY KEY, name text)", f"INSERT INTO {shop.name}.u VALUES (101, 'a'), (102, 'b')"
    )
    with capturing(shop.config(), batch_records=10) as captured:
        captured.until(lambda so_far: so_far.records)
        shop.run(change.format(shop.name), f"INSERT INTO {shop.name}.orders VALUES (31, 'late')")
        captured.until(lambda so_far: ("c", row(31, "late")) in so_far.ops())
    read = [after for op, after in captured.ops() if op == "r"]
    assert [after for after in read if after["id"] > 100] == rows
    assert [after["id"] for after in read if after["id"] <= 100] == list(range(1, 31))


def test_partitions_that_are_altered_while_another_table_is_read_are_read_as_they_are_now(shop: Shop) -> None:
    shop.fill(30)
    shop.run(
        f"CREATE TABLE {shop.name}.u (id int, name text) PARTITION BY RANGE (id)",
        f"CREATE TABLE {shop.name}.low PARTITION OF {shop.name}.u FOR VALUES FROM (0) TO (1000)",
        f"ALTER TABLE {shop.name}.low REPLICA IDENTITY FULL",
        f"INSERT INTO {shop.name}.u VALUES (101, 'a'), (102, 'b')",
    )
    with capturing(shop.config(), batch_records=10) as captured:
        captured.until(lambda so_far: so_far.records)
        shop.run(f"ALTER TABLE {shop.name}.u ALTER name TYPE varchar(3) USING name || '!'")
        shop.run(f"INSERT INTO {shop.name}.orders VALUES (31, 'late')")
        captured.until(lambda so_far: ("c", row(31, "late")) in so_far.ops())
    read = [after for op, after in captured.ops() if op == "r"]
    assert [after for after in read if after["id"] > 100] == [{"id": 101, "name": "a!"}, {"id": 102, "name": "b!"}]


def test_the_server_forgets_only_what_is_stored_and_does_so_when_nothing_is_captured(shop: Shop) -> None:
    shop.fill(1)
    shop.run(f"CREATE TABLE {shop.name}_quiet (id int)")
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        shop.run(f"INSERT INTO {shop.name}_quiet SELECT generate_series(1, 1000)")
        end = shop.connection.execute("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn").fetchone()
        assert end is not None
        captured.until(lambda so_far: so_far.positions["log"][0] >= end[0])

        def confirmed(_: Captured) -> bool:
            slot = inspect_slot(shop.connection, shop.name)
            return slot is not None and slot.confirmed_lsn >= end[0]

        captured.until(confirmed)
        captured.stores = False
        shop.run(f"INSERT INTO {shop.name}.orders VALUES (2, 'not stored')")
        captured.until(lambda so_far: len(so_far.records) == 2)
        place = captured.records[-1][1][0]
        for _ in range(20):
            captured.poll()
        slot = inspect_slot(shop.connection, shop.name)
        assert slot is not None
        assert slot.confirmed_lsn <= place
    shop.run(f"DROP TABLE {shop.name}_quiet")


def test_a_watermark_moves_under_a_load_that_never_ends(shop: Shop) -> None:
    shop.fill(1)
    with capturing(shop.config(), batch_records=5) as captured:
        captured.until(is_streaming)
        begin = captured.positions["log"]
        for number in range(2, 2000):
            shop.run(f"INSERT INTO {shop.name}.orders VALUES ({number}, 'a')")
            if number % 5 == 0 and captured.poll() and captured.positions["log"] > begin:
                break
        assert captured.positions["log"] > begin


def make_doc(shop: Shop, columns: str, values: str, *large: str) -> None:
    """A table with one row, which keeps large values beside it."""
    shop.run(f"CREATE TABLE {shop.name}.doc ({columns})")
    shop.run(*(f"ALTER TABLE {shop.name}.doc ALTER {column} SET STORAGE EXTERNAL" for column in large))
    shop.run(f"INSERT INTO {shop.name}.doc VALUES ({values})")


def test_large_values_that_did_not_change_are_named_and_never_null_in_silence(shop: Shop) -> None:
    make_doc(shop, "id int PRIMARY KEY, body text, note text", "1, repeat('x', 10000), 'a'", "body")
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        shop.run(f"UPDATE {shop.name}.doc SET note = 'b'", f"ALTER TABLE {shop.name}.doc REPLICA IDENTITY FULL")
        shop.run(f"UPDATE {shop.name}.doc SET note = 'c'")
        captured.until(lambda so_far: len(so_far.records) == 3)
    first, second = captured.values()[1:]
    assert (first["after"], first["unchanged"]) == ({"id": 1, "body": None, "note": "b"}, ["body"])
    assert (second["after"], second["unchanged"]) == ({"id": 1, "body": "x" * 10000, "note": "c"}, None)
    assert second["before"] == {"id": 1, "body": "x" * 10000, "note": "b"}


def test_large_values_are_left_out_beside_values_of_any_type(shop: Shop) -> None:
    columns = "id int PRIMARY KEY, body text, span interval, numbers int[], note text"
    make_doc(shop, columns, "1, repeat('x', 10000), '3 days', '{1,2}', 'a'", "body")
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        shop.run(f"UPDATE {shop.name}.doc SET note = 'b'")
        captured.until(lambda so_far: len(so_far.records) == 2)
    value = captured.values()[1]
    assert (value["unchanged"], value["after"]["note"], value["after"]["numbers"]) == (["body"], "b", [1, 2])


@pytest.mark.parametrize(
    "key", [("int", "1", "2"), ("text", "'a''b'", "'\u00e9'"), ("bytea", "'\\x00'", "'\\x27'"), ("boolean", "true", "false")]
)
def test_a_row_that_gets_another_key_comes_with_its_large_values(shop: Shop, key: tuple[str, str, str]) -> None:
    kind, old, new = key
    values = f"{old}, repeat('x', 9000), decode(repeat('00', 5000), 'hex'), 'a'"
    make_doc(shop, f"id {kind} PRIMARY KEY, body text, raw bytea, note text", values, "body", "raw")
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        shop.run(f"UPDATE {shop.name}.doc SET id = {new}, note = 'b'")
        captured.until(lambda so_far: len(so_far.records) == 3)
    gone, came = captured.values()[1:]
    assert (gone["op"], came["op"], came["unchanged"]) == ("d", "c", None)
    assert (came["after"]["body"], len(came["after"]["raw"]), came["after"]["note"]) == ("x" * 9000, 5000, "b")


def test_a_row_that_is_gone_before_its_large_values_are_read_says_that_they_are_not_told(shop: Shop) -> None:
    make_doc(shop, "id int PRIMARY KEY, body text", "1, repeat('x', 9000)", "body")
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        shop.run(f"UPDATE {shop.name}.doc SET id = 2; UPDATE {shop.name}.doc SET id = 3; DELETE FROM {shop.name}.doc WHERE id = 3")
        captured.until(lambda so_far: len(so_far.records) == 6)
    assert [(value["op"], value["unchanged"]) for value in captured.values()[1:]] == [
        ("d", None),
        ("c", ["body"]),
        ("d", None),
        ("c", ["body"]),
        ("d", None),
    ]


def test_columns_that_come_and_go_are_followed(shop: Shop) -> None:
    shop.fill(1)
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        shop.run(
            f"INSERT INTO {shop.name}.orders VALUES (2, 'a')",
            f"ALTER TABLE {shop.name}.orders ADD price numeric(8, 2) DEFAULT 1.50",
            f"INSERT INTO {shop.name}.orders VALUES (3, 'b', 2.25)",
            f"ALTER TABLE {shop.name}.orders DROP name",
            f"INSERT INTO {shop.name}.orders VALUES (4, 3)",
        )
        captured.until(lambda so_far: len(so_far.records) == 4)
    rows = [{name: str(value) for name, value in value["after"].items()} for value in captured.values()[1:]]
    assert rows == [{"id": "2", "name": "a"}, {"id": "3", "name": "b", "price": "2.25"}, {"id": "4", "price": "3.00"}]


def test_excluded_tables_and_columns_are_not_seen(shop: Shop) -> None:
    shop.fill(1)
    shop.run(f"CREATE TABLE {shop.name}.audit (id int PRIMARY KEY)", f"INSERT INTO {shop.name}.audit VALUES (1)")
    config = shop.config(table_exclude=rf"{shop.name}\.audit", column_exclude=rf"{shop.name}\.orders\.name")
    with capturing(config) as captured:
        captured.until(is_streaming)
        shop.run(f"INSERT INTO {shop.name}.audit VALUES (2)", f"INSERT INTO {shop.name}.orders VALUES (2, 'hidden')")
        captured.until(lambda so_far: len(so_far.records) == 2)
    assert captured.ops() == [("r", {"id": 1}), ("c", {"id": 2})]


def test_a_slot_that_was_dropped_and_made_again_is_told_for_good(shop: Shop) -> None:
    shop.fill(1)
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        shop.run(f"INSERT INTO {shop.name}.orders VALUES (2, 'a')")
        captured.until(lambda so_far: len(so_far.records) == 2)
    wait_until_free(shop.connection, shop.name)
    drop_slot(shop.connection, shop.name)
    with pytest.raises(PermanentError, match=f"the slot '{shop.name}' is gone"), capturing(shop.config(), captured.positions):
        pass
    shop.run(f"INSERT INTO {shop.name}.orders VALUES (3, 'lost')")
    shop.run(f"SELECT pg_create_logical_replication_slot('{shop.name}', 'pgoutput')")
    with pytest.raises(PermanentError, match="dropped and made anew"), capturing(shop.config(), captured.positions):
        pass


def test_a_connection_that_breaks_is_made_anew_behind_what_was_given(shop: Shop) -> None:
    shop.fill(40)
    others = f"application_name = 'rocketconnect' AND pid NOT IN (pg_backend_pid(), {shop.connection.info.backend_pid})"
    breaks = 0
    with capturing(shop.config(), batch_records=10) as captured:

        def read_until(wanted: int) -> None:
            nonlocal breaks
            deadline = time.monotonic() + SECONDS
            while len(captured.records) < wanted:
                assert time.monotonic() < deadline, f"{len(captured.records)} records came"
                try:
                    captured.poll()
                except (SystemAway, RetriableError):
                    breaks += 1

        for wanted in (10, 30, 45):
            read_until(wanted)
            if wanted == 30:
                shop.run(*(f"INSERT INTO {shop.name}.orders VALUES ({number}, 'a')" for number in range(41, 61)))
            shop.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
        read_until(60)
        assert [value["after"]["id"] for value in captured.values()] == list(range(1, 61))
    assert breaks


def test_rows_of_a_table_that_inherits_are_read_once(shop: Shop) -> None:
    shop.fill(1)
    shop.run(f"CREATE TABLE {shop.name}.child (PRIMARY KEY (id)) INHERITS ({shop.name}.orders)")
    shop.run(f"INSERT INTO {shop.name}.child VALUES (2, 'child')")
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
    assert captured.ops() == [("r", row(2, "child")), ("r", row(1))]


def test_rows_of_partitions_are_those_of_their_table(shop: Shop) -> None:
    shop.run(f"CREATE TABLE {shop.name}.parted (id int PRIMARY KEY) PARTITION BY RANGE (id)")
    shop.run(f"CREATE TABLE {shop.name}.part PARTITION OF {shop.name}.parted DEFAULT", f"INSERT INTO {shop.name}.parted VALUES (1)")
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        shop.run(f"INSERT INTO {shop.name}.parted VALUES (2)")
        captured.until(lambda so_far: len(so_far.records) == 2)
    assert captured.ops() == [("r", {"id": 1}), ("c", {"id": 2})]


def test_key_is_that_of_the_replica_identity_where_it_is_another_index(shop: Shop) -> None:
    shop.run(f"CREATE TABLE {shop.name}.coded (id int PRIMARY KEY, code text NOT NULL UNIQUE)")
    shop.run(f"ALTER TABLE {shop.name}.coded REPLICA IDENTITY USING INDEX coded_code_key")
    shop.run(f"INSERT INTO {shop.name}.coded VALUES (1, 'a')")
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        shop.run(f"UPDATE {shop.name}.coded SET code = 'b'", f"DELETE FROM {shop.name}.coded")
        captured.until(lambda so_far: len(so_far.records) == 4)
    gone = [{"id": None, "code": code} for code in "ab"]
    assert captured.ops() == [
        ("r", {"id": 1, "code": "a"}),
        ("d", gone[0]),
        ("c", {"id": 1, "code": "b"}),
        ("d", gone[1]),
    ]


def test_it_has_caught_up_when_all_is_read_that_was_in_the_log_at_its_start(shop: Shop) -> None:
    shop.fill(2)
    with capturing(shop.config()) as captured:
        assert not captured.task.caught_up
        captured.until(lambda so_far: so_far.task.caught_up)
        assert len(captured.records) == 2
    shop.run(f"INSERT INTO {shop.name}.orders VALUES (3, 'new')", f"INSERT INTO {shop.name}.orders VALUES (4, 'new')")
    with capturing(shop.config(), captured.positions) as again:
        assert not again.task.caught_up
        again.until(lambda so_far: so_far.task.caught_up)
    assert again.ops() == [("c", row(3, "new")), ("c", row(4, "new"))]
