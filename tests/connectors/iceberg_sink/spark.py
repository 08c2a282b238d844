"""A Spark session with Iceberg, and the table as another program reads it."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pyiceberg.table import StaticTable

from connectors.iceberg_sink.needs import ICEBERG
from rocketconnect_kit.java.jars import JarSet, jars_of


@cache
def settings() -> Mapping[str, str]:
    """What a session needs; the jars are those that the executor fetches."""
    folder = jars_of(JarSet(ICEBERG.title, Path(ICEBERG.jars), "50 MB", "ROCKETCONNECT_ICEBERG_JARS", ()))
    return {
        **ICEBERG.settings,
        "spark.jars": ",".join(sorted(map(str, folder.glob("*.jar")))),
        "spark.sql.shuffle.partitions": "2",
    }


def opened(path: Path) -> StaticTable:
    """A table that is in a directory, at its newest state."""
    number = max(int(each.name.partition(".")[0][1:]) for each in (path / "metadata").glob("v*.metadata.json"))
    return StaticTable.from_metadata(str(path / "metadata" / f"v{number}.metadata.json"))


def read(path: Path) -> list[dict[str, object]]:
    """The rows."""
    rows: list[dict[str, object]] = opened(path).scan().to_arrow().to_pylist()
    return rows
