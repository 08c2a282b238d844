"""Which worker has opened a task."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
release = "0.1.0"
compatible_from = "0007"


def upgrade() -> None:
    """Add the column. Who has opened the tasks that there are is not known: until they are opened again they go on as before."""
    op.add_column("position_tasks", sa.Column("worker", sa.String(128), nullable=False, server_default=""))
