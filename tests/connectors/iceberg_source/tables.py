"""Tables that another program writes, and what a source reads of them."""

import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from connectors.iceberg_source import IcebergSource
from rocketconnect_sdk.conformance import SourceCase
from tests.connectors.lakes import reader

TYPES = pa.schema([pa.field("id", pa.int64()), pa.field("text", pa.string())])


class Lake:
    """A warehouse with the table shop.orders, whose newest state is kept in its directory."""

    def __init__(self, folder: Path, types: pa.Schema = TYPES, **properties: str) -> None:
        self.warehouse = folder / "lake"
        self.warehouse.mkdir()
        self.catalog = SqlCatalog("test", uri=f"sqlite:///{folder}/catalogue.db", warehouse=f"file://{self.warehouse}")
        self.catalog.create_namespace("shop")
        self.root = self.warehouse / "shop" / "orders"
        self.table = self.catalog.create_table("shop.orders", types, location=f"file://{self.root}", properties=properties)
        self.publish()

    def publish(self) -> None:
        """Makes the state of the catalogue that of the directory."""
        location = self.catalog.load_table("shop.orders").metadata_location
        number = int(re.search(r"/(\d+)-[^/]*$", location)[1]) + 1  # type: ignore[index]
        shutil.copy(location.removeprefix("file://"), self.root / "metadata" / f"v{number}.metadata.json")

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Appends rows with the columns that the table has now."""
        self.table.refresh()
        self.table.append(pa.Table.from_pylist(rows, self.table.schema().as_arrow()))
        self.publish()

    def theirs(self) -> list[dict[str, Any]]:
        """The rows of the table, as another reader has them."""
        rows: list[dict[str, Any]] = self.catalog.load_table("shop.orders").scan().to_arrow().to_pylist()
        return rows

    def case(self, **options: str) -> SourceCase:
        """A source of the table. An underscore stands for a point."""
        given = {key.replace("_", "."): value for key, value in options.items()}
        return SourceCase(IcebergSource(), {"warehouse": str(self.warehouse), "table": "shop.orders", **given})


class Reader(reader.Reader):
    """A source of such a table."""

    def __init__(self, lake: Lake, *, gaps: str = "fail", **options: str) -> None:
        super().__init__(lake.case(**options), gaps=gaps)


def numbered(*ids: int) -> list[dict[str, Any]]:
    """Rows with these ids."""
    return [{"id": number, "text": f"row {number}"} for number in ids]


def ids(rows: list[Any]) -> list[int]:
    """The ids of rows, in order."""
    return sorted(row["id"] for row in rows)
