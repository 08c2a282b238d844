"""How long a session stays whose other side is gone without a word: its machine, or the line to it.

Neither side bounds how long a statement takes: whoever is alive answers probes, however long he computes or waits.
"""

import socket
from collections.abc import Mapping

_IDLE_SECONDS, _INTERVAL_SECONDS, _PROBES = 10, 5, 3
"""Without an answer to these a machine is gone: after 25 s."""
_UNANSWERED_SECONDS = 30
"""So long may what was sent be without an answer of the other machine."""
ABANDONED_SECONDS = 60
"""So long a server keeps the locks of a session that writes and says nothing more: of a process that is stopped, or cut off."""

LIBPQ: Mapping[str, str] = {
    "keepalives": "1",
    "keepalives_idle": str(_IDLE_SECONDS),
    "keepalives_interval": str(_INTERVAL_SECONDS),
    "keepalives_count": str(_PROBES),
    "tcp_user_timeout": str(_UNANSWERED_SECONDS * 1000),
}
"""Parameters of libpq: when our side gives up."""
POSTGRES: Mapping[str, str] = {
    "tcp_keepalives_idle": str(_IDLE_SECONDS),
    "tcp_keepalives_interval": str(_INTERVAL_SECONDS),
    "tcp_keepalives_count": str(_PROBES),
}
"""Settings of a session of PostgreSQL: when the server gives up."""


def writing_postgres() -> Mapping[str, str]:
    """Further settings of a session of PostgreSQL that writes: it takes what it is sent at once, and rests in no transaction."""
    return {
        "idle_in_transaction_session_timeout": f"{ABANDONED_SECONDS}s",
        # Whoever does not take what he is sent would be ended by it, too: a reader may rest.
        "tcp_user_timeout": str(_UNANSWERED_SECONDS * 1000),
    }


def writing_mysql() -> Mapping[str, str]:
    """Settings of a session of MySQL or MariaDB that writes. What rests for longer is ended, in a transaction or not."""
    return {"wait_timeout": str(ABANDONED_SECONDS), "net_read_timeout": str(ABANDONED_SECONDS)}


def keep_alive(connection: socket.socket) -> None:
    """Has a connection end where the other side is gone, as LIBPQ does."""
    if connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_KEEPIDLE, _IDLE_SECONDS),
        (socket.TCP_KEEPINTVL, _INTERVAL_SECONDS),
        (socket.TCP_KEEPCNT, _PROBES),
        (socket.TCP_USER_TIMEOUT, _UNANSWERED_SECONDS * 1000),
    ):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
