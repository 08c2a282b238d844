"""Tables of lakes that are measured: what a sink is told, what Spark needs, and what another reader finds."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from hudi import HudiTable, HudiTableBuilder
from pyiceberg.table import StaticTable

from connectors.delta_sink.needs import DELTA
from connectors.iceberg_sink.needs import ICEBERG
from demo.lake import rows_of_delta
from rocketconnect_kit.java.jars import jars_of, listed
from rocketconnect_sdk.spark.needs import SparkNeeds

NAMESPACE = "bench"


class Lake(ABC):
    """A format, with its tables in one folder.

    Attributes:
        title: For people.
        form: As Spark names it.

    Args:
        folder: Where the tables are.
    """

    title: str
    form: str

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @abstractmethod
    def sink(self, name: str) -> Mapping[str, str]:
        """The options of a sink into this table."""

    @abstractmethod
    def target(self, name: str) -> str:
        """The table as Spark alone is told it."""

    @abstractmethod
    def count(self, name: str) -> int:
        """How many rows the table has, by what its metadata says; 0: it is not there."""

    @abstractmethod
    def read(self, name: str) -> pa.Table:
        """The rows, by a reader that has no code in common with what wrote them."""

    @abstractmethod
    def files(self, name: str) -> int:
        """How many files the rows of the table are in."""


class Delta(Lake):
    """Delta Lake, read by `deltalake`."""

    title, form = "Delta", "delta"

    def sink(self, name: str) -> Mapping[str, str]:
        """A directory."""
        return {"connector.class": "delta_sink", "path": str(self._folder / name)}

    def target(self, name: str) -> str:
        """A directory."""
        return str(self._folder / name)

    def count(self, name: str) -> int:
        """By the statistics of each file."""
        # The directory of the log is there before its first version.
        if not any((self._folder / name / "_delta_log").glob("*.json")):
            return 0
        found = pa.table(DeltaTable(str(self._folder / name)).get_add_actions(flatten=True))
        return sum(found["num_records"].to_pylist())

    def read(self, name: str) -> pa.Table:
        """All of it."""
        return rows_of_delta(self._folder / name)

    def files(self, name: str) -> int:
        """Those of the newest version."""
        return len(DeltaTable(str(self._folder / name)).file_uris())


class Iceberg(Lake):
    """Iceberg with a Hadoop catalogue, read by `pyiceberg`."""

    title, form = "Iceberg", "iceberg"

    def sink(self, name: str) -> Mapping[str, str]:
        """A table below a warehouse."""
        return {"connector.class": "iceberg_sink", "warehouse": str(self._folder), "table": f"{NAMESPACE}.{name}"}

    def target(self, name: str) -> str:
        """In the catalogue of `settings`."""
        return f"lake.{NAMESPACE}.{name}"

    def count(self, name: str) -> int:
        """By the summary of the newest snapshot."""
        if not (self._folder / NAMESPACE / name / "metadata" / "version-hint.text").exists():
            return 0
        snapshot = self._opened(name).current_snapshot()
        return 0 if snapshot is None or snapshot.summary is None else int(snapshot.summary["total-records"] or 0)

    def read(self, name: str) -> pa.Table:
        """All of it."""
        return self._opened(name).scan().to_arrow()

    def files(self, name: str) -> int:
        """Those of the newest snapshot."""
        return len(list(self._opened(name).scan().plan_files()))

    def _opened(self, name: str) -> StaticTable:
        return StaticTable.from_metadata(str(self._folder / NAMESPACE / name))


class Hudi(Lake):
    """Hudi, read by `hudi`."""

    title, form = "Hudi", "hudi"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._counted: dict[str, tuple[str, int]] = {}

    def sink(self, name: str) -> Mapping[str, str]:
        """A directory."""
        return {"connector.class": "hudi_sink", "path": str(self._folder / name)}

    def target(self, name: str) -> str:
        """A directory."""
        return str(self._folder / name)

    def count(self, name: str) -> int:
        """By reading it, as its metadata tells no number of rows: only when there is a commit that was not there before."""
        completed = (path.name.partition("_")[2] for path in (self._folder / name / ".hoodie" / "timeline").glob("*_*.commit"))
        newest = max(completed, default="")
        known, rows = self._counted.get(name, ("", 0))
        if newest != known:
            rows = len(self.read(name))
            self._counted[name] = (newest, rows)
        return rows

    def read(self, name: str) -> pa.Table:
        """All of it, without Hudi's own columns."""
        batches = [pa.record_batch(batch) for batch in self._opened(name).read()]
        # A commit may have no rows.
        rows = pa.Table.from_batches(batches) if batches else pa.table({})
        return rows.drop_columns([column for column in rows.column_names if column.startswith("_hoodie_")])

    def files(self, name: str) -> int:
        """Those of the newest commit."""
        return len(self._opened(name).get_file_slices())

    def _opened(self, name: str) -> HudiTable:
        return HudiTableBuilder.from_base_uri(self.target(name)).build()


LAKES: tuple[type[Lake], ...] = (Delta, Iceberg)
"""Those that Spark alone writes, too, with the jars that the sinks have."""


def settings(folder: Path) -> Mapping[str, str]:
    """Of a Spark session that has both formats, and a catalogue `lake` of Iceberg's tables in this folder."""
    extensions = [DELTA.settings["spark.sql.extensions"], "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"]
    return {
        **DELTA.settings,
        **ICEBERG.settings,
        "spark.sql.extensions": ",".join(extensions),
        "spark.jars": ",".join(str(jar) for needs in (DELTA, ICEBERG) for jar in sorted(_jars(needs).glob("*.jar"))),
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(folder),
    }


def _jars(needs: SparkNeeds) -> Path:
    return jars_of(listed(needs.title, Path(needs.jars)))
