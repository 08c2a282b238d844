"""Topics in directories have one owner, too."""

from alembic import op

revision = "0006"
down_revision = "0005"
release = "0.1.0"
compatible_from = "0006"


def upgrade() -> None:
    """Forget of connectors that they have no target: an executor is asked again, and may know some by now."""
    op.execute("UPDATE config_connectors SET targets = NULL WHERE targets = '[]'")
