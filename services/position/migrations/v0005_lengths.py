"""For how long tasks were confirmed, and newer owners wait, instead of until when: each replica counts it on its own clock."""

import time

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
release = "0.1.0"
compatible_from = "0005"

_LONGEST_LEASE = 600_000_000
_DAY = 86_400_000_000


def upgrade() -> None:
    """What was over more than a day ago is over, even if a clock was set by hours; all else is waited for as long as can be."""
    for table, until, length, drawn in (
        ("position_connectors", "wait_until", "wait", "wait_id"),
        ("position_tasks", "confirmed_until", "lease", "lease_id"),
    ):
        op.add_column(table, sa.Column(length, sa.BigInteger, nullable=False, server_default="0"))
        op.add_column(table, sa.Column(drawn, sa.BigInteger, nullable=False, server_default="0"))
        rows = sa.table(table, sa.column(until), sa.column(length), sa.column(drawn))
        recent = rows.c[until] > time.time_ns() // 1_000 - _DAY
        # All of them are seen for the first time at once, so they can share an id.
        op.execute(rows.update().where(recent).values({length: _LONGEST_LEASE, drawn: time.time_ns()}))
        op.drop_column(table, until)
