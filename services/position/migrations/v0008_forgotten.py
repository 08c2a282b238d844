"""When all of a deleted connector was forgotten."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
release = "0.2.0"


def upgrade() -> None:
    """Add the column. Nothing was forgotten so far."""
    op.add_column("position_connectors", sa.Column("forgotten", sa.BigInteger, nullable=False, server_default="0"))
