"""A deleted connector takes its slot and its publication with it, and nothing that is another's by then."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from connectors.databases import sessions
from connectors.postgres_cdc_source import PostgresCdcSource, ownership
from connectors.postgres_cdc_source.logical.connection import ask, connect
from connectors.postgres_cdc_source.logical.publications import create_publication, inspect_publication
from connectors.postgres_cdc_source.logical.slots import drop_slot, inspect_slot, new_slot
from connectors.postgres_cdc_source.ownership import Owner
from connectors.postgres_cdc_source.settings import address_of
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from tests.connectors.postgres_cdc_source.capturing import Captured, Shop, capturing, is_streaming, parsed, wait_until_free


def run(shop: Shop, uid: str, **more: str) -> Captured:
    """A connector that has begun to read the log, and is stopped."""
    with capturing(shop.config(**more), uid=uid) as captured:
        captured.until(is_streaming)
    wait_until_free(shop.connection, shop.name)
    return captured


def delete(shop: Shop, uid: str, **more: str) -> None:
    PostgresCdcSource().deleted(parsed(shop.config(**more)), uid)


def has(change: tuple[str, Any], captured: Captured) -> bool:
    return change in captured.ops()


def left(shop: Shop) -> tuple[bool, bool]:
    """Whether the slot and the publication are there."""
    return inspect_slot(shop.connection, shop.name) is not None, inspect_publication(shop.connection, shop.name) is not None


@pytest.mark.parametrize(
    "owner", [Owner("u1"), Owner("u1", publication=True), Owner("u1", slot="s_1"), Owner("u1", publication=True, slot="s_1")]
)
def test_a_comment_says_who_the_owner_is(owner: Owner) -> None:
    assert Owner.of(str(owner)) == owner


@pytest.mark.parametrize("comment", [None, "", "orders for the shop", "RocketConnect", f"{Owner('u1', slot='s')}, more or less"])
def test_a_comment_of_other_people_is_none(comment: str | None) -> None:
    assert Owner.of(comment) is None


def test_what_a_connector_made_is_dropped_with_it_and_a_second_time_nothing_happens(shop: Shop) -> None:
    shop.fill(1)
    run(shop, "first")
    delete(shop, "first")
    assert left(shop) == (False, False)
    delete(shop, "first")


def test_a_slot_that_another_connector_took_over_stays_until_that_one_is_deleted(shop: Shop) -> None:
    shop.fill(1)
    run(shop, "first")
    run(shop, "second")
    delete(shop, "first")
    assert left(shop) == (True, True)
    delete(shop, "second")
    assert left(shop) == (False, False)


def test_a_slot_that_another_connector_reads_now_is_not_taken_over(shop: Shop) -> None:
    shop.fill(1)
    with capturing(shop.config(), uid="first") as first:
        first.until(is_streaming).poll()
        with (
            pytest.raises(RetriableError, match=r"read by another connector now \(uid first\)"),
            capturing(shop.config(), uid="second"),
        ):
            pass
    wait_until_free(shop.connection, shop.name)
    delete(shop, "second")
    assert left(shop) == (True, True)


def test_what_people_made_stays_and_of_the_slot_they_are_told(shop: Shop) -> None:
    shop.fill(1)
    create_publication(shop.connection, shop.name, [(shop.name, "orders")])
    with new_slot(shop.address, shop.name):
        pass
    run(shop, "first")
    with pytest.raises(PermanentError, match=rf"stays: .* SELECT pg_drop_replication_slot\('{shop.name}'\)"):
        delete(shop, "first")
    assert left(shop) == (True, True)
    drop_slot(shop.connection, shop.name)
    delete(shop, "first")
    assert left(shop) == (False, True)


def test_of_a_publication_that_people_made_the_slot_is_dropped_alone(shop: Shop) -> None:
    shop.fill(1)
    create_publication(shop.connection, shop.name, [(shop.name, "orders")])
    run(shop, "first")
    delete(shop, "first")
    assert left(shop) == (False, True)


@pytest.fixture
def reader(shop: Shop) -> Iterator[str]:
    """A role that owns nothing."""
    shop.run("CREATE ROLE reader LOGIN REPLICATION")
    yield "reader"
    shop.run("DROP OWNED BY reader CASCADE", "DROP ROLE reader")


def test_a_role_that_does_not_own_the_publication_captures_and_is_told_of_the_slot(
    shop: Shop, reader: str, caplog: pytest.LogCaptureFixture
) -> None:
    shop.fill(1)
    shop.run(f"GRANT USAGE ON SCHEMA {shop.name} TO reader", f"GRANT SELECT ON ALL TABLES IN SCHEMA {shop.name} TO reader")
    create_publication(shop.connection, shop.name, [(shop.name, "orders")])
    assert len(run(shop, "first", username=reader).records) == 1
    assert f"the slot {shop.name} has to be dropped by hand" in caplog.text
    with pytest.raises(PermanentError, match="was not made by this connector"):
        delete(shop, "first", username=reader)
    assert left(shop) == (True, True)


def test_a_slot_in_use_is_tried_again_and_nothing_is_dropped_by_halves(shop: Shop) -> None:
    shop.fill(1)
    with capturing(shop.config(), uid="first") as captured:
        captured.until(is_streaming).poll()
        with pytest.raises(RetriableError):
            delete(shop, "first")
        assert left(shop) == (True, True)
    wait_until_free(shop.connection, shop.name)
    delete(shop, "first")
    assert left(shop) == (False, False)


def test_a_server_that_is_away_is_tried_again(shop: Shop) -> None:
    with pytest.raises(SystemAway):
        delete(shop, "first", port="1")


def test_a_connector_that_only_read_the_rows_that_were_there_leaves_nothing_and_drops_nothing(shop: Shop) -> None:
    shop.fill(1)
    run(shop, "other")
    with capturing(shop.config(snapshot_mode="only"), uid="first") as captured:
        captured.until(lambda so_far: so_far.records)
    delete(shop, "first", snapshot_mode="only")
    assert left(shop) == (True, True)


def test_whoever_begins_while_the_former_one_is_cleaned_up_has_a_slot_of_its_own_or_the_former_one(shop: Shop) -> None:
    shop.fill(1)
    run(shop, "number-0")
    for number in range(1, 15):
        both = threading.Barrier(2)

        def clean_up(uid: str, both: threading.Barrier = both) -> None:
            both.wait()
            delete(shop, uid)

        with ThreadPoolExecutor() as pool:
            cleaned = pool.submit(clean_up, f"number-{number - 1}")
            both.wait()
            with capturing(shop.config(), uid=f"number-{number}") as captured:
                captured.until(is_streaming)
                cleaned.result()
                shop.run(f"INSERT INTO {shop.name}.orders VALUES ({number + 1}, 'new')")
                captured.until(partial(has, ("c", {"id": number + 1, "name": "new"})))
        wait_until_free(shop.connection, shop.name)
        assert left(shop) == (True, True)


def test_nobody_takes_a_slot_while_another_one_drops_it(shop: Shop) -> None:
    """What is looked at under the lock is as it is."""
    shop.fill(1)
    run(shop, "first")
    shop.connection.execute("BEGIN")
    shop.connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"rocketconnect slot {shop.name}"])
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(delete, shop, "first")
        assert not waiting.done()
        take_text = str(Owner("second", publication=True, slot=shop.name))
        shop.connection.execute(f"COMMENT ON PUBLICATION {shop.name} IS '{take_text}'".encode())
        shop.connection.execute("COMMIT")
        waiting.result()
    assert left(shop) == (True, True)


def test_the_lock_of_a_slot_of_one_who_is_gone_without_a_word_ends(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "ABANDONED_SECONDS", 1)
    address = address_of(parsed(shop.config()))
    asked, goes_on, ends = threading.Event(), threading.Event(), list[Exception]()

    def rests(*given: Any) -> Any:
        answer: Any = ask(*given)
        if threading.current_thread() is thread and "pg_advisory" in given[1]:
            asked.set()
            goes_on.wait(60)
        return answer

    def release() -> None:
        with connect(address) as connection:
            try:
                ownership.release(connection, shop.name, shop.name, "gone")
            except SystemAway as error:
                ends.append(error)

    thread = threading.Thread(target=release)
    monkeypatch.setattr(ownership, "ask", rests)
    thread.start()
    assert asked.wait(60)
    with connect(address) as connection:
        ownership.release(connection, shop.name, shop.name, "next")
    goes_on.set()
    thread.join(60)
    assert len(ends) == 1
