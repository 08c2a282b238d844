"""Snapshots keep what sources store beside their offsets."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
release = "0.1.0"
compatible_from = "0006"


def upgrade() -> None:
    """Add the column. The snapshots that there are have offsets alone."""
    op.add_column("position_snapshots", sa.Column("resumes", sa.Text, nullable=False, server_default="{}"))
