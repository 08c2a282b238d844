"""Tables of Iceberg."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.table import StaticTable
from pyiceberg.table import Table as IcebergTable

from connectors.iceberg_sink import IcebergSink, catalogs
from connectors.iceberg_sink.catalogs import DirectoryCatalog
from connectors.iceberg_sink.needs import ICEBERG
from connectors.lakes.partition_values import NOTHING
from rocketconnect_kit.java.jars import jars_of, listed
from rocketconnect_sdk.conformance.sink_case import spark_session
from tests.connectors.lakes.changes import Row
from tests.connectors.lakes.table import LakeTable, Seam


class Iceberg(LakeTable):
    """The table db.rows of a warehouse in a directory, as PyIceberg has it."""

    partition_texts = ("ch", "a/b=c %20", "", NOTHING)
    sink = IcebergSink
    claims = appends = changes = Seam(catalogs, "link")
    clears = True

    @staticmethod
    @cache
    def settings() -> Mapping[str, str]:
        """The jars are those that the executor fetches."""
        folder = jars_of(listed(ICEBERG.title, Path(ICEBERG.jars)))
        return {
            **ICEBERG.settings,
            "spark.jars": ",".join(sorted(map(str, folder.glob("*.jar")))),
            "spark.sql.shuffle.partitions": "2",
        }

    @property
    def options(self) -> Mapping[str, str]:
        return {"warehouse": str(self.place), "table": "db.rows"}

    @property
    def root(self) -> Path:
        return self.place / "db" / "rows"

    @property
    def newest(self) -> IcebergTable:
        """Its newest state."""
        metadata = self.root / "metadata"
        number = max(int(each.name.partition(".")[0][1:]) for each in metadata.glob("v*.metadata.json"))
        return StaticTable.from_metadata(str(metadata / f"v{number}.metadata.json"))

    def is_there(self) -> bool:
        return any(self.root.glob("metadata/v*"))

    def read(self) -> list[Row]:
        rows: list[Row] = self.newest.scan().to_arrow().to_pylist()
        return rows

    def partitions(self) -> list[str]:
        return [field.name for field in self.newest.spec().fields]

    def files(self) -> Sequence[str]:
        return [each.file.file_path for each in self.newest.scan().plan_files()]

    def snapshots(self) -> list[Any]:
        return self.newest.metadata.snapshots

    def commits(self) -> int:
        return len(self.snapshots())

    def adds(self, *ids: int) -> None:
        rows = spark_session(self.settings()).createDataFrame(pa.table({"id": ids, "day": [1] * len(ids)}))
        rows.write.format("iceberg").mode("append").save(f"file://{self.root}")

    def java(self) -> Any:
        """The same, as another program changes it."""
        found = DirectoryCatalog(self.root, self.place, "db.rows", spark_session(self.settings())).load()
        assert found is not None
        return found
