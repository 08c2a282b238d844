"""Connectors, revisions, requests, workers, and the sequence of changes."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
release = "0.1.0"
compatible_from = "0001"


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "config_connectors",
        sa.Column("uid", sa.String(128), primary_key=True),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("changed", sa.BigInteger, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("wanted_state", sa.String(16), nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("create_time", sa.BigInteger, nullable=False),
        sa.Column("update_time", sa.BigInteger, nullable=False),
        sa.Column("restarts", sa.BigInteger, nullable=False),
        sa.Column("delete_time", sa.BigInteger),
    )
    living = sa.text("delete_time IS NULL")
    op.create_index(
        "config_connectors_living_name", "config_connectors", ["name"], unique=True, sqlite_where=living, postgresql_where=living
    )
    op.create_index("config_connectors_changed", "config_connectors", ["changed"])
    op.create_table(
        "config_revisions",
        sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("connector_uid", sa.String(128), nullable=False),
        sa.Column("connector", sa.String(128), nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("create_time", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("connector_uid", "revision", name="config_revisions_number"),
    )
    op.create_index("config_revisions_connector", "config_revisions", ["connector", "sequence"])
    op.create_table(
        "config_requests",
        sa.Column("request_id", sa.String(128), primary_key=True),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("create_time", sa.BigInteger, nullable=False),
    )
    op.create_index("config_requests_create_time", "config_requests", ["create_time"])
    op.create_table(
        "config_workers",
        sa.Column("worker_id", sa.String(128), primary_key=True),
        sa.Column("address", sa.String(256), nullable=False),
        sa.Column("plugins", sa.Text, nullable=False),
        sa.Column("aliases", sa.Text, nullable=False),
        sa.Column("update_time", sa.BigInteger, nullable=False),
    )
    changes = op.create_table(
        "config_changes",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(changes, [{"id": 1, "sequence": 0}])
