"""Spark alone: reads a CSV file and writes it as Parquet. `python -m bench.peers.spark_alone`: a line of JSON in, seconds out.

A line is {"table": PATH, "target": PATH, "columns": "name:type,...", "null": TEXT}. The session has pyspark's defaults and all
cores of this machine.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.workload import BenchFailed
from rocketconnect_kit.tethered import tethered

_TYPES = {"int64": "bigint", "string": "string"}


@dataclass(frozen=True, slots=True)
class SparkAlone:
    """A session in a process of its own."""

    process: "subprocess.Popen[str]"

    def convert(self, table: Path, target: Path, columns: str, null: str) -> float:
        """Reads a CSV file and writes Parquet files; the seconds.

        Raises:
            BenchFailed: it ended.
        """
        if self.process.stdin is None or self.process.stdout is None:
            msg = "no pipe to Spark"
            raise BenchFailed(msg)
        self.process.stdin.write(json.dumps({"table": str(table), "target": str(target), "columns": columns, "null": null}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            msg = "Spark ended; its errors stand above"
            raise BenchFailed(msg)
        return float(answer)


@contextmanager
def spark_alone() -> Iterator[SparkAlone]:
    """A session until the end of the block."""
    command = tethered([sys.executable, "-m", __name__])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield SparkAlone(process)
        finally:
            process.kill()


def _main() -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for line in sys.stdin:
        asked = json.loads(line)
        pairs = (column.partition(":") for column in asked["columns"].split(","))
        schema = ", ".join(f"{name} {_TYPES[kind]}" for name, _, kind in pairs)
        begin = time.monotonic()
        spark.read.csv(asked["table"], schema=schema, header=True, nullValue=asked["null"]).write.parquet(asked["target"])
        sys.stdout.write(f"{time.monotonic() - begin}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
