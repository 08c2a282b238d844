"""What sources read."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
release = "0.1.0"
compatible_from = "0007"


def upgrade() -> None:
    """Add what sources read. Of those that there are it becomes known with their next revision."""
    op.add_column("config_connectors", sa.Column("origins", sa.Text))
    op.create_table(
        "config_origins",
        sa.Column("connector_uid", sa.String(128), nullable=False),
        sa.Column("place", sa.String(64), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
    )
    op.create_index("config_origins_connector", "config_origins", ["connector_uid"])
    op.create_index("config_origins_place", "config_origins", ["place", "name"])
