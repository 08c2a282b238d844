"""The process of a worker."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
release = "0.1.0"
compatible_from = "0005"


def upgrade() -> None:
    """Know the process of no worker."""
    op.add_column("cluster_workers", sa.Column("pid", sa.BigInteger, nullable=False, server_default="0"))
