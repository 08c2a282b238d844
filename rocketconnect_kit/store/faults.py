"""What errors of a database mean: which of them say that the store is away for now. Pure."""

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from rocketconnect_kit.errors import Unavailable
from rocketconnect_kit.logs import hide_url_passwords

_READ_ONLY = "25006"
"""How PostgreSQL calls a transaction that may not write."""
_NOT_FOR_CHANGES = "session is read-only"
"""What PostgreSQL's client says of a server that it left, because it takes no changes."""
STANDBY = "it is a standby, or read-only by its settings"
_AWAY = {
    "08": "does not answer",
    # A transaction that may not write, or one that was ended because it stood still for too long.
    "25": "has ended the transaction",
    "53": "has no room",
    "57": "is ending, starting, or was told to end the call",
    "58": "can't read or write its files",
}
"""Of each class of PostgreSQL's codes that is no fault of what was asked: what the store does."""


def unavailable(error: SQLAlchemyError) -> Unavailable | None:
    """Return what to tell a caller of an error of a store that is away for now; None: it is something else."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    said = hide_url_passwords(str(cause)).strip()
    if takes_no_changes(cause) or _NOT_FOR_CHANGES in said:
        return read_only(STANDBY)
    does = _AWAY.get(_code(cause)[:2])
    if does is None:
        # What comes without a code is of the client, or of SQLite: a lost connection, a lock, a disk.
        if not isinstance(error, OperationalError | InterfaceError | PoolTimeout):
            return None
        does = _AWAY["08"]
    return Unavailable("STORE_UNAVAILABLE", f"the store {does}: {said}; the call may be repeated")


def read_only(why: str) -> Unavailable:
    """Return what to tell a caller of a store that answers and takes no changes."""
    return Unavailable("STORE_UNAVAILABLE", f"the store takes no changes: {why}; the call may be repeated")


def takes_no_changes(cause: BaseException | None) -> bool:
    """Whether this error of a driver says that the server takes no changes, so that another one may."""
    return _code(cause) == _READ_ONLY


def _code(cause: BaseException | None) -> str:
    return getattr(cause, "sqlstate", None) or ""
