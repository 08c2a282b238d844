"""The four stores in one database: nobody takes another's tables."""

from pathlib import Path

import sqlalchemy as sa

from rocketconnect_cli.instance.topology import STORES
from rocketconnect_kit.store.database import engine, migrate


def test_the_stores_share_a_database_and_every_table_names_its_service(tmp_path: Path) -> None:
    database = engine(f"sqlite:///{tmp_path / 'all.db'}")
    for service in STORES:
        migrate(database, service)
    tables = sa.inspect(database).get_table_names()
    assert len(tables) > len(STORES)
    assert all(table.startswith(tuple(f"{service}_" for service in STORES)) for table in tables)
