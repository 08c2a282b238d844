"""Tables of Delta Lake."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql.functions import udf
from pyspark.sql.types import BooleanType

from connectors.delta_sink import DeltaSink, table
from connectors.delta_sink.needs import DELTA
from connectors.lakes import staging
from rocketconnect_kit.java.jars import jars_of, listed
from rocketconnect_sdk.conformance.sink_case import spark_session
from tests.connectors.lakes.changes import Row
from tests.connectors.lakes.table import LakeTable, Seam


class Delta(LakeTable):
    """As deltalake has it, which is another program than Spark."""

    sink = DeltaSink
    claims = Seam(table, "commit")
    appends = Seam(table, "append")
    changes = Seam(table, "merge")

    @staticmethod
    @cache
    def settings() -> Mapping[str, str]:
        """The jars are those that the executor fetches."""
        folder = jars_of(listed(DELTA.title, Path(DELTA.jars)))
        return {
            **DELTA.settings,
            "spark.jars": ",".join(sorted(map(str, folder.glob("*.jar")))),
            "spark.sql.shuffle.partitions": "2",
            # VACUUM looks for files in so many jobs.
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
            "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        }

    @property
    def newest(self) -> DeltaTable:
        """Its newest state."""
        return DeltaTable(str(self.root))

    def is_there(self) -> bool:
        return (self.root / "_delta_log").exists()

    def read(self) -> list[Row]:
        rows: list[Row] = self.newest.to_pyarrow_table().to_pylist()
        return rows

    def partitions(self) -> list[str]:
        return self.newest.metadata().partition_columns

    def files(self) -> Sequence[str]:
        return self.newest.file_uris()

    def commits(self) -> int:
        return sum(each["operation"] in ("WRITE", "MERGE") for each in self.newest.history())

    def adds(self, *ids: int) -> None:
        rows = spark_session(self.settings()).createDataFrame([(number,) for number in ids], "id BIGINT")
        rows.write.format("delta").mode("append").save(f"file://{self.root}")

    def in_the_middle_of_a_change(
        self, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object], does: Callable[[], object]
    ) -> None:
        """It happens while Spark looks at the rows: the look and the commit of MERGE are in one call."""
        began, ended = (self.root.with_name(f"{self.root.name} has {name}") for name in ("begun", "ended"))
        real = staging.staged

        def waits(key: object) -> bool:
            began.touch()
            while not ended.exists():
                time.sleep(0.01)
            return key is not None

        def staged(*args: Any) -> Any:
            monkeypatch.setattr(table, "staged", real)
            rows = real(*args)
            return rows.where(udf(waits, BooleanType(), useArrow=False)("id"))

        monkeypatch.setattr(table, "staged", staged)
        with ThreadPoolExecutor(1) as pool:
            doing = pool.submit(does)
            try:
                while not (began.exists() or doing.done()):
                    time.sleep(0.01)
                happens()
            finally:
                ended.touch()
            doing.result()
