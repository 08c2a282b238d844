"""Tables of Hudi."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pyarrow as pa
from hudi import HudiTableBuilder

from connectors.hudi_sink import HudiSink, table
from connectors.hudi_sink.needs import HUDI
from connectors.lakes.partition_values import NOTHING
from rocketconnect_kit.java.jars import jars_of, listed
from tests.connectors.lakes.changes import Row
from tests.connectors.lakes.table import LakeTable, Seam


def read(path: Path) -> list[Row]:
    """The rows as Hudi's reader for Rust has them, without Hudi's own columns."""
    batches = HudiTableBuilder.from_base_uri(str(path)).build().read()
    rows = [row for batch in batches for row in pa.record_batch(batch).to_pylist()]
    return [{name: value for name, value in row.items() if not name.startswith("_hoodie_")} for row in rows]


class Hudi(LakeTable):
    """As another reader than that of Java has it."""

    partition_texts = ("ch", "a/b=c %20", "", NOTHING)
    sink = HudiSink
    text = "text"
    claims = appends = changes = Seam(table, "commit")

    @staticmethod
    @cache
    def settings() -> Mapping[str, str]:
        """The jars are those that the executor fetches."""
        folder = jars_of(listed(HUDI.title, Path(HUDI.jars)))
        return {"spark.jars": ",".join(sorted(map(str, folder.glob("*.jar"))))}

    def is_there(self) -> bool:
        return (self.root / ".hoodie").exists()

    def read(self) -> list[Row]:
        return read(self.root)

    def partitions(self) -> list[str]:
        lines = (self.root / ".hoodie" / "hoodie.properties").read_text().splitlines()
        settings = dict(line.partition("=")[::2] for line in lines if not line.startswith("#"))
        return settings["hoodie.table.partition.fields"].split(",")

    def commits(self) -> int:
        timeline = self.root / ".hoodie" / "timeline"
        return len([*timeline.glob("*_*.commit"), *timeline.glob("*_*.replacecommit")])
