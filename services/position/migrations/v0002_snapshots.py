"""The revision that was opened last, and where connectors were when revisions ended."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
release = "0.1.0"
compatible_from = "0002"


def upgrade() -> None:
    """Add the column and the table. Which revision was opened last is not known until a task is opened again."""
    op.add_column("position_connectors", sa.Column("revision", sa.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "position_snapshots",
        sa.Column("connector_uid", sa.String(128), primary_key=True),
        sa.Column("revision", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("next_revision", sa.BigInteger, nullable=False),
        sa.Column("offsets", sa.Text, nullable=False),
        sa.Column("time", sa.BigInteger, nullable=False),
    )
