"""What is left to do behind deleted connectors."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
release = "0.1.0"
compatible_from = "0003"


def upgrade() -> None:
    """Add when each cleanup is due, and why it failed last. Behind what was deleted before nothing is done."""
    op.add_column("config_connectors", sa.Column("cleanup_due", sa.BigInteger))
    op.add_column("config_connectors", sa.Column("cleanup_error", sa.Text))
    due = sa.text("cleanup_due IS NOT NULL")
    op.create_index("config_connectors_cleanup_due", "config_connectors", ["cleanup_due"], sqlite_where=due, postgresql_where=due)
