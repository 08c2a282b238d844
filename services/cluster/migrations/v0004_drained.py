"""Whether a worker is drained."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
release = "0.1.0"
compatible_from = "0004"


def upgrade() -> None:
    """Let no worker be drained."""
    op.add_column("cluster_workers", sa.Column("drained", sa.Boolean, nullable=False, server_default=sa.false()))
