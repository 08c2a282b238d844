"""The header that every event begins with, and the checksum that may end it.

https://mariadb.com/kb/en/2-binlog-event-header/
"""

import zlib
from struct import Struct
from typing import NamedTuple

from connectors.mysql_cdc_source.binlog.errors import MalformedEvent

SIZE = 19
CHECKSUM_SIZE = 4

QUERY = 2
STOP = 3
ROTATE = 4
FORMAT_DESCRIPTION = 15
XID = 16
EXECUTE_LOAD_QUERY = 18
TABLE_MAP = 19
WRITE_ROWS_V1, UPDATE_ROWS_V1, DELETE_ROWS_V1 = 23, 24, 25
INCIDENT = 26
HEARTBEAT = 27
ROWS_QUERY = 29
WRITE_ROWS_V2, UPDATE_ROWS_V2, DELETE_ROWS_V2 = 30, 31, 32
GTID = 33
ANONYMOUS_GTID = 34
PREVIOUS_GTIDS = 35
XA_PREPARE = 38
PARTIAL_UPDATE_ROWS = 39
TRANSACTION_PAYLOAD = 40
GTID_TAGGED = 42
MARIADB_ANNOTATE_ROWS = 160
MARIADB_GTID = 162
MARIADB_GTID_LIST = 163
MARIADB_QUERY_COMPRESSED = 165
MARIADB_WRITE_ROWS_COMPRESSED, MARIADB_UPDATE_ROWS_COMPRESSED, MARIADB_DELETE_ROWS_COMPRESSED = 166, 167, 168

_HEADER = Struct("<IBIIIH")


class Header(NamedTuple):
    """What every event says of itself.

    Attributes:
        timestamp: Seconds since 1970, of the statement; 0 in an event that the server made up for this connection.
        type: One of the numbers above.
        server_id: Of the server that the change was made on.
        size: Of the whole event, in bytes.
        end: Where the event ends in its file, modulo 2**32; 0 when it is in no file.
        flags: See the page.
        within: The size of the compressed transaction that it is in; 0: in none.
    """

    timestamp: int
    type: int
    server_id: int
    size: int
    end: int
    flags: int
    within: int = 0


def read_header(event: bytes) -> Header:
    """The header of an event.

    Raises:
        MalformedEvent: it is none, or says another size than it has.
    """
    if len(event) < SIZE:
        msg = f"{len(event)} bytes are too few for a binlog event; it has at least {SIZE}"
        raise MalformedEvent(msg)
    header = Header(*_HEADER.unpack_from(event))
    if header.size != len(event):
        msg = f"a binlog event of type {header.type} says that it has {header.size} bytes, and has {len(event)}"
        raise MalformedEvent(msg)
    return header


def check(event: bytes) -> None:
    """Compares the last four bytes of an event with the CRC-32 of all before.

    Raises:
        MalformedEvent: they differ.
    """
    body = len(event) - CHECKSUM_SIZE
    if body < SIZE or zlib.crc32(memoryview(event)[:body]) != int.from_bytes(event[body:], "little"):
        msg = (
            "a binlog event does not have the checksum that it says; the log or the network damaged it. Start from this "
            "position again; if it stays so, look at the file with mariadb-binlog --verify-binlog-checksum on the server"
        )
        raise MalformedEvent(msg)
