"""A stream gives all that a real server writes after a position, once and in order, or says why it cannot."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from connectors.databases.tls import DatabaseTls
from connectors.mysql_cdc_source.binlog.definitions import completed
from connectors.mysql_cdc_source.binlog.errors import MalformedEvent, NotAllowed, NotReady, PositionPurged
from connectors.mysql_cdc_source.binlog.events import Change, Heartbeat, Query, Rotate, Rows, Statement, TableMapped, Xid
from connectors.mysql_cdc_source.binlog.row_reading.table_map import TableMap
from connectors.mysql_cdc_source.binlog.server import Position, connected, end_of_log
from connectors.mysql_cdc_source.binlog.stream import BinlogStream, Entry
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.http.login import Tls
from tests.connectors.mysql_cdc_source.binlog.reading import Database, login_of, read_until
from tests.servers.mariadb import Mariadb

pytestmark = pytest.mark.mariadb


@pytest.fixture(scope="module")
def other() -> Iterator[Mariadb]:
    """A server whose log may be thrown away and that may be stopped."""
    with Mariadb().running() as server:
        yield server


@contextmanager
def _global(database: Database, name: str, value: str) -> Iterator[None]:
    before = database.select(f"SELECT @@GLOBAL.{name}")[0][0]
    database.run(f"SET GLOBAL {name} = {value}")
    try:
        yield
    finally:
        with database.connection.cursor() as cursor:
            cursor.execute(f"SET GLOBAL {name} = %s", (before,))


def _changes(entries: list[Entry]) -> list[tuple[Any, ...]]:
    return [(entry.event.change, entry.event.before, entry.event.after) for entry in entries if isinstance(entry.event, Rows)]


def test_inserts_updates_and_deletes_come_with_the_rows_before_and_after(database: Database) -> None:
    database.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9))")
    start = database.end()
    database.run("INSERT INTO t VALUES (1, 'a'), (2, NULL)", "UPDATE t SET id = id + 10, name = 'b'", "DELETE FROM t WHERE id = 11")
    entries = database.entries(start)
    assert _changes(entries) == [
        (Change.INSERT, [], [(1, "a"), (2, None)]),
        (Change.UPDATE, [(1, "a"), (2, None)], [(11, "b"), (12, "b")]),
        (Change.DELETE, [(11, "b")], []),
    ]
    assert [entry.event.text for entry in entries if isinstance(entry.event, Statement)][-1] == "DELETE FROM t WHERE id = 11"


def test_a_table_has_the_names_and_the_key_of_its_columns(database: Database) -> None:
    database.run("CREATE TABLE `tä` (a INT, `b ü` VARCHAR(300), c INT UNSIGNED NOT NULL, PRIMARY KEY (c, `b ü`(10)))")
    start = database.end()
    database.run("INSERT INTO `tä` VALUES (1, 'x', 2)")
    table = next(entry.event.table for entry in database.entries(start) if isinstance(entry.event, TableMapped))
    assert (table.schema, table.table, table.missing) == (database.name, "tä", ())
    assert [(column.name, column.unsigned, column.nullable) for column in table.columns] == [
        ("a", False, True),
        ("b ü", None, False),
        ("c", True, False),
    ]
    assert [table.columns[part.column].name for part in table.primary_key] == ["c", "b ü"]
    assert [part.prefix for part in table.primary_key] == [0, 10]


def test_from_each_position_after_a_transaction_exactly_the_rest_comes(database: Database) -> None:
    database.run("CREATE TABLE t (id INT PRIMARY KEY) ENGINE = InnoDB", "CREATE TABLE m (id INT) ENGINE = MyISAM")
    start = database.end()
    for number in range(5):
        database.run(f"INSERT INTO t VALUES ({number})", f"INSERT INTO m VALUES ({number})", f"CREATE TABLE t{number} (id INT)")
        if number == 2:
            database.run(
                "FLUSH BINARY LOGS", "BEGIN", "INSERT INTO t VALUES (77)", "SAVEPOINT s", "INSERT INTO t VALUES (78)", "COMMIT"
            )
    end = database.end()
    entries = database.entries(start, end)
    wanted = _told(entries)
    assert len([told for told in wanted if told[0] == "rows"]) == 12
    whole = [
        at for at, entry in enumerate(entries, 1)
        if isinstance(entry.event, Xid) or (isinstance(entry.event, Query) and entry.event.text.startswith(("CREATE", "COMMIT")))
    ]  # fmt: skip
    assert len(whole) == 16
    for at in whole:
        position = entries[at - 1].position
        rest = _told(entries[at:])
        assert _told(database.entries(position, end)) == rest
        assert _told(database.entries(Position(gtid_set=position.gtid_set), end)) == rest


def _told(entries: list[Entry]) -> list[tuple[object, ...]]:
    """What entries say, without what is different for each connection."""
    told: list[tuple[object, ...]] = []
    for entry in entries:
        if isinstance(entry.event, Rows):
            told.append(("rows", entry.event.table.table, entry.event.after, entry.position, entry.gtid))
        elif isinstance(entry.event, Query | Xid):
            told.append((entry.event, entry.position, entry.gtid))
    return told


def test_a_position_says_the_gtids_that_the_server_says(database: Database) -> None:
    database.run("CREATE TABLE t (id INT)")
    start = database.end()
    database.run("INSERT INTO t VALUES (1)", "SET SESSION gtid_domain_id = 7", "INSERT INTO t VALUES (2)", "DROP TABLE t")
    database.run("SET SESSION gtid_domain_id = 0")
    end = database.end()
    last = database.entries(start, end)[-1]
    assert last.position == end
    assert "7-1-" in last.position.gtid_set


def test_a_stream_follows_the_log_into_its_next_file(database: Database) -> None:
    database.run("CREATE TABLE t (id INT)")
    start = database.end()
    database.run("INSERT INTO t VALUES (1)", "FLUSH BINARY LOGS", "INSERT INTO t VALUES (2)")
    end = database.end()
    entries = database.entries(start, end)
    assert [row for _, _, after in _changes(entries) for row in after] == [(1,), (2,)]
    # Not only the last one: the server notes by itself, some time later, that it needs the file before no more.
    assert end in [entry.position for entry in entries]
    assert entries[-1].position.file > start.file
    assert any(isinstance(entry.event, Rotate) for entry in entries)


def test_what_is_written_later_comes_at_once(database: Database) -> None:
    database.run("CREATE TABLE t (id INT)")
    with database.stream(database.end()) as stream:
        while stream.poll(0.2):
            pass
        end = database.end()
        # Nobody else uses the connection meanwhile.
        later = threading.Timer(0.3, lambda: database.run("INSERT INTO t VALUES (1)"))
        later.start()
        begun = time.monotonic()
        entries = read_until(stream, Position(end.file, end.offset + 1))
        assert time.monotonic() - begun < 10
        later.join()
        assert _changes(entries) == [(Change.INSERT, [], [(1,)])]


def test_a_quiet_server_is_known_to_live_by_its_heartbeats(database: Database) -> None:
    with database.stream(database.end(), heartbeat=0.1) as stream:
        entries: list[Entry] = []
        while not any(isinstance(entry.event, Heartbeat) for entry in entries):
            entries = stream.poll(5)
            assert entries
        assert entries[-1].position == database.end()


def test_closing_from_another_thread_ends_a_poll_at_once(database: Database) -> None:
    stream = database.stream(database.end())
    while stream.poll(0.2):
        pass
    threading.Timer(0.2, stream.close).start()
    begun = time.monotonic()
    assert stream.poll(100) == []
    assert time.monotonic() - begun < 20
    assert list(stream) == []
    stream.close()


def test_a_restarted_server_is_away_and_then_goes_on_from_the_position(other: Mariadb) -> None:
    with Database(other) as database:
        database.run("CREATE TABLE t (id INT)")
        start = database.end()
        database.run("INSERT INTO t VALUES (1)")
        with database.stream(start) as stream:
            entries = read_until(stream, database.end())
            other.stop()
            with pytest.raises(SystemAway):
                for entry in stream:
                    entries.append(entry)
            with pytest.raises(SystemAway):
                database.stream(start)
            other.start()
        database.connection = other.connect(database=database.name)
        database.run("INSERT INTO t VALUES (2)")
        entries += database.entries(entries[-1].position)
        assert [row for _, _, after in _changes(entries) for row in after] == [(1,), (2,)]


def test_after_a_failover_a_replica_goes_on_from_the_gtids(other: Mariadb) -> None:
    replica = Mariadb(server_id="2", log_slave_updates="ON", log_bin="replica")
    with replica.running(), Database(other) as database, replica.connect() as follower, follower.cursor() as cursor:
        database.run("CREATE TABLE t (id INT)")
        start = database.end()
        cursor.execute("SET GLOBAL gtid_slave_pos = %s", (start.gtid_set,))
        cursor.execute(
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %s, MASTER_USER = 'root', MASTER_PASSWORD = %s,"
            " MASTER_USE_GTID = slave_pos",
            (other.port, database.login.password),
        )
        cursor.execute(f"CREATE DATABASE {database.name}")
        cursor.execute(f"CREATE TABLE {database.name}.t (id INT)")
        cursor.execute("START SLAVE")
        database.run("INSERT INTO t VALUES (1)")
        first = database.entries(start)
        database.run("INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (3)")
        cursor.execute("SELECT MASTER_GTID_WAIT(%s, 30)", (database.end().gtid_set,))
        with connected(login_of(replica)) as connection:
            end = end_of_log(connection)
        cursor.execute("STOP SLAVE")
        at = Position(gtid_set=first[-1].position.gtid_set)
        with BinlogStream(login_of(replica), at, server_id=4_998) as stream:
            rest = read_until(stream, end)
    assert [row for _, _, after in _changes(first + rest) for row in after] == [(1,), (2,), (3,)]


def test_a_purged_position_names_what_is_missing_and_what_is_left(other: Mariadb) -> None:
    with Database(other) as database:
        old = database.end()
        database.run("CREATE TABLE t (id INT)", "FLUSH BINARY LOGS", "INSERT INTO t VALUES (1)", "FLUSH BINARY LOGS")
        left = database.end()
        # The server keeps what a stream reads, and learns only later that it was closed.
        for (thread,) in database.select("SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump'"):
            database.run(f"KILL {thread}")
        while len(database.select("SHOW BINARY LOGS")) > 1:
            database.run(f"PURGE BINARY LOGS TO '{left.file}'")
        for start in (old, Position(gtid_set=old.gtid_set)):
            with database.stream(start) as stream, pytest.raises(PositionPurged) as raised:
                list(stream)
            assert str(start) in str(raised.value)
            assert f"It has {left.file} to {left.file}, which ends at " in str(raised.value)
            assert left.gtid_set in str(raised.value)


def test_a_position_that_is_not_yet_is_refused(database: Database) -> None:
    end = database.end()
    with (
        database.stream(end._replace(offset=end.offset + 1_000_000)) as stream,
        pytest.raises(PositionPurged, match="does not have"),
    ):
        list(stream)


def test_a_wrong_password_is_named_and_not_shown(database: Database) -> None:
    login = replace(database.login, password="a-wrong-secret")
    with pytest.raises(NotAllowed, match="refuses the user or the password") as raised:
        database.login = login
        database.stream(Position("log.000001"))
    assert "a-wrong-secret" not in str(raised.value) + repr(raised.value.__context__) + repr(login)


def test_without_the_privilege_to_replicate_a_stream_names_the_grant(database: Database) -> None:
    start = database.end()
    database.run("CREATE OR REPLACE USER reader IDENTIFIED BY 'secret'")
    database.login = replace(database.login, user="reader", password="secret")
    with pytest.raises(NotAllowed, match="GRANT REPLICATION SLAVE ON"):
        database.stream(start)


def test_a_port_where_nobody_listens_is_a_server_that_is_away(database: Database, free_port: Any) -> None:
    database.login = replace(database.login, port=free_port())
    with pytest.raises(SystemAway, match="does not answer"):
        database.stream(Position("log.000001"))


def test_the_values_of_a_minimal_image_are_those_of_the_columns_that_it_names(database: Database) -> None:
    database.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(9) DEFAULT 'd', c DATE)", "SET binlog_row_image = 'MINIMAL'")
    start = database.end()
    database.run("INSERT INTO t (id, c) VALUES (1, '2024-02-29')", "UPDATE t SET b = 'new', c = NULL", "DELETE FROM t")
    database.run("SET binlog_row_image = 'FULL'")
    insert, update, delete = database.rows(start)
    assert (insert.after_columns, insert.after) == ((0, 3), [(1, datetime(2024, 2, 29, tzinfo=UTC).date())])
    assert (update.before_columns, update.before) == ((0,), [(1,)])
    assert (update.after_columns, update.after) == ((2, 3), [("new", None)])
    assert (delete.before_columns, delete.before) == ((0,), [(1,)])


def test_an_insert_of_defaults_alone_has_a_row_without_values(database: Database) -> None:
    database.run("CREATE TABLE t (a INT DEFAULT 1)", "SET binlog_row_image = 'MINIMAL'")
    start = database.end()
    database.run("INSERT INTO t VALUES ()", "SET binlog_row_image = 'FULL'")
    rows = database.rows(start)
    assert [len(event.after) for event in rows] == [1]


def test_a_compressed_log_is_the_same(database: Database) -> None:
    database.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(2000))")
    start = database.end()
    with _global(database, "log_bin_compress", "ON"):
        database.run(
            f"INSERT INTO t VALUES (1, '{'a' * 999}'), (2, '{'b' * 999}')", f"UPDATE t SET name = '{'c' * 999}'", "DELETE FROM t"
        )
        database.run(f"CREATE TABLE t2 (id INT) COMMENT '{'z' * 999}'")
    entries = database.entries(start)
    assert {entry.header.type for entry in entries} >= {165, 166, 167, 168}
    assert _changes(entries) == [
        (Change.INSERT, [], [(1, "a" * 999), (2, "b" * 999)]),
        (Change.UPDATE, [(1, "a" * 999), (2, "b" * 999)], [(1, "c" * 999), (2, "c" * 999)]),
        (Change.DELETE, [(1, "c" * 999), (2, "c" * 999)], []),
    ]
    assert entries[-1].event == Query(database.name, f"CREATE TABLE t2 (id INT) COMMENT '{'z' * 999}'")


def test_a_log_without_checksums_is_read(database: Database) -> None:
    database.run("CREATE TABLE t (id INT)")
    with _global(database, "binlog_checksum", "NONE"):
        start = database.end()
        database.run("INSERT INTO t VALUES (1)")
        assert _changes(database.entries(start)) == [(Change.INSERT, [], [(1,)])]
    start = database.end()
    database.run("INSERT INTO t VALUES (2)")
    assert _changes(database.entries(start)) == [(Change.INSERT, [], [(2,)])]


def test_a_log_that_changes_its_checksums_in_between_is_read(database: Database) -> None:
    database.run("CREATE TABLE t (id INT)")
    start = database.end()
    with _global(database, "binlog_checksum", "NONE"):
        database.run("INSERT INTO t VALUES (1)")
    database.run("INSERT INTO t VALUES (2)")
    assert _changes(database.entries(start)) == [(Change.INSERT, [], [(1,)]), (Change.INSERT, [], [(2,)])]


@pytest.mark.parametrize("metadata", ["'NO_LOG'", "'MINIMAL'"])
def test_what_the_log_leaves_out_of_a_table_comes_from_its_definition(database: Database, metadata: str) -> None:
    database.run(
        "CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY, y YEAR, e ENUM('a','b''é'), s SET('x','y'),"
        " l VARCHAR(9) CHARACTER SET latin1, b BLOB, u UUID, t TINYINT, bin BINARY(4))"
    )
    row = "(18446744073709551615, 2024, 'b''é', 'x,y', 'é', 'raw', '12345678-1234-4234-8234-123456789a00', -1, 'a')"
    start = database.end()
    with _global(database, "binlog_row_metadata", metadata):
        database.run(f"INSERT INTO t VALUES {row}")
        with connected(database.login) as connection:
            found = database.rows(start, complete=lambda table: completed(connection, table))[0]
        bare = database.rows(start)[0]
    start = database.end()
    database.run("DELETE FROM t")
    with connected(database.login) as connection:
        full = database.rows(start, complete=lambda table: completed(connection, table))[0]
    assert found.after == full.before
    assert [column.name for column in found.table.columns] == ["id", "y", "e", "s", "l", "b", "u", "t", "bin"]
    assert {"names", "labels", "extensions"} <= set(bare.table.missing)
    assert bare.after[0][2] == 2  # an ENUM without labels is its number


def test_a_definition_with_other_columns_than_a_log_without_names_is_refused(database: Database) -> None:
    database.run("CREATE TABLE t (id INT)")
    start = database.end()
    with _global(database, "binlog_row_metadata", "'NO_LOG'"):
        database.run("INSERT INTO t VALUES (1)")
    database.run("ALTER TABLE t ADD COLUMN name TEXT")
    with connected(database.login) as connection, pytest.raises(MalformedEvent, match="binlog_row_metadata=FULL"):
        database.rows(start, complete=lambda table: completed(connection, table))


def test_the_rows_of_a_table_that_nobody_wants_are_not_read(database: Database) -> None:
    database.run("CREATE TABLE t (id INT)", "CREATE TABLE other (id INT)")
    start = database.end()
    database.run("INSERT INTO other VALUES (1)", "INSERT INTO t VALUES (2)")
    rows = database.rows(start, wanted=lambda schema, table: (schema, table) == (database.name, "t"))
    assert [event.after for event in rows] == [[(2,)]]


def test_an_event_of_more_than_16_mib_comes_whole(database: Database) -> None:
    database.run("CREATE TABLE t (id INT, value LONGBLOB)", "SET SESSION sql_log_bin = 0")
    with _global(database, "max_allowed_packet", str(64 << 20)), database.server.connect(database=database.name) as connection:
        start = database.end()
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO t SELECT 1, REPEAT('0123456789abcdef', 2097152)")
            cursor.execute("INSERT INTO t VALUES (2, 'after')")
        rows = [row for event in database.rows(start) for row in event.after]
    assert [(key, len(value), value[-5:]) for key, value in rows] == [(1, 32 << 20, b"bcdef"), (2, 5, b"after")]


_COUNT = """
import resource, sys
from connectors.mysql_cdc_source.binlog.events import Rows, Xid
from connectors.mysql_cdc_source.binlog.server import Login, Position
from connectors.mysql_cdc_source.binlog.stream import BinlogStream
port, password, file, offset = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
first = rows = total = 0
with BinlogStream(Login("127.0.0.1", port, "root", password), Position(file, offset), server_id=77) as stream:
    for entry in stream:
        if isinstance(entry.event, Rows):
            rows += len(entry.event.after)
            total += sum(row[0] for row in entry.event.after)
            first = first or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        elif isinstance(entry.event, Xid):
            break
print(rows, total, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - first)
"""


@pytest.mark.slow
def test_a_transaction_of_a_million_rows_takes_no_more_memory_than_a_small_one(database: Database) -> None:
    database.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(40))")
    start = database.end()
    database.run("INSERT INTO t SELECT seq, CONCAT('the name of ', seq) FROM seq_1_to_1000000")
    arguments = [str(database.server.port), database.login.password, start.file, str(start.offset)]
    done = subprocess.run([sys.executable, "-c", _COUNT, *arguments], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    rows, total, grown_kib = map(int, done.stdout.split())
    assert (rows, total) == (1_000_000, 1_000_000 * 1_000_001 // 2)
    assert grown_kib < 40_000


def test_a_log_is_read_over_tls(tmp_path: Path) -> None:
    certificate, key = _certificate(tmp_path)
    with Mariadb(ssl_cert=str(certificate), ssl_key=str(key)).running() as server, Database(server) as database:
        database.run("CREATE TABLE t (id INT, value LONGTEXT)", "CREATE USER safe IDENTIFIED BY 'secret' REQUIRE SSL")
        database.run("GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO safe")
        start = database.end()
        plain = replace(login_of(server), user="safe", password="secret")
        database.run("INSERT INTO t VALUES (1, REPEAT('x', 3000000))")
        end = database.end()
        database.login = replace(plain, tls=DatabaseTls("disable"))
        with pytest.raises(NotAllowed):
            database.stream(start)
        database.login = replace(plain, tls=DatabaseTls("verify-full", Tls(str(certificate))))
        assert _changes(database.entries(start, end)) == [(Change.INSERT, [], [(1, "x" * 3_000_000)])]
        database.login = replace(plain, tls=DatabaseTls("verify-full"))
        with pytest.raises(NotReady, match="certificate"):
            database.stream(start)


def test_a_server_without_tls_is_named_where_tls_is_wanted(database: Database) -> None:
    start = database.end()
    database.login = replace(database.login, tls=DatabaseTls("verify-full"))
    with pytest.raises(NotReady, match="TLS"):
        database.stream(start)


def test_a_second_replica_with_the_same_id_ends_the_first(database: Database) -> None:
    start = database.end()
    with BinlogStream(database.login, start, server_id=4_999, heartbeat=0.1) as first:
        first.poll(1)
        with BinlogStream(database.login, start, server_id=4_999), pytest.raises((NotReady, SystemAway)):
            list(first)


def test_after_a_failure_a_stream_gives_nothing_more(database: Database) -> None:
    database.run("CREATE TABLE t (id INT, u UUID)")
    start = database.end()
    database.run("INSERT INTO t VALUES (1, NULL)", "DROP TABLE t")

    def fail(table: TableMap) -> TableMap:
        raise ZeroDivisionError(table.table)

    with database.stream(start, complete=fail) as stream:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                while entries := stream.poll(5):
                    assert not any(isinstance(entry.event, Query) for entry in entries)


def _certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.TraditionalOpenSSL
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return folder / "certificate.pem", folder / "key.pem"
