"""The leader's row, with the term that was a counter."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
release = "0.1.0"
compatible_from = "0003"


def upgrade() -> None:
    """Create the table with its one row, and end the term of a process of the version before."""
    op.create_table(
        "cluster_leader",
        sa.Column("holder", sa.String(128), nullable=False),
        sa.Column("term", sa.BigInteger, nullable=False),
        sa.Column("until", sa.Float(53), nullable=False),
    )
    op.execute("INSERT INTO cluster_leader (holder, term, until) SELECT '', value, 0 FROM cluster_counters WHERE name = 'term'")
    op.execute("DELETE FROM cluster_counters WHERE name = 'term'")
