"""The weight of a worker."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
release = "0.1.0"
compatible_from = "0002"


def upgrade() -> None:
    """Let every worker that is known have the weight of one that says none."""
    op.add_column("cluster_workers", sa.Column("weight", sa.Integer, nullable=False, server_default="1"))
