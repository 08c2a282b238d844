"""A Spark session with Delta Lake, and the table as another program reads it."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from deltalake import DeltaTable

from connectors.delta_sink.needs import DELTA
from rocketconnect_kit.java.jars import JarSet, jars_of


@cache
def settings() -> Mapping[str, str]:
    """What a session needs; the jars are those that the executor fetches."""
    folder = jars_of(JarSet(DELTA.title, Path(DELTA.jars), "13 MB", "ROCKETCONNECT_DELTA_JARS", ()))
    return {
        **DELTA.settings,
        "spark.jars": ",".join(sorted(map(str, folder.glob("*.jar")))),
        "spark.sql.shuffle.partitions": "2",
        # VACUUM looks for files in so many jobs.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    }


def read(path: Path) -> list[dict[str, object]]:
    """The rows."""
    rows: list[dict[str, object]] = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    return rows
