"""Connectors with their generation and incarnation, tasks with their fences, positions."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
release = "0.1.0"
compatible_from = "0001"


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "position_connectors",
        sa.Column("uid", sa.String(128), primary_key=True),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("incarnation", sa.BigInteger, nullable=False),
        sa.Column("carried_clean", sa.Boolean, nullable=False),
    )
    op.create_table(
        "position_tasks",
        sa.Column("connector_uid", sa.String(128), primary_key=True),
        sa.Column("task", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("clean", sa.Boolean, nullable=False),
        sa.Column("open", sa.Boolean, nullable=False),
    )
    op.create_table(
        "position_positions",
        sa.Column("connector_uid", sa.String(128), primary_key=True),
        sa.Column("partition", sa.String(1024), primary_key=True),
        sa.Column("offset", sa.Text, nullable=False),
        sa.Column("incarnation", sa.BigInteger, nullable=False),
        sa.Column("resume", sa.Text, nullable=False),
        sa.Column("update_time", sa.BigInteger, nullable=False),
    )
