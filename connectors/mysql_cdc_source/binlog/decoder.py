"""From the bytes of events to typed events. No I/O.

https://mariadb.com/kb/en/replication-protocol/ and
https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html. The events that MySQL alone writes
(its GTIDs, transactions that are compressed, rows of version 2, binary JSON) are not run against a server.
"""

import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator

from connectors.mysql_cdc_source.binlog import header as types
from connectors.mysql_cdc_source.binlog.compression import payload_events, unpack_body
from connectors.mysql_cdc_source.binlog.cursor import Cursor
from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.events import (
    Change,
    Event,
    FormatDescription,
    GtidList,
    Heartbeat,
    Incident,
    Other,
    Query,
    Rotate,
    Statement,
    Stop,
    TableMapped,
    TransactionBegin,
    XaPrepare,
    Xid,
)
from connectors.mysql_cdc_source.binlog.gtid import MariadbGtid, MariadbGtidSet, MysqlGtid, MysqlGtidSet
from connectors.mysql_cdc_source.binlog.header import Header
from connectors.mysql_cdc_source.binlog.row_reading.rows import KnownTable
from connectors.mysql_cdc_source.binlog.row_reading.table_map import TableMap, read_table_map
from connectors.mysql_cdc_source.binlog.values.charsets import charset_of, text_of
from connectors.mysql_cdc_source.statements.words import Speech

Complete = Callable[[TableMap], TableMap]
"""Gives a table with what the log leaves out of it (`TableMap.missing`); the table itself to leave it as it is."""

_KNOWN_TABLES = 2_000
_ID_SIZE = 6
_NO_TABLE = 0xFFFFFF
_STANDALONE, _GROUP_COMMIT = 1, 2
_CHECKSUM_CRC32 = 1
_FLAGS, _IN_USE = 17, 1
_ROWS = {
    types.WRITE_ROWS_V1: (Change.INSERT, 1),
    types.UPDATE_ROWS_V1: (Change.UPDATE, 1),
    types.DELETE_ROWS_V1: (Change.DELETE, 1),
    types.WRITE_ROWS_V2: (Change.INSERT, 2),
    types.UPDATE_ROWS_V2: (Change.UPDATE, 2),
    types.DELETE_ROWS_V2: (Change.DELETE, 2),
    types.MARIADB_WRITE_ROWS_COMPRESSED: (Change.INSERT, 1),
    types.MARIADB_UPDATE_ROWS_COMPRESSED: (Change.UPDATE, 1),
    types.MARIADB_DELETE_ROWS_COMPRESSED: (Change.DELETE, 1),
}
_REFUSED = {
    types.PARTIAL_UPDATE_ROWS: "partial updates of JSON; set binlog_row_value_options='' on the server",
    types.GTID_TAGGED: "GTIDs with a tag; set gtid_next=AUTOMATIC without a tag on the server's clients",
}


class Decoder:
    """Decodes the events of one stream, in their order.

    Args:
        complete: Asked once for each table of which the log leaves something out, and again after `forget`.
        wanted: Whether the rows of a table (schema, name) are; those of others come as Other, unread.
        later: Rows are RowImages: read when somebody asks for them, who finds what is wrong with their values.
        checksummed: Whether events end with a checksum, until a FORMAT_DESCRIPTION says it.

    Raises:
        MalformedEvent: from decode: the bytes are no event; whatever is wrong with them.
    """

    def __init__(
        self,
        *,
        complete: Complete | None = None,
        wanted: Callable[[str, str], bool] | None = None,
        later: bool = False,
        checksummed: bool = False,
    ) -> None:
        self._later = later
        self._complete = complete
        self._wanted = wanted
        self._checksummed = checksummed
        self._mariadb = True
        self._version = 0
        self._by_id: dict[int, KnownTable | None] = {}
        self._by_body: OrderedDict[bytes, KnownTable | None] = OrderedDict()

    def forget(self) -> None:
        """Asks `complete` again for every table: the definitions of tables have changed."""
        self._by_body.clear()

    def decode(self, event: bytes) -> Iterator[tuple[Header, Event]]:
        """The events of the bytes of one: one, but of a compressed transaction all that are in it."""
        head = types.read_header(event)
        if head.type == types.FORMAT_DESCRIPTION:
            yield head, self._format_description(event)
            return
        if self._checksummed:
            types.check(event)
            event = event[: -types.CHECKSUM_SIZE]
        if head.type == types.TRANSACTION_PAYLOAD:
            for inner in payload_events(event[types.SIZE :]):
                inner_head = types.read_header(inner)
                if inner_head.type == types.TRANSACTION_PAYLOAD:
                    msg = "a compressed transaction has another one in it"
                    raise MalformedEvent(msg)
                # What is within has no place in the file; all of it is where the transaction is.
                yield inner_head._replace(end=head.end, within=head.size), self._event(inner_head, inner)
        else:
            yield head, self._event(head, event)

    def _event(self, head: Header, event: bytes) -> Event:
        if rows := _ROWS.get(head.type):
            return self._rows(head, event, *rows)
        if read := _READERS.get(head.type):
            return read(self, Cursor(event, types.SIZE), head)
        if refused := _REFUSED.get(head.type):
            msg = f"the log has an event of type {head.type}: {refused}"
            raise MalformedEvent(msg)
        return Other(head.type)

    def _format_description(self, event: bytes) -> FormatDescription:
        cursor = Cursor(event, types.SIZE)
        version = cursor.uint(2)
        if version != 4:
            msg = f"the log is of version {version}; version 4 is read, of MySQL 5.0 and later"
            raise MalformedEvent(msg)
        server = cursor.text(50).rstrip("\0")
        cursor.take(4)
        if (size := cursor.uint(1)) != types.SIZE:
            msg = f"the log says that the header of an event has {size} bytes, and not {types.SIZE}"
            raise MalformedEvent(msg)
        # Servers since 5.6.1 and 5.3 end it with the algorithm of the checksums and the checksum of this event.
        algorithm = event[-types.CHECKSUM_SIZE - 1] if cursor.left > types.CHECKSUM_SIZE else 0
        if algorithm not in {0, _CHECKSUM_CRC32}:
            msg = f"the log has checksums of the kind {algorithm}, which is unknown; set binlog_checksum=CRC32 on the server"
            raise MalformedEvent(msg)
        self._checksummed = algorithm == _CHECKSUM_CRC32
        if self._checksummed:
            # The flag that the file is being written is not in the checksum.
            types.check(event[:_FLAGS] + bytes([event[_FLAGS] & ~_IN_USE]) + event[_FLAGS + 1 :])
        description = FormatDescription(server, self._checksummed)
        self._mariadb, self._version = description.mariadb, description.version
        self._by_id.clear()
        self.forget()
        return description

    def _table_map(self, cursor: Cursor, _: Header) -> Event:
        table_id = cursor.uint(_ID_SIZE)
        cursor.take(2)
        body = cursor.rest()
        # The same bytes come with each statement.
        if body in self._by_body:
            known = self._by_body[body]
            self._by_body.move_to_end(body)
        else:
            known = self._by_body[body] = self._new_table(body)
            if len(self._by_body) > _KNOWN_TABLES:
                self._by_body.popitem(last=False)
        # The one named last stands last.
        self._by_id.pop(table_id, None)
        self._by_id[table_id] = known
        if len(self._by_id) > _KNOWN_TABLES:
            del self._by_id[next(iter(self._by_id))]
        return Other(types.TABLE_MAP) if known is None else TableMapped(table_id, known.table)

    def _new_table(self, body: bytes) -> KnownTable | None:
        if self._wanted is not None:
            cursor = Cursor(body)
            schema = cursor.text(cursor.uint(1))
            cursor.take(1)
            # Nothing else of a table that nobody wants is read, so that nothing in it can be a fault.
            if not self._wanted(schema, cursor.text(cursor.uint(1))):
                return None
        table = read_table_map(body, mariadb=self._mariadb)
        if table.missing and self._complete is not None:
            table = self._complete(table)
        return KnownTable(table, later=self._later)

    def _rows(self, head: Header, event: bytes, change: Change, version: int) -> Event:
        cursor = Cursor(event, types.SIZE)
        table_id, flags = cursor.uint(_ID_SIZE), cursor.uint(2)
        try:
            known = self._by_id[table_id]
        except KeyError:
            if table_id == _NO_TABLE:
                # It only ends a statement.
                return Other(head.type)
            msg = f"rows of the table number {table_id} come before its name; start at the beginning of a transaction"
            raise MalformedEvent(msg) from None
        if version == 2:
            extra = cursor.uint(2)
            if extra < 2:
                msg = f"rows say that they have {extra} bytes of extra data; they have at least 2"
                raise MalformedEvent(msg)
            cursor.take(extra - 2)
        if known is None:
            return Other(head.type)
        compressed = head.type >= types.MARIADB_WRITE_ROWS_COMPRESSED
        return known.rows(cursor, change, ends_statement=bool(flags & 1), compressed=compressed)

    def _query(self, cursor: Cursor, head: Header) -> Event:
        cursor.take(8)
        schema_size = cursor.uint(1)
        cursor.take(2)
        status_size = cursor.uint(2)
        if head.type == types.EXECUTE_LOAD_QUERY:
            cursor.take(_LOAD_SIZE)
        status = cursor.take(status_size)
        schema = cursor.text(schema_size)
        cursor.take(1)
        text = cursor.rest()
        if head.type == types.MARIADB_QUERY_COMPRESSED:
            text = unpack_body(text)
        sql_mode, charset = _said(status)
        speech = Speech(sql_mode, self._version, self._mariadb)
        return Query(schema, _statement(text, charset), speech)

    def _heartbeat(self, cursor: Cursor, head: Header) -> Event:
        return Heartbeat(cursor.rest().decode("utf-8", "backslashreplace"), head.end)

    def _mariadb_gtid(self, cursor: Cursor, head: Header) -> Event:
        sequence, domain, flags = cursor.uint(8), cursor.uint(4), cursor.uint(1)
        return TransactionBegin(MariadbGtid(domain, head.server_id, sequence), standalone=bool(flags & _STANDALONE))


def _rotate(_: Decoder, cursor: Cursor, __: Header) -> Event:
    offset = cursor.uint(8)
    return Rotate(cursor.rest().decode("utf-8", "backslashreplace"), offset)


def _xid(_: Decoder, cursor: Cursor, __: Header) -> Event:
    return Xid(cursor.uint(8))


def _xa_prepare(_: Decoder, cursor: Cursor, __: Header) -> Event:
    return XaPrepare(one_phase=bool(cursor.uint(1)))


def _mysql_gtid(_: Decoder, cursor: Cursor, __: Header) -> Event:
    cursor.take(1)
    return TransactionBegin(MysqlGtid(uuid.UUID(bytes=cursor.take(16)), cursor.uint(8)))


def _anonymous_gtid(_: Decoder, __: Cursor, ___: Header) -> Event:
    return TransactionBegin(None)


def _previous_gtids(_: Decoder, cursor: Cursor, __: Header) -> Event:
    return GtidList(MysqlGtidSet.from_bytes(cursor.rest()))


def _mariadb_gtid_list(_: Decoder, cursor: Cursor, __: Header) -> Event:
    count = cursor.uint(4) & 0x0FFFFFFF
    if count * 16 > cursor.left:
        msg = f"a list of GTIDs says that it has {count}, and has bytes for {cursor.left // 16}"
        raise MalformedEvent(msg)
    listed = tuple(MariadbGtid(cursor.uint(4), cursor.uint(4), cursor.uint(8)) for _ in range(count))
    return GtidList(MariadbGtidSet(listed), listed)


def _annotate_rows(_: Decoder, cursor: Cursor, __: Header) -> Event:
    return Statement(cursor.rest().decode("utf-8", "backslashreplace"))


def _rows_query(_: Decoder, cursor: Cursor, __: Header) -> Event:
    cursor.take(1)
    return Statement(cursor.rest().decode("utf-8", "backslashreplace"))


def _incident(_: Decoder, cursor: Cursor, __: Header) -> Event:
    return Incident(cursor.uint(2), cursor.text(cursor.uint(1)))


def _stop(_: Decoder, __: Cursor, ___: Header) -> Event:
    return Stop()


_READERS: dict[int, Callable[[Decoder, Cursor, Header], Event]] = {
    types.QUERY: Decoder._query,  # noqa: SLF001
    types.MARIADB_QUERY_COMPRESSED: Decoder._query,  # noqa: SLF001
    types.EXECUTE_LOAD_QUERY: Decoder._query,  # noqa: SLF001
    types.TABLE_MAP: Decoder._table_map,  # noqa: SLF001
    types.HEARTBEAT: Decoder._heartbeat,  # noqa: SLF001
    types.MARIADB_GTID: Decoder._mariadb_gtid,  # noqa: SLF001
    types.ROTATE: _rotate,
    types.XID: _xid,
    types.XA_PREPARE: _xa_prepare,
    types.GTID: _mysql_gtid,
    types.ANONYMOUS_GTID: _anonymous_gtid,
    types.PREVIOUS_GTIDS: _previous_gtids,
    types.MARIADB_GTID_LIST: _mariadb_gtid_list,
    types.MARIADB_ANNOTATE_ROWS: _annotate_rows,
    types.ROWS_QUERY: _rows_query,
    types.INCIDENT: _incident,
    types.STOP: _stop,
}


_STATUS_SIZES = {0: 4, 3: 4}
_STATUS_SQL_MODE, _STATUS_CATALOG, _STATUS_CHARSET, _STATUS_CATALOG_NZ = 1, 2, 4, 6
_LOAD_SIZE = 13
"""What the event of LOAD DATA has more than that of another statement."""


def _said(status: bytes) -> tuple[int, str]:
    """The sql_mode of a session and the character set that its client spoke."""
    cursor = Cursor(status)
    sql_mode, charset = 0, "utf8mb4"
    while cursor.left:
        kind = cursor.uint(1)
        if kind == _STATUS_SQL_MODE:
            sql_mode = cursor.uint(8)
        elif kind == _STATUS_CHARSET:
            charset = charset_of(cursor.uint(2))
            break
        elif kind in {_STATUS_CATALOG, _STATUS_CATALOG_NZ}:
            cursor.take(cursor.uint(1) + (kind == _STATUS_CATALOG))
        elif kind in _STATUS_SIZES:
            cursor.take(_STATUS_SIZES[kind])
        else:
            break
    return sql_mode, charset


def _statement(raw: bytes, charset: str) -> str:
    """The text of a statement; what is none of the character set is shown escaped."""
    try:
        return raw.decode() if charset == "binary" else text_of(charset)(raw)
    except UnicodeDecodeError:
        return raw.decode("utf-8", "backslashreplace")
