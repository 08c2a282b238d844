"""Whether a slot can go on where a stored position ends."""

from dataclasses import replace

import pytest

from connectors.postgres_cdc_source.logical.continuity import Stored, breaks
from connectors.postgres_cdc_source.logical.slots import Server, Slot, drop_slot, identify, inspect_slot, new_slot, parse_history
from rocketconnect_sdk.errors import PermanentError, RetriableError
from tests.connectors.postgres_cdc_source.conftest import Changes, Connection

SERVER = Server("1", 2, 2000, {1: 500})
SLOT = Slot("s", "pgoutput", "db", 0, "reserved", 800, 900, 2000)
STORED = Stored("1", 2, 1000)


def found(stored: Stored = STORED, server: Server = SERVER, slot: Slot | None = SLOT) -> list[str]:
    return breaks(stored, server, slot, "s", "db")


def test_a_slot_that_stands_at_the_position_or_before_goes_on() -> None:
    assert found() == []
    assert found(replace(STORED, position=900)) == []


def test_a_position_of_a_former_timeline_goes_on_where_that_had_not_ended() -> None:
    assert found(Stored("1", 1, 500), slot=replace(SLOT, confirmed_lsn=500)) == []


@pytest.mark.parametrize(
    ("stored", "server", "slot", "reason"),
    [
        (replace(STORED, system="9"), SERVER, SLOT, "other data"),
        (replace(STORED, position=3000), SERVER, SLOT, "older copy"),
        (Stored("1", 1, 501), SERVER, replace(SLOT, confirmed_lsn=400), "failover"),
        (STORED, SERVER, None, "is gone"),
        (STORED, SERVER, replace(SLOT, plugin="wal2json"), "wal2json"),
        (STORED, SERVER, replace(SLOT, plugin="", database=""), "physical"),
        (STORED, SERVER, replace(SLOT, database="other"), "'other'"),
        (STORED, SERVER, replace(SLOT, wal_status="lost"), "invalid"),
        (STORED, SERVER, replace(SLOT, confirmed_lsn=1001), "dropped and made anew"),
    ],
)
def test_each_break_is_said(stored: Stored, server: Server, slot: Slot | None, reason: str) -> None:
    (text,) = found(stored, server, slot)
    assert reason in text


def test_a_history_says_where_timelines_ended() -> None:
    assert parse_history("1\t0/1F4\tno recovery target specified\n\n2\t1/0\treason\n") == {1: 0x1F4, 2: 1 << 32}


@pytest.mark.postgres
def test_a_slot_that_was_dropped_and_made_anew_is_found_even_when_nothing_happened_meanwhile(changes: Changes) -> None:
    connection, address, name = changes.connection, changes.address, changes.name
    connection.execute("CREATE TABLE anew (id integer PRIMARY KEY)")
    connection.execute("INSERT INTO anew VALUES (1)")
    stream = changes.open()
    while (reached := stream.read(1.0).reached) < identify(address).wal_end:
        pass
    stream.confirm(reached)
    changes.close()
    stored = Stored(identify(address).system, identify(address).timeline, reached)
    slot = inspect_slot(connection, name)
    assert breaks(stored, identify(address), slot, name, address.database) == []
    drop_slot(connection, name)
    with new_slot(address, name):
        pass
    slot = inspect_slot(connection, name)
    (text,) = breaks(stored, identify(address), slot, name, address.database)
    assert "dropped and made anew" in text
    connection.execute("DROP TABLE anew")


@pytest.mark.postgres
def test_a_slot_that_somebody_advanced_is_found(changes: Changes) -> None:
    connection, address, name = changes.connection, changes.address, changes.name
    stored = Stored(identify(address).system, identify(address).timeline, changes.start)
    connection.execute("CREATE TABLE advanced AS SELECT 1 AS id")
    connection.execute("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", [name])
    (text,) = breaks(stored, identify(address), inspect_slot(connection, name), name, address.database)
    assert "advanced it" in text
    connection.execute("DROP TABLE advanced")


@pytest.mark.postgres
def test_the_snapshot_of_a_new_slot_shows_exactly_what_its_stream_does_not(changes: Changes, connection: Connection) -> None:
    connection.execute("CREATE TABLE seen (id integer PRIMARY KEY)")
    connection.execute("INSERT INTO seen VALUES (1)")
    with new_slot(changes.address, "with_snapshot") as slot:
        connection.execute("INSERT INTO seen VALUES (2)")
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            connection.execute(f"SET TRANSACTION SNAPSHOT '{slot.snapshot}'".encode())
            assert connection.execute("SELECT id FROM seen").fetchall() == [(1,)]
        with pytest.raises(PermanentError, match="already exists"), new_slot(changes.address, "with_snapshot"):
            pass
    streamed = connection.execute(
        "SELECT count(*) FROM pg_logical_slot_get_binary_changes('with_snapshot', NULL, NULL, 'proto_version', '1',"
        " 'publication_names', %s) WHERE get_byte(data, 0) = ascii('I')",
        [changes.name],
    ).fetchone()
    assert streamed == (1,)
    drop_slot(connection, "with_snapshot")
    drop_slot(connection, "with_snapshot")
    assert inspect_slot(connection, "with_snapshot") is None
    connection.execute("DROP TABLE seen")


@pytest.mark.postgres
def test_the_lag_of_a_slot_grows_with_the_log_and_goes_with_a_confirmation(changes: Changes) -> None:
    changes.connection.execute("CREATE TABLE lagging AS SELECT generate_series(1, 10000) AS id")
    slot = inspect_slot(changes.connection, changes.name)
    assert slot is not None
    assert slot.lag > 500_000
    assert slot.kept >= slot.lag
    stream = changes.open()
    while (reached := stream.read(1.0).reached) < slot.wal_end:
        pass
    stream.confirm(reached)
    changes.close()
    slot = inspect_slot(changes.connection, changes.name)
    assert slot is not None
    assert slot.lag < 500_000
    changes.connection.execute("DROP TABLE lagging")


@pytest.mark.postgres
def test_a_slot_in_use_is_not_dropped(changes: Changes) -> None:
    changes.open()
    with pytest.raises(RetriableError, match="is active"):
        drop_slot(changes.connection, changes.name)
