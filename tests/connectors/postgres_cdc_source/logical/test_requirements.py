"""What a server, a role and tables lack is said at once, with what helps."""

import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from connectors.postgres_cdc_source.logical.connection import Address, connect, connect_replication
from connectors.postgres_cdc_source.logical.publications import (
    add_tables,
    create_publication,
    drop_publication,
    inspect_publication,
)
from connectors.postgres_cdc_source.logical.requirements import problems
from connectors.postgres_cdc_source.logical.slots import drop_slot, new_slot
from connectors.postgres_cdc_source.logical.stream import Stream
from rocketconnect_sdk.errors import PermanentError
from tests.connectors.postgres_cdc_source.capturing import wait_until_free
from tests.connectors.postgres_cdc_source.conftest import SECONDS, Connection, address_of
from tests.servers.postgres import Postgres

pytestmark = pytest.mark.postgres


@pytest.fixture
def plain(database: Address, connection: Connection) -> Iterator[Address]:
    """A role that may nothing."""
    connection.execute("CREATE ROLE plain LOGIN PASSWORD 'x'")
    yield replace(database, user="plain", password="never-shown")
    connection.execute("DROP OWNED BY plain CASCADE")
    connection.execute("DROP ROLE plain")


@pytest.fixture
def tables(connection: Connection) -> Iterator[None]:
    connection.execute("CREATE TABLE good (id integer PRIMARY KEY)")
    connection.execute("CREATE TABLE keyless (id integer)")
    connection.execute("CREATE TABLE full_rows (id integer)")
    connection.execute("ALTER TABLE full_rows REPLICA IDENTITY FULL")
    connection.execute("CREATE TABLE nothing (id integer PRIMARY KEY)")
    connection.execute("ALTER TABLE nothing REPLICA IDENTITY NOTHING")
    connection.execute("CREATE UNLOGGED TABLE unlogged (id integer PRIMARY KEY)")
    connection.execute("CREATE TABLE parts (id integer PRIMARY KEY) PARTITION BY RANGE (id)")
    yield
    connection.execute("DROP TABLE good, keyless, full_rows, nothing, unlogged, parts")


def told(connection: Connection, *tables: str, slot: str = "wanted", publication: str = "wanted") -> dict[tuple[str, str], str]:
    """The fixes by key and reason."""
    wanted = [("public", table) for table in tables]
    return {(found.key, found.reason): f"{found.value} {found.fix}" for found in problems(connection, slot, publication, wanted)}


def test_where_nothing_is_missing_nothing_is_said(connection: Connection, tables: None) -> None:
    assert told(connection, "good", "full_rows", "parts") == {}


def test_a_partition_without_replica_identity_is_found(connection: Connection, tables: None) -> None:
    connection.execute("CREATE TABLE part PARTITION OF parts FOR VALUES FROM (1) TO (2)")
    assert told(connection, "parts") == {}
    connection.execute("ALTER TABLE part REPLICA IDENTITY NOTHING")
    ((key, reason),) = told(connection, "parts")
    assert key == "tables"
    assert "no replica identity" in reason


def test_everything_that_a_role_lacks_is_said_at_once(plain: Address, tables: None) -> None:
    with connect(plain) as connection:
        found = told(connection, "good", "keyless", "nothing", "unlogged", "gone")
    assert 'ALTER ROLE "plain" REPLICATION' in found["user", "the role may not replicate"]
    assert (
        'GRANT CREATE ON DATABASE "test" TO "plain"'
        in found["publication", "there is no such publication, and the role may not make it"]
    )
    fixes = " ".join(found.values())
    assert 'ALTER TABLE "public"."keyless" REPLICA IDENTITY FULL; ALTER TABLE "public"."nothing"' in fixes
    assert 'CREATE PUBLICATION "wanted" FOR TABLE "public"."good"' in fixes
    assert '"public"."gone"' in found["tables", "there are no such tables"]
    assert '"public"."unlogged"' in found["tables", "these are no tables whose changes are in the log"]
    assert len(found) == 6


def test_a_role_that_may_not_replicate_is_told_how(plain: Address) -> None:
    with pytest.raises(PermanentError, match='ALTER ROLE "plain" REPLICATION') as caught:
        connect_replication(plain)
    assert "never-shown" not in str(caught.value)


def test_a_publication_that_lacks_tables_or_operations_is_named(connection: Connection, tables: None) -> None:
    connection.execute("CREATE PUBLICATION narrow FOR TABLE good WITH (publish = 'insert, update')")
    found = told(connection, "good", "full_rows", publication="narrow")
    assert 'ADD TABLE "public"."full_rows"' in found["publication", 'the publication lacks "public"."full_rows"']
    assert ("publication", "the publication leaves out delete, truncate") in found
    connection.execute("ALTER PUBLICATION narrow ADD TABLE parts")
    found = told(connection, "parts", publication="narrow")
    reason = 'the publication lacks the partitioned tables "public"."parts" as a whole'
    assert "SET (publish_via_partition_root = true)" in found["publication", reason]
    drop_publication(connection, "narrow")
    drop_publication(connection, "narrow")
    assert inspect_publication(connection, "narrow") is None


def test_a_publication_has_the_tables_that_it_was_given(connection: Connection, tables: None) -> None:
    create_publication(connection, 'odd "name"', [("public", "good")])
    add_tables(connection, 'odd "name"', [("public", "good"), ("public", "parts")])
    found = inspect_publication(connection, 'odd "name"')
    assert found is not None
    assert found.tables == {("public", "good"), ("public", "parts")}
    assert not found.all_tables
    assert not found.left_out
    with pytest.raises(PermanentError, match="already exists"):
        create_publication(connection, 'odd "name"', None)
    drop_publication(connection, 'odd "name"')


def test_a_slot_of_another_kind_or_in_use_is_said(connection: Connection, database: Address) -> None:
    connection.execute("SELECT pg_create_physical_replication_slot('physical')")
    (fix,) = told(connection, slot="physical").values()
    assert "pg_drop_replication_slot('physical')" in fix
    drop_slot(connection, "physical")
    create_publication(connection, "busy", None)
    with new_slot(database, "busy"):
        pass
    with Stream(database, "busy", ["busy"], 0):
        ((key, reason), fix), *_ = told(connection, slot="busy", publication="busy").items()
        assert key == "slot"
        assert "in use by process" in reason
        assert "pg_terminate_backend" in fix
        assert problems(connection, "busy", "busy", [], in_use=True) == []
    wait_until_free(connection, "busy")
    drop_slot(connection, "busy")
    drop_publication(connection, "busy")


def test_a_server_that_is_not_made_for_it_is_told_all_at_once() -> None:
    server = Postgres(fsync="off", max_replication_slots="0", max_wal_senders="0")
    with server.running("test") as url, connect(address_of(url)) as connection:
        found = {key: fix for (key, _), fix in told(connection).items()}
    assert list(found) == ["wal_level", "max_replication_slots", "max_wal_senders"]
    assert "ALTER SYSTEM SET wal_level = 'logical'" in found["wal_level"]


def test_a_wrong_password_is_permanent_and_never_shown() -> None:
    server = Postgres(fsync="off", wal_level="logical")
    address = replace(address_of(server.url()), user="careful", password="wrong-word")
    process = subprocess.Popen(server.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
    try:
        deadline = time.monotonic() + SECONDS
        while not server.is_ready():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with connect(address_of(server.url())) as connection:
            connection.execute("CREATE ROLE careful LOGIN REPLICATION PASSWORD 'right-word'")
            row = connection.execute("SHOW hba_file").fetchone()
            assert row is not None
            connection.execute(f"COPY (SELECT 'host all all 127.0.0.1/32 scram-sha-256') TO '{row[0]}'".encode())
            connection.execute("SELECT pg_reload_conf()")
        time.sleep(0.5)
        for password, reason in (("wrong-word", "password authentication failed"), ("", "no password supplied")):
            for open_it in (connect, connect_replication):
                with pytest.raises(PermanentError, match=reason) as caught:
                    open_it(replace(address, password=password))
                assert "wrong-word" not in f"{caught.value} {address} {address!r}"
        with connect(replace(address, password="right-word")) as connection:
            assert problems(connection, "s", "p", [])
    finally:
        process.terminate()
        process.wait(SECONDS)
        server.remove()
