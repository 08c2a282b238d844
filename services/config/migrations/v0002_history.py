"""Who changed a connector, when and why; the set of files that a connector was created from."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
release = "0.1.0"
compatible_from = "0002"


def upgrade() -> None:
    """Add the history, with what is known of the revisions there are, and the column of the sets."""
    op.add_column("config_connectors", sa.Column("apply_set", sa.String(128), nullable=False, server_default=""))
    op.create_table(
        "config_history",
        sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("connector_uid", sa.String(128), nullable=False),
        sa.Column("connector", sa.String(128), nullable=False),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("of_revision", sa.BigInteger, nullable=False),
        sa.Column("author", sa.String(128), nullable=False),
        sa.Column("on_behalf_of", sa.String(128), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("time", sa.BigInteger, nullable=False),
    )
    op.create_index("config_history_connector", "config_history", ["connector", "sequence"])
    op.create_index("config_history_uid", "config_history", ["connector_uid", "sequence"])
    # Later revisions may be updates, rollbacks or adoptions: what is not known is not said.
    op.execute(
        "INSERT INTO config_history SELECT sequence, connector_uid, connector,"
        " CASE WHEN revision = 1 THEN 'CREATE' ELSE 'UNSPECIFIED' END, revision, 0, '', '', '', create_time"
        " FROM config_revisions"
    )
