"""Deleted connectors that the position service is to forget."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
release = "0.2.0"


def upgrade() -> None:
    """Add the table."""
    op.create_table("config_forgotten", sa.Column("connector_uid", sa.String(128), primary_key=True))
