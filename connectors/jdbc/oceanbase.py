"""OceanBase in its MySQL mode: what it does otherwise than MySQL. Its Oracle mode speaks another protocol.

Errors that MySQL has no number for have one of OceanBase's own, see src/share/ob_errno.def of its source.
"""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

import pyarrow as pa

from connectors.databases import sessions
from connectors.jdbc.dialect import LOCK_SECONDS, Connection, Fault, execute
from connectors.jdbc.given import Given
from connectors.jdbc.mysql import FAULTS, SETTINGS, Mysql, plain_rows

_MICROSECONDS = 1_000_000
_FOREVER = 102 * 365 * 24 * 3600 * _MICROSECONDS
"""The longest that it takes."""
_CREATE_SECONDS = 60
_KEPT = ("sql_mode", "time_zone", "sql_auto_is_null", "sql_safe_updates")
_FOUND_ROWS = 2
"""CLIENT_FOUND_ROWS of the protocol."""
_OWN: Mapping[Fault, frozenset[int]] = {
    # A statement or a transaction took too long, waited in vain for another machine, or nobody knows what became of it; a machine
    # has no memory, is stopping or has too much to do; a log stream has no leader, has another one or is moved.
    Fault.AWAY: frozenset(
        {4012, 4013, 4030, 4038, 4039, 4064, 4085, 4114, 4124, 4209, 4214, 4260, 4265, 4283, 4637, 4638, 4652, 4653, 4654, 4663}
        | {4719, 4721, 4722, 4723, 4725, 6231, 6236, 6239}
    ),
    Fault.LOCKED: frozenset({6005}),
    # Rolled back: killed, by a new leader or since what it saw is gone; what tables are is not known yet.
    Fault.UNDONE: frozenset({4023, 4036, 4138, 5627, 6002, 6213, 6222, 6224, 6235, 6241, 6243}),
    # A standby tenant.
    Fault.READ_ONLY: frozenset({4688}),
    # The tenant or the cluster behind the name of the user.
    Fault.DENIED: frozenset({4666, 5150, 5157, 5160}),
}
_LISTED = re.compile(r"(enum|set)\('(.*)'\)", re.DOTALL)


class Oceanbase(Mysql):
    """See Dialect."""

    settings: ClassVar[Mapping[str, str]] = {
        **{name: SETTINGS[name] for name in _KEPT},
        "sql_select_limit": f"{(1 << 63) - 1}",
        # Neither side bounds how long a statement takes: it does so after 10 s, and so it would for a table that is read.
        "ob_query_timeout": f"{_FOREVER}",
        "ob_trx_timeout": f"{_FOREVER}",
        "ob_trx_lock_timeout": f"{LOCK_SECONDS * _MICROSECONDS}",
        # Replicas may be behind.
        "ob_read_consistency": "'STRONG'",
    }
    faults: ClassVar[Mapping[Fault, frozenset[int]]] = {
        kind: FAULTS.get(kind, frozenset()) | _OWN.get(kind, frozenset()) for kind in Fault
    }
    flags: ClassVar[int] = _FOUND_ROWS

    def end_abandoned(self, connection: Connection) -> None:
        """See Dialect."""
        super().end_abandoned(connection)
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION ob_trx_idle_timeout = {sessions.ABANDONED_SECONDS * _MICROSECONDS}")

    def grants(self, connection: Connection, table: str, privileges: Sequence[str]) -> Sequence[str]:
        """See Dialect."""
        wanted = [each for each in privileges if each != "TEMPORARY"]
        return super().grants(connection, table, wanted) if wanted else ()

    def create(self, connection: Connection, statement: str) -> None:
        """See Dialect. A server that has just started may never answer it; asked once more on another connection it does."""
        with connection.answered_within(_CREATE_SECONDS):
            execute(connection, statement)

    def insert(self, connection: Connection, table: str, rows: pa.Table) -> None:
        """See Dialect. Its LOAD DATA is no part of the transaction, and asks for the privilege FILE."""
        from connectors.jdbc.sent import send

        names = ", ".join(map(self.column, rows.column_names))
        send(connection, f"INSERT INTO {self.quoted(table)} ({names}) VALUES ", plain_rows(rows))  # noqa: S608  # quoted

    def given(self, connection: Connection, table: str, key: Sequence[str], rows: pa.Table) -> Given:
        """See Dialect. It has temporary tables since 4.3.5.4 alone."""
        from connectors.jdbc.sent import Sent

        return Sent(connection, self.quoted(table), key, rows, self.column)

    def shown(self, kind: str) -> str:
        """See Mysql. It shows the members of an ENUM or a SET as they are."""
        if (listed := _LISTED.fullmatch(kind)) is None:
            return kind
        members = listed[2].replace("\\", "\\\\").split("','")
        return f"{listed[1]}({','.join(_quoted(member) for member in members)})"


def _quoted(member: str) -> str:
    return "'" + member.replace("'", "''") + "'"
