"""Whether a task has asked for a new plan."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
release = "0.1.0"
compatible_from = "0007"


def upgrade() -> None:
    """Nothing was asked."""
    op.add_column("cluster_plans", sa.Column("asked", sa.Boolean, nullable=False, server_default=sa.false()))
