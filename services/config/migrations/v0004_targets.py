"""What connectors write that has one owner."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
release = "0.1.0"
compatible_from = "0004"


def upgrade() -> None:
    """Add the targets. Those of the connectors that there are become known when an executor is asked."""
    op.add_column("config_connectors", sa.Column("targets", sa.Text))
