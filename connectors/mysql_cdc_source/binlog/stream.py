"""The events of a server from a position on, as they are written.

https://mariadb.com/kb/en/5-slave-registration/, https://mariadb.com/kb/en/com_binlog_dump/ and
https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_binlog_dump_gtid.html (the latter not run against a server).
"""

import time
import uuid
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple, Self

from connectors.mysql.packets import PacketReader
from connectors.mysql_cdc_source.binlog.decoder import Complete, Decoder
from connectors.mysql_cdc_source.binlog.errors import NotAllowed, NotReady, PositionPurged
from connectors.mysql_cdc_source.binlog.events import Event
from connectors.mysql_cdc_source.binlog.gtid import Gtid, MariadbGtidSet, MysqlGtidSet
from connectors.mysql_cdc_source.binlog.header import Header
from connectors.mysql_cdc_source.binlog.progress import Progress
from connectors.mysql_cdc_source.binlog.server import (
    Connection,
    Login,
    Position,
    command,
    connect,
    connected,
    end_of_log,
    explained,
    gtids_at,
    is_mariadb,
    log_files,
    register,
    rows_of,
)
from rocketconnect_sdk.errors import ConnectorError, SystemAway

_COM_BINLOG_DUMP, _COM_BINLOG_DUMP_GTID = 0x12, 0x1E
_THROUGH_GTID = 4
_ANNOTATE_ROWS = 2
_OK, _ERROR, _EOF = 0x00, 0xFF, 0xFE
_FATAL_READING, _TOO_LARGE, _SAME_ID = 1236, "max_allowed_packet", "with the same server"
_NOT_ALLOWED = {1045, 1142, 1227}
_SILENT_HEARTBEATS = 3
_MOST_ENTRIES = 256
_LARGEST_OFFSET = (1 << 32) - 1


class Entry(NamedTuple):
    """An event and its place.

    Attributes:
        header: When and by which server it was written.
        event: The event.
        position: Right after it; its gtid_set has the transactions that are whole by then. A stream starts again from the position
            after a transaction's last event; from one within a transaction only at its TransactionBegin and before its first table.
        gtid: The transaction that it is of; None for none.
        between: Whether the position is between two transactions, so that a stream can start there.
    """

    header: Header
    event: Event
    position: Position
    gtid: Gtid | None
    between: bool

    @property
    def start(self) -> int:
        """Where the event begins in its file; one of a compressed transaction is where that is."""
        return self.position.offset - (self.header.within or self.header.size)


class BinlogStream:
    """Reads a server's log. One thread polls; `close` may be called from any, and ends a poll at once.

    Args:
        login: The server. The user needs REPLICATION SLAVE.
        start: Where to start: the file and offset, or with an empty file the GTIDs.
        server_id: A number that no other replica of the server has: a server ends the stream of an older one with the same.
        host: What the server shows as that of the replica.
        heartbeat: After how many seconds without an event the server says that it lives.
        complete: See Decoder.
        wanted: See Decoder.
        later: See Decoder.

    Raises:
        NotAllowed: the password is wrong, or REPLICATION SLAVE is missing.
        SystemAway: the server does not answer.
        PermanentError: anything else that it says.
    """

    def __init__(
        self,
        login: Login,
        start: Position,
        *,
        server_id: int,
        host: str = "",
        heartbeat: float = 10.0,
        complete: Complete | None = None,
        wanted: Callable[[str, str], bool] | None = None,
        later: bool = False,
    ) -> None:
        self._login = login
        self._start = start
        self._server_id = server_id
        self._silence = max(heartbeat * _SILENT_HEARTBEATS, heartbeat + 5)
        self._pending: Iterator[Entry] | None = None
        self._failure: Exception | None = None
        connection = connect(login)
        try:
            with explained(login):
                start = _with_gtids(connection, start)
                checksummed = _announce(connection, heartbeat)
                _register(connection, login, server_id, host)
                _dump(connection, start, server_id)
                self._reader = PacketReader(connection._sock)  # noqa: SLF001 - what comes now is no answer that PyMySQL reads
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        self._decoder = Decoder(complete=complete, wanted=wanted, later=later, checksummed=checksummed)
        gtids = MariadbGtidSet.parse if is_mariadb(connection) else MysqlGtidSet.parse
        self._progress = Progress(start, gtids(start.gtid_set))
        self._heard = time.monotonic()

    def forget_definitions(self) -> None:
        """Asks `complete` again for every table: the definitions of tables have changed."""
        self._decoder.forget()

    def poll(self, timeout: float) -> list[Entry]:
        """The next events, in order; none after so many seconds without any, and when it was closed.

        Raises:
            PositionPurged: the server does not have the start (any more).
            SystemAway: the connection is lost, or the server is silent: start a new stream from the last position.
            MalformedEvent: see Decoder.
            NotReady: another replica has the same server id, or an event is too large for the server to send.

        What it raised once it raises always; whatever `complete` raises, too.
        """
        if self._failure is not None:
            raise self._failure
        entries: list[Entry] = []
        try:
            self._gather(entries, timeout)
        except Exception as error:
            # Whatever it was, nothing after it may be given as if nothing were missing.
            self._failure = error
            if not entries:
                raise
        return entries

    def _gather(self, entries: list[Entry], timeout: float) -> None:
        if self._pending is None:
            packets = self._reader.read(timeout)
            if not packets:
                self._check_silence()
                return
            self._heard = time.monotonic()
            self._pending = (entry for packet in packets for entry in self._entries(packet))
        for entry in islice(self._pending, _MOST_ENTRIES):
            entries.append(entry)  # noqa: PERF402 - those before a failure are kept
        if len(entries) < _MOST_ENTRIES:
            self._pending = None

    def close(self) -> None:
        """Ends the stream and the connection. Calling it again does nothing."""
        self._reader.close()
        self._connection._force_close()  # noqa: SLF001 - close() would say goodbye on a connection that does not listen

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    def __iter__(self) -> Iterator[Entry]:
        """All events until it is closed. Raises what poll does."""
        while not self._reader.closed:
            yield from self.poll(1.0)

    def _check_silence(self) -> None:
        silent = time.monotonic() - self._heard
        if silent > self._silence and not self._reader.closed:
            msg = f"{self._login.server} has sent nothing for {silent:.0f} s, not even a heartbeat"
            raise SystemAway(msg)

    def _entries(self, packet: bytes) -> Iterator[Entry]:
        status = packet[0] if packet else _EOF
        if status == _ERROR:
            raise self._refused(int.from_bytes(packet[1:3], "little"), packet[9:].decode("utf-8", "backslashreplace"))
        if status != _OK:
            msg = f"{self._login.server} ended the stream; another replica with the same server id may have taken its place"
            raise SystemAway(msg)
        for header, event in self._decoder.decode(packet[1:]):
            position, gtid = self._progress.after(header, event)
            yield Entry(header, event, position, gtid, self._progress.between)

    def _refused(self, code: int, text: str) -> ConnectorError:
        if code == _FATAL_READING and _TOO_LARGE in text:
            return NotReady(f"{self._login.server} cannot send its log from {self._start}: {text}. Raise max_allowed_packet on it")
        # Its number differs from server to server.
        if _SAME_ID in text:
            fix = "Give each replica and each connector of the server a server id of its own (server.id)"
            told = f"{self._login.server} ended the stream, as another replica has the same server id {self._server_id}"
            return NotReady(f"{told} ({text}). {fix}")
        if code == _FATAL_READING:
            has = _what_is_left(self._login)
            return PositionPurged(
                f"{self._login.server} does not have {self._start} in its log: {text}. {has}. What was written in between is "
                "lost to this stream: take a new snapshot and start from there, or give a position that is there"
            )
        if code in _NOT_ALLOWED:
            return _lacks_replication(self._login)
        return SystemAway(f"{self._login.server} ended the stream with the error {code}: {text}")


def _lacks_replication(login: Login) -> NotAllowed:
    grant = f"GRANT REPLICATION SLAVE ON *.* TO '{login.user}'@'%'"
    return NotAllowed(f"the user {login.user!r} may not read the log of {login.server}: {grant}")


def _what_is_left(login: Login) -> str:
    try:
        with connected(login) as connection:
            files = log_files(connection)
            gtids = end_of_log(connection).gtid_set
    except ConnectorError as error:
        return f"What it has cannot be asked ({error})"
    if not files:
        return "It has no log"
    last = files[-1]
    return f"It has {files[0].name} to {last.name}, which ends at {last.size}" + (f", and the GTIDs up to {gtids}" if gtids else "")


def _with_gtids(connection: Connection, start: Position) -> Position:
    if start.file and not start.gtid_set:
        return start._replace(gtid_set=gtids_at(connection, start.file, start.offset) or "")
    return start


def _announce(connection: Connection, heartbeat: float) -> bool:
    """Says what this replica understands. Whether events will have a checksum."""
    settings = ["@master_heartbeat_period = %s", "@source_heartbeat_period = %s"]
    nanoseconds = int(heartbeat * 1_000_000_000)
    values: list[object] = [nanoseconds, nanoseconds]
    settings += ["@master_binlog_checksum = @@global.binlog_checksum", "@source_binlog_checksum = @@global.binlog_checksum"]
    if is_mariadb(connection):
        # 4: GTIDs and all that MariaDB 10 writes, which it otherwise turns into other events.
        settings.append("@mariadb_slave_capability = 4")
    else:
        settings += ["@slave_uuid = %s", "@replica_uuid = %s"]
        values += [str(uuid.uuid4())] * 2
    # Whoever reads may be paused for long: the server waits as long as it would for the rows of a snapshot.
    settings.append("SESSION net_write_timeout = 86400")
    with connection.cursor() as cursor:
        cursor.execute(f"SET {', '.join(settings)}", values)
    return str(rows_of(connection, "SELECT @@global.binlog_checksum")[0][0]).upper() == "CRC32"


def _register(connection: Connection, login: Login, server_id: int, host: str) -> None:
    import pymysql

    try:
        register(connection, server_id, host)
    except pymysql.MySQLError as error:
        if error.args and error.args[0] in _NOT_ALLOWED:
            raise _lacks_replication(login) from None
        raise


def _dump(connection: Connection, start: Position, server_id: int) -> None:
    if start.file and start.offset > _LARGEST_OFFSET:
        msg = f"{start} cannot be asked for: the protocol has no offsets from 4 GiB on. Start from the GTIDs of the place"
        raise PositionPurged(msg)
    replica = server_id.to_bytes(4, "little")
    # To MySQL the same bit is another wish.
    flags = (_ANNOTATE_ROWS if is_mariadb(connection) else 0).to_bytes(2, "little")
    if start.file:
        body = start.offset.to_bytes(4, "little") + flags + replica + start.file.encode()
        command(connection, _COM_BINLOG_DUMP, body)
    elif is_mariadb(connection):
        with connection.cursor() as cursor:
            cursor.execute(
                "SET @slave_connect_state = %s, @slave_gtid_strict_mode = 0, @slave_gtid_ignore_duplicates = 0", [start.gtid_set]
            )
        command(connection, _COM_BINLOG_DUMP, (4).to_bytes(4, "little") + flags + replica)
    else:
        done = MysqlGtidSet.parse(start.gtid_set).to_bytes()
        head = _THROUGH_GTID.to_bytes(2, "little") + replica + bytes(4) + (4).to_bytes(8, "little")
        command(connection, _COM_BINLOG_DUMP_GTID, head + len(done).to_bytes(4, "little") + done)
