"""The highest epoch that was opened in an earlier generation of a connector."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
release = "0.1.0"
compatible_from = "0004"


def upgrade() -> None:
    """It is found again when the next generation begins: until then tasks go on as they were."""
    op.add_column("position_connectors", sa.Column("epoch_floor", sa.BigInteger, nullable=False, server_default="0"))
