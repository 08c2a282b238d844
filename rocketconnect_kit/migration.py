"""Versions of tables, applied by Alembic: `python -m rocketconnect_kit.migration SERVICE`, with the URL of the store as input.

Apart from `database`, so that no service has to load it.
"""

import os
import sys
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from rocketconnect_kit import database
from rocketconnect_kit.errors import Unavailable


def upgrade(connection: sa.Connection, versions: Path, table: str) -> None:
    """Apply, in the transaction of the connection, what is in the folder `versions` and not in `table`, which remembers it."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("version_locations", str(versions).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.attributes.update(connection=connection, version_table=table)
    command.upgrade(config, "head")


def main(service: str, url: str) -> int:
    """Migrate the store of a service; return the exit code: EX_TEMPFAIL, with the cause as output, when it is away."""
    bound = database.engine(url)
    try:
        database.migrate(bound, service)
    except Unavailable as error:
        sys.stdout.write(error.message)
        return os.EX_TEMPFAIL
    finally:
        bound.dispose()
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.stdin.read()))
