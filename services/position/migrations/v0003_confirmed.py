"""Until when tasks are confirmed while the cluster service is away, and until when newer owners of a connector's tasks wait."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
release = "0.1.0"
compatible_from = "0003"


def upgrade() -> None:
    """Nobody was confirmed so far."""
    op.add_column("position_connectors", sa.Column("wait_until", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("position_tasks", sa.Column("confirmed_until", sa.BigInteger, nullable=False, server_default="0"))
