"""What an error of a database means for a task, and what to do. Pure."""

from collections.abc import Sequence

from connectors.databases.tls import FIX
from connectors.jdbc import Fault
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway

_SHOWN = 500


class RejectedValues(PermanentError):
    """The database refuses values."""


def understood(fault: Fault, error: Exception, where: str, user: str, grants: Sequence[str]) -> Exception:
    """The error that a task raises.

    Args:
        fault: What the error means.
        error: Of the driver.
        where: The database, and the tables.
        user: The name.
        grants: The statements that give what the user lacks, as far as they are known.
    """
    said = " ".join(str(error).split())[:_SHOWN]
    fix = f". Run: {'; '.join(grants)}" if grants else ""
    meanings: dict[Fault, tuple[type[Exception], str]] = {
        Fault.AWAY: (SystemAway, f"the database does not answer: {said}"),
        Fault.LOCKED: (RetriableError, f"another transaction holds a lock: {said}. End it, or wait"),
        Fault.UNDONE: (RetriableError, f"the database has undone the transaction, which is tried again: {said}"),
        Fault.READ_ONLY: (
            RetriableError,
            f"the database is read-only: {said}. Name the server that takes writes in connection.url, or wait until this one does",
        ),
        Fault.UNTRUSTED: (PermanentError, f"there is no connection over TLS: {said}. {FIX}"),
        Fault.DENIED: (PermanentError, f"the user {user!r} is not let in or has no privilege: {said}{fix}"),
        Fault.MISSING: (PermanentError, f"something is not there: {said}. Make it, or set auto.create=true for tables"),
        Fault.VALUE: (RejectedValues, f"the database refuses values: {said}"),
        Fault.OTHER: (PermanentError, f"the database refuses the batch: {said}"),
    }
    kind, text = meanings[fault]
    return kind(f"{where}: {text}")
