"""Connectors, tasks with who holds them and what was last reported, and log lines."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
release = "0.1.0"
compatible_from = "0001"


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "state_connectors",
        sa.Column("uid", sa.String(128), primary_key=True),
        sa.Column("connector", sa.Text),
        sa.Column("planner", sa.String(128), nullable=False),
        sa.Column("planned_revision", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "state_tasks",
        sa.Column("connector_uid", sa.String(128), primary_key=True),
        sa.Column("task", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("assignment", sa.Text),
        sa.Column("report", sa.Text),
        sa.Column("metrics", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "state_logs",
        sa.Column("connector_uid", sa.String(128), primary_key=True),
        sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("time", sa.Float(53), nullable=False),
        sa.Column("level", sa.String(16), nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("task", sa.Integer, nullable=False),
        sa.Column("worker", sa.String(128), nullable=False),
    )
