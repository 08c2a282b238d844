"""The name of the process of a worker."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
release = "0.1.0"
compatible_from = "0006"


def upgrade() -> None:
    """Know the name of no process."""
    op.add_column("cluster_workers", sa.Column("process", sa.String(128), nullable=False, server_default=""))
