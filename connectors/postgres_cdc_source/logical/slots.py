"""Replication slots.

https://www.postgresql.org/docs/current/view-pg-replication-slots.html and
https://www.postgresql.org/docs/current/protocol-replication.html (IDENTIFY_SYSTEM, TIMELINE_HISTORY, CREATE_REPLICATION_SLOT).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import pq
from psycopg.rows import TupleRow

from connectors.postgres_cdc_source.logical.connection import Address, ask, command, connect_replication, quoted
from connectors.postgres_cdc_source.logical.lsn import parse_lsn

PLUGIN = "pgoutput"

_SLOT = """
SELECT slot_name, plugin, slot_type, database, active_pid, wal_status, restart_lsn, confirmed_flush_lsn,
       CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END
FROM pg_replication_slots WHERE slot_name = %s
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot as it is.

    Attributes:
        name: Its name.
        plugin: Its output plugin; empty for a physical one.
        database: Whose changes it has; empty for a physical one.
        active_pid: The server's process that uses it; 0: none.
        wal_status: reserved, extended, unreserved, or lost: then it is of no use any more.
        restart_lsn: The server keeps its log from here on; 0: it keeps nothing.
        confirmed_lsn: What was committed before is not sent again.
        wal_end: The end of the server's log.
    """

    name: str
    plugin: str
    database: str
    active_pid: int
    wal_status: str
    restart_lsn: int
    confirmed_lsn: int
    wal_end: int

    @property
    def lag(self) -> int:
        """How many bytes of the log are not confirmed."""
        return max(0, self.wal_end - self.confirmed_lsn)

    def behind(self, stored: int) -> int:
        """How many bytes of the log come behind what is confirmed and behind a place."""
        return max(0, min(self.lag, self.wal_end - stored))

    @property
    def kept(self) -> int:
        """How many bytes of the log the server keeps for it."""
        return max(0, self.wal_end - self.restart_lsn) if self.restart_lsn else 0


@dataclass(frozen=True, slots=True)
class NewSlot:
    """A slot that was made.

    Attributes:
        name: Its name.
        start: It has all transactions that commit behind this place.
        snapshot: The name of a snapshot that shows all others: SET TRANSACTION SNAPSHOT '...'.
    """

    name: str
    start: int
    snapshot: str


@dataclass(frozen=True, slots=True)
class Server:
    """Which server it is.

    Attributes:
        system: The identifier of its data, the same on all its replicas.
        timeline: Grows with each failover.
        wal_end: The end of its log.
        ended: Where former timelines ended, by number.
    """

    system: str
    timeline: int
    wal_end: int
    ended: Mapping[int, int]


def inspect_slot(connection: psycopg.Connection[TupleRow], name: str) -> Slot | None:
    """A slot; None: there is none of this name."""
    rows = ask(connection, _SLOT, [name])
    if not rows:
        return None
    _, plugin, _, database, pid, status, restart, confirmed, end = rows[0]
    return Slot(name, plugin or "", database or "", pid or 0, status or "", _lsn(restart), _lsn(confirmed), _lsn(end))


@contextmanager
def new_slot(address: Address, name: str) -> Iterator[NewSlot]:
    """Makes a slot that lasts. Its snapshot is there until the end of the block; other connections import it meanwhile.

    Raises:
        ConnectorError: it cannot be made; there is one of this name.
    """
    connection = connect_replication(address)
    try:
        result = command(connection, f"CREATE_REPLICATION_SLOT {quoted(name)} LOGICAL {PLUGIN} EXPORT_SNAPSHOT")
        _, start, snapshot, _ = _texts(result, 0)
        yield NewSlot(name, parse_lsn(start), snapshot)
    finally:
        connection.finish()


def drop_slot(connection: psycopg.Connection[TupleRow], name: str) -> None:
    """Removes a slot; nothing happens if there is none.

    Raises:
        RetriableError: it is in use.
        ConnectorError: see connection.failure.
    """
    ask(connection, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", [name])


def identify(address: Address) -> Server:
    """Asks which server it is.

    Raises:
        ConnectorError: it does not say.
    """
    connection = connect_replication(address)
    try:
        system, timeline, end, _ = _texts(command(connection, "IDENTIFY_SYSTEM"), 0)
        ended: Mapping[int, int] = {}
        if int(timeline) > 1:
            ended = parse_history(_texts(command(connection, f"TIMELINE_HISTORY {timeline}"), 0)[1])
        return Server(system, int(timeline), parse_lsn(end), ended)
    finally:
        connection.finish()


def parse_history(text: str) -> Mapping[int, int]:
    """Where each timeline ended, of a timeline history file: lines of a number, a place in the log and a reason."""
    lines = [line.split("\t") for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return {int(parts[0]): parse_lsn(parts[1].strip()) for parts in lines}


def _texts(result: pq.abc.PGresult, row: int) -> list[str]:
    return [(result.get_value(row, column) or b"").decode() for column in range(result.nfields)]


def _lsn(text: str | None) -> int:
    return parse_lsn(text) if text else 0
