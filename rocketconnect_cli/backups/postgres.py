"""Stores in a database of PostgreSQL: whether services run on it."""

import sqlalchemy as sa

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_kit.store.database import APPLICATION
from rocketconnect_sdk.wording.counts import counted

# Services of 0.1.0 do not say what they are; what is of another name is somebody else's.
_OTHERS = sa.text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND (application_name = :ours OR application_name = '' AND usename = current_user)"
)


def refuse_used(connection: sa.Connection, shown: str) -> None:
    """Refuse a database to which a service is connected.

    Raises:
        ApiError: CONFLICT.
    """
    if found := connection.scalar(_OTHERS, {"ours": APPLICATION}):
        message = (
            f"{counted(int(found), 'connection')} of services {'is' if found == 1 else 'are'} open to {shown}. "
            f"Stop all services first. Nothing was changed."
        )
        raise ApiError(Exit.CONFLICT, {"detail": message})
