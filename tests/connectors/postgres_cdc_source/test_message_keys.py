"""Keys of one's own: for tables without a primary key, and in its place."""

import logging

import pytest

from connectors.postgres_cdc_source import PostgresCdcSource
from connectors.postgres_cdc_source.streaming import LogReader
from rocketconnect_sdk.errors import PermanentError
from tests.connectors.postgres_cdc_source.capturing import Shop, capturing, is_streaming, parsed


@pytest.fixture
def table(shop: Shop) -> Shop:
    """With a table without a key, which has two rows."""
    shop.run(
        f"CREATE TABLE {shop.name}.t (region text, number int, name text)",
        f"ALTER TABLE {shop.name}.t REPLICA IDENTITY FULL",
        f"INSERT INTO {shop.name}.t VALUES ('eu', 1, 'a'), (NULL, 2, 'b')",
    )
    return shop


@pytest.mark.parametrize("columns", [True, False])
def test_rows_and_changes_of_a_table_without_a_primary_key_have_the_key_that_is_configured(
    table: Shop, columns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    t = f"{table.name}.t"
    with (
        caplog.at_level(logging.WARNING),
        capturing(table.config(message_key_columns=r".*\.t:region,number"), columns=columns) as it,
    ):
        it.until(is_streaming)
        table.run(
            f"UPDATE {t} SET name = 'c' WHERE number = 1",
            f"UPDATE {t} SET region = 'us' WHERE number = 2",
            f"DELETE FROM {t} WHERE number = 1",
        )
        it.until(lambda so_far: len(so_far.records) == 6)
    eu, none, us = ({"region": region, "number": number} for region, number in (("eu", 1), (None, 2), ("us", 2)))
    made = [(value["op"], key) for _, _, key, value in it.records]
    assert made == [("r", eu), ("r", none), ("u", eu), ("d", none), ("c", us), ("d", eu)]
    assert "has no primary key" not in caplog.text


def test_rows_of_chunks_are_read_and_compared_by_the_primary_key(shop: Shop) -> None:
    shop.fill(20)
    shop.run(f"ALTER TABLE {shop.name}.orders REPLICA IDENTITY FULL", f"UPDATE {shop.name}.orders SET name = 'same'")
    given = shop.config(message_key_columns=".*:name", snapshot_mode="never", incremental_snapshot_chunk_size="20")
    with capturing(given) as it:
        it.until(lambda so_far: so_far.task.log is not None and so_far.task.log.place)  # type: ignore[attr-defined]
        it.task.signal("execute-snapshot", {"tables": f"{shop.name}.orders", "condition": ""})
        log: LogReader = it.until(lambda so_far: so_far.task.log.window).task.log  # type: ignore[attr-defined]
        shop.run(f"UPDATE {shop.name}.orders SET name = 'other' WHERE id = 5")
        while not log.poll():
            pass
        it.until(lambda so_far: so_far.positions.get(f"incremental {shop.name}.orders", ()) >= (1, 2))
    reads = [(value["after"]["id"], key) for _, _, key, value in it.records if value["op"] == "r"]
    assert reads == [(number, {"name": "same"}) for number in range(1, 21) if number != 5]


def test_a_table_whose_old_rows_lack_the_key_is_refused_with_the_statement_that_helps(shop: Shop) -> None:
    shop.fill(1)
    given = shop.config(message_key_columns=".*orders:name")
    (problem,) = PostgresCdcSource().check(parsed(given))
    assert (problem.key, problem.value) == ("message.key.columns", "name")
    assert f'ALTER TABLE "{shop.name}"."orders" REPLICA IDENTITY FULL' in problem.reason
    with capturing(given) as it:
        it.until(is_streaming)
        shop.run(f"DELETE FROM {shop.name}.orders")
        with pytest.raises(PermanentError, match="REPLICA IDENTITY FULL"):
            it.until(lambda so_far: len(so_far.records) == 2)
    assert list(PostgresCdcSource().check(parsed(shop.config(message_key_columns=".*orders:id")))) == []


def test_tables_and_columns_that_are_not_there_are_told(table: Shop) -> None:
    found = list(PostgresCdcSource().check(parsed(table.config(message_key_columns="nothing:a;.*:absent"))))
    assert [(problem.key, problem.value) for problem in found] == [
        ("message.key.columns", "nothing"),
        ("message.key.columns", "absent"),
    ]
