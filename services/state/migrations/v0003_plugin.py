"""The plugin of each connector."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
release = "0.1.0"
compatible_from = "0003"


def upgrade() -> None:
    """Add the column. It is empty until the config service tells of the connector, which it does at each start."""
    op.add_column("state_connectors", sa.Column("plugin", sa.String(128)))
