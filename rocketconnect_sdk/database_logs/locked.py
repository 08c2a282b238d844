"""A table that can't be read because of a lock."""

from rocketconnect_sdk.errors import RetriableError

LOCK_SECONDS = 2
"""How long a reading beside a chunk waits for others: who waits for a table may wait for the transaction of our own chunk."""


class TableLocked(RetriableError):
    """Others hold a lock on a table, or wait for one, for longer than was waited."""
