"""Sessions of PostgreSQL: with the server that takes changes, and ended within a bounded time when either side is gone.

Apart from `database`, so that a service with files does not load the driver.
"""

import time
from typing import Any, TypeVar

import psycopg
import sqlalchemy as sa
from psycopg.abc import PQGen
from sqlalchemy import event
from sqlalchemy.engine.interfaces import ExceptionContext

from rocketconnect_kit.store.faults import takes_no_changes

SILENT_SECONDS = 20.0
"""How long a call waits for a server that says nothing. Longer than the server lets a statement run, so it answers before."""
POOL_SECONDS = 10
"""How long a call waits for a session while others have all of them."""

# Invariant 8, where the machine of the database is gone or cut off and nobody says so. Of each server that a name stands for.
_LIMITS = {"connect_timeout": 5, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
# A replica that is stopped in the middle of a transaction holds its locks: others wait for them no longer than 5 s. Not for less,
# since one on a busy machine needs seconds to decide on ten thousand positions.
_STOPPED = "-c statement_timeout=15000 -c lock_timeout=10000 -c idle_in_transaction_session_timeout=5000"
# The same for the server, whose own settings are hours: sessions of a machine that is gone leave room for those of the next one.
_GONE = "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=10000"
# A database that was made without a locale is SQL_ASCII: it would hand out bytes instead of text.
_CONNECTION = {
    **_LIMITS,
    "client_encoding": "utf8",
    "options": f"-c synchronous_commit=on {_STOPPED} {_GONE}",
}

RV = TypeVar("RV")


def engine(url: sa.URL, application: str, *, pool_size: int, writes: bool, patient: bool) -> sa.Engine:
    """Return the engine of a PostgreSQL; see `database.engine`. Its sessions have the name of an application."""
    # Behind a failover an address, or one of several, may be that of a server that is no longer, or not yet, the one for changes.
    wanted = {"target_session_attrs": "read-write"} if writes and "target_session_attrs" not in url.query else {}
    made = sa.create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=POOL_SECONDS,
        pool_pre_ping=True,
        hide_parameters=True,
        # Said, because a server or a role may have another default: decisions are made on rows that were locked, and must see
        # what their last writer has left.
        isolation_level="READ COMMITTED",
        connect_args={**_CONNECTION, "application_name": application, **wanted},
    )
    event.listen(made, "checkout", _as_the_server_says)
    event.listen(made, "handle_error", _leave_for_another)
    if not patient:
        event.listen(made, "do_connect", _connect)
    return made


class _SilentError(psycopg.OperationalError):
    """The server said nothing."""


class _Session(psycopg.Connection[Any]):
    """One that is given up when its server, or what stands between, keeps the connection and says nothing."""

    def wait(self, gen: PQGen[RV], *args: Any, **named: Any) -> RV:
        try:
            return super().wait(_heard(gen), *args, **named)
        except _SilentError:
            self.close()
            raise


def _heard(gen: PQGen[RV]) -> PQGen[RV]:
    """What the driver waits for, until nothing has come for too long. It is told each tenth of a second that nothing came."""
    try:
        wanted = next(gen)
        last = time.monotonic()
        while True:
            ready = yield wanted
            if ready:
                last = time.monotonic()
            elif time.monotonic() - last > SILENT_SECONDS:
                msg = f"nothing was heard of the server for {SILENT_SECONDS:g} s"
                raise _SilentError(msg)
            wanted = gen.send(ready)
    except StopIteration as ended:
        result: RV = ended.value
        return result


def _connect(_dialect: object, _record: object, words: list[Any], named: dict[str, Any]) -> _Session:
    return _Session.connect(*words, **named)


def _as_the_server_says(connection: "psycopg.Connection[Any]", _record: object, _proxy: object) -> None:
    # Behind a reader SQLAlchemy would begin with READ WRITE: a standby has an error of its own for that, and a server that its
    # operator has made read-only would be written to all the same.
    connection.read_only = None


def _leave_for_another(context: ExceptionContext) -> None:
    # All sessions end: they began when this server was the one for changes, and new ones look for the one that is it now.
    if takes_no_changes(context.original_exception):
        context.is_disconnect = True
