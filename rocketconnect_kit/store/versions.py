"""Versions of tables, applied by Alembic. Apart from the stores, so that no service has to load it."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config


def upgrade(connection: sa.Connection, versions: Path, table: str) -> None:
    """Apply, in the transaction of the connection, what is in the folder `versions` and not in `table`, which remembers it."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[1] / "migrations").replace("%", "%%"))
    config.set_main_option("version_locations", str(versions).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.attributes.update(connection=connection, version_table=table)
    command.upgrade(config, "head")
