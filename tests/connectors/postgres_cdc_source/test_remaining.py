"""How much of the log is not read: in bytes, and never 0 when it is not known."""

import pytest

from rocketconnect_sdk.database_logs.task import LogTask
from tests.connectors.postgres_cdc_source.capturing import Captured, Shop, capturing, is_streaming


def _left(captured: Captured) -> int:
    left = captured.task.remaining()
    return -1 if left is None else left


def test_what_is_left_is_not_known_before_the_server_was_asked_and_grows_and_falls_with_the_log(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LogTask, "look_seconds", 0.0)
    shop.fill(10)
    with capturing(shop.config()) as captured:
        assert captured.task.remaining() is None
        captured.until(is_streaming)
        captured.until(lambda run: 0 <= _left(run) < 1_000_000)
        shop.run(f"INSERT INTO {shop.name}.orders SELECT n, repeat('x', 1000) FROM generate_series(11, 2010) n")
        captured.until(lambda run: _left(run) > 2_000_000)
        captured.until(lambda run: 0 <= _left(run) < 1_000_000)
    assert captured.task.remaining_unit == "bytes"


def test_of_a_snapshot_it_is_about_the_rows_that_the_server_has_counted(shop: Shop) -> None:
    shop.fill(1_000)
    shop.run(f"ANALYZE {shop.name}.orders")
    with capturing(shop.config(), batch_records=100) as captured:
        captured.until(lambda run: len(run.records) == 100)
        assert (captured.task.remaining(), captured.task.remaining_unit) == (900, "rows")
        captured.until(lambda run: len(run.records) == 1_000)
        assert captured.task.remaining() in (0, None)
        captured.until(is_streaming)
        captured.until(lambda run: _left(run) >= 0)
        assert captured.task.remaining_unit == "bytes"


def test_of_a_snapshot_of_a_table_that_nobody_has_counted_it_is_not_known(shop: Shop) -> None:
    shop.run(f"CREATE TABLE {shop.name}.counted (id int PRIMARY KEY)", f"ANALYZE {shop.name}.counted")
    shop.fill(200)
    with capturing(shop.config(), batch_records=100) as captured:
        captured.until(lambda run: len(run.records) == 100)
        assert (captured.task.remaining(), captured.task.remaining_unit) == (None, "rows")
