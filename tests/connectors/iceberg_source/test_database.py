"""A table in the JDBC catalogue of a PostgreSQL."""

from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from connectors.iceberg_source import IcebergSource
from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position
from tests.connectors.iceberg_source.tables import TYPES, numbered

pytestmark = pytest.mark.postgres


def test_the_newest_state_is_the_one_that_the_database_names(postgres: str, tmp_path: Path) -> None:
    parts = urlsplit(postgres)
    given = {
        "connector.class": "iceberg_source",
        "topic": "t",
        "warehouse": str(tmp_path / "lake"),
        "table": "shop.orders",
        "catalog": "jdbc",
        "catalog.url": f"postgresql://{parts.hostname}:{parts.port}{parts.path}",
        "catalog.user": parts.username or "",
        "catalog.name": tmp_path.name,
    }
    source = IcebergSource()
    config = parse_source(source, given)
    with pytest.raises(SystemAway, match=r"has no table shop\.orders"):
        source.plan(config, 1, {})
    catalog = SqlCatalog(tmp_path.name, uri=postgres, warehouse=f"file://{tmp_path}/lake")
    try:
        catalog.create_namespace("shop")
        table = catalog.create_table("shop.orders", TYPES, location=f"file://{tmp_path}/lake/shop/orders")
        table.append(pa.Table.from_pylist(numbered(1, 2), TYPES))
        (share,) = source.plan(config, 1, {}).tasks
        positions: dict[str, Position] = {}
        for wanted in (numbered(1, 2), numbered(3)):
            task = source.open(config, share, TaskContext())
            task.start(positions)
            found: list[object] = []
            while batches := batches_of(task.poll()):
                for batch in batches:
                    found += batch.values
                    positions[batch.partition] = Position(tuple(batch.end or batch.offsets[-1]))
            task.close()
            assert found == wanted
            table.append(pa.Table.from_pylist(numbered(3), TYPES))
        assert [problem.key for problem in source.check(parse_source(source, {**given, "catalog.name": "other"}))] == ["table"]
    finally:
        catalog.engine.dispose()
