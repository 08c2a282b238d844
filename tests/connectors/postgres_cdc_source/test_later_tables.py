"""Tables that come while the task runs, or while it does not."""

import psycopg
import pytest

from rocketconnect_sdk.database_logs.task import LogTask
from rocketconnect_sdk.errors import PermanentError
from tests.connectors.postgres_cdc_source.capturing import Captured, Shop, capturing, is_streaming


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogTask, "look_seconds", 0.05)


def _published(shop: Shop) -> set[str]:
    found = shop.connection.execute("SELECT tablename FROM pg_publication_tables WHERE schemaname = %s", [shop.name]).fetchall()
    return {name for (name,) in found}


def _later(captured: Captured) -> list[tuple[str, int]]:
    return [(op, row["id"]) for op, row in captured.ops() if "later" in row]


def test_a_table_that_comes_later_is_captured_with_the_rows_that_it_has(shop: Shop) -> None:
    shop.fill(1)
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        shop.run(f"CREATE TABLE {shop.name}.new (id int PRIMARY KEY, later int)", f"INSERT INTO {shop.name}.new VALUES (1), (2)")
        captured.until(lambda so_far: len(_later(so_far)) >= 2)
        shop.run(f"INSERT INTO {shop.name}.new VALUES (3)", f"DELETE FROM {shop.name}.new WHERE id = 1")
        captured.until(lambda so_far: len(_later(so_far)) >= 4)
    assert _later(captured) == [("r", 1), ("r", 2), ("c", 3), ("d", 1)]


def test_what_a_transaction_did_before_its_table_was_captured_is_not_lost(shop: Shop) -> None:
    shop.fill(1)
    with capturing(shop.config()) as captured, psycopg.connect(shop.connection.info.dsn, password="") as other:
        captured.until(is_streaming)
        shop.run(f"CREATE TABLE {shop.name}.new (id int PRIMARY KEY, later int)")
        other.execute(f"INSERT INTO {shop.name}.new VALUES (1)".encode())
        captured.until(lambda _: "new" in _published(shop))
        for _ in range(50):
            captured.poll()
        assert not captured.positions.get(f"incremental {shop.name}.new", (1,))[1:]
        other.execute(f"INSERT INTO {shop.name}.new VALUES (2)".encode())
        other.commit()
        captured.until(lambda so_far: {row for _, row in _later(so_far)} >= {1, 2})


def test_a_table_that_came_while_the_task_was_down_is_captured_with_its_rows(shop: Shop) -> None:
    shop.fill(1)
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
    shop.run(f"CREATE TABLE {shop.name}.new (id int PRIMARY KEY, later int)", f"INSERT INTO {shop.name}.new VALUES (1)")
    with capturing(shop.config(), captured.positions) as again:
        again.until(lambda so_far: _later(so_far) == [("r", 1)])


def test_a_table_is_published_when_it_is_stored_that_its_rows_are_to_be_read(shop: Shop) -> None:
    shop.fill(1)
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        stored = dict(captured.positions)
        captured.stores = False
        shop.run(f"CREATE TABLE {shop.name}.new (id int PRIMARY KEY, later int)", f"INSERT INTO {shop.name}.new VALUES (1)")
        for _ in range(100):
            captured.poll()
        assert "new" not in _published(shop)
        assert not _later(captured)
    with capturing(shop.config(), stored) as again:
        again.until(lambda so_far: _later(so_far) == [("r", 1)])


def test_without_a_snapshot_later_tables_begin_with_their_changes(shop: Shop) -> None:
    shop.fill(1)
    with capturing(shop.config(snapshot_mode="never")) as captured:
        captured.until(is_streaming)
        shop.run(f"CREATE TABLE {shop.name}.new (id int PRIMARY KEY, later int)", f"INSERT INTO {shop.name}.new VALUES (1)")
        captured.until(lambda _: "new" in _published(shop))
        shop.run(f"INSERT INTO {shop.name}.new VALUES (2)")
        captured.until(_later)
    assert _later(captured) == [("c", 2)]


def test_a_later_table_without_a_key_goes_on_as_it_was(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.fill(1)
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        shop.run(f"CREATE TABLE {shop.name}.keyless (later int)", f"CREATE TABLE {shop.name}.new (id int PRIMARY KEY, later int)")
        captured.until(lambda _: "new" in _published(shop))
        shop.run(f"INSERT INTO {shop.name}.keyless VALUES (1)", f"UPDATE {shop.name}.keyless SET later = 2")
    assert "keyless" not in _published(shop)
    assert f"{shop.name}.keyless: not captured" in caplog.text
    assert "begins with its changes" not in caplog.text


def test_a_later_table_with_another_identity_begins_with_its_changes(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.fill(1)
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        shop.run(f"CREATE TABLE {shop.name}.new (id int, later int); ALTER TABLE {shop.name}.new REPLICA IDENTITY FULL")
        captured.until(lambda _: "new" in _published(shop))
        shop.run(f"INSERT INTO {shop.name}.new VALUES (1)", f"UPDATE {shop.name}.new SET later = 2")
        captured.until(lambda so_far: len(_later(so_far)) == 2)
    assert _later(captured) == [("c", 1), ("u", 1)]
    assert f"{shop.name}.new: begins with its changes" in caplog.text


def test_a_first_start_with_a_table_without_a_key_changes_nothing(shop: Shop) -> None:
    shop.fill(1)
    shop.run(f"CREATE TABLE {shop.name}.keyless (id int)")
    with pytest.raises(PermanentError, match=r"keyless.*REPLICA IDENTITY FULL"), capturing(shop.config()):
        pass
    shop.run(f"INSERT INTO {shop.name}.keyless VALUES (1)", f"UPDATE {shop.name}.keyless SET id = 2")


def test_a_table_that_comes_later_and_would_share_the_topic_of_another_ends_the_task_with_both_names(shop: Shop) -> None:
    shop.fill(1)
    shop.run(f'CREATE TABLE {shop.name}."a$b" (id int PRIMARY KEY, later int)')
    with capturing(shop.config()) as captured:
        captured.until(is_streaming)
        shop.run(f'CREATE TABLE {shop.name}."a@b" (id int PRIMARY KEY, later int)')
        with pytest.raises(PermanentError, match=rf"is the topic of {shop.name}\.a\$b and of {shop.name}\.a@b"):
            captured.until(lambda _: False)
