"""The leader's row."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
release = "0.1.0"
compatible_from = "0002"


def upgrade() -> None:
    """Create the table with its one row."""
    leader = op.create_table(
        "state_leader",
        sa.Column("holder", sa.String(128), nullable=False),
        sa.Column("term", sa.BigInteger, nullable=False),
        sa.Column("until", sa.Float(53), nullable=False),
    )
    op.bulk_insert(leader, [{"holder": "", "term": 0, "until": 0.0}])
