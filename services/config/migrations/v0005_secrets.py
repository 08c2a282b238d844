"""The keystore: secrets, sealed with keys that are elsewhere."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
release = "0.1.0"
compatible_from = "0005"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "config_secrets",
        sa.Column("name", sa.String(256), primary_key=True),
        sa.Column("sealed", sa.Text, nullable=False),
        sa.Column("update_time", sa.BigInteger, nullable=False),
    )
