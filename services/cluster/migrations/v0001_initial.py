"""Workers, connectors, plans, units, generations and counters."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
release = "0.1.0"
compatible_from = "0001"


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "cluster_workers",
        sa.Column("id", sa.String(128), primary_key=True),
        sa.Column("session", sa.BigInteger, nullable=False),
        sa.Column("address", sa.String(512), nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("plugins", sa.Text, nullable=False),
        sa.Column("ended", sa.Boolean, nullable=False),
    )
    op.create_table(
        "cluster_connectors",
        sa.Column("uid", sa.String(128), primary_key=True),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("wanted", sa.String(16), nullable=False),
        sa.Column("type", sa.Integer, nullable=False),
        sa.Column("restarts", sa.BigInteger, nullable=False),
        sa.Column("plan_state", sa.String(16), nullable=False),
        sa.Column("deleted", sa.Boolean, nullable=False),
    )
    op.create_table(
        "cluster_plans",
        sa.Column("connector_uid", sa.String(128), primary_key=True),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("tasks", sa.Text, nullable=False),
        sa.Column("replan_after", sa.Float),
    )
    op.create_table(
        "cluster_units",
        sa.Column("connector_uid", sa.String(128), primary_key=True),
        sa.Column("task", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("worker", sa.String(128), nullable=False),
        sa.Column("revoked", sa.Boolean, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("given_up", sa.Boolean, nullable=False),
    )
    op.create_table(
        "cluster_generations",
        sa.Column("connector_uid", sa.String(128), primary_key=True),
        sa.Column("generation", sa.BigInteger, nullable=False),
    )
    counters = op.create_table(
        "cluster_counters",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(counters, [{"name": "term", "value": 0}])
