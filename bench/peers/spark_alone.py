"""Spark alone: reads a file and writes it as a table. `python -m bench.peers.spark_alone SETTINGS`: a line of JSON in, seconds out.

A line is {"table": PATH, "target": PATH, "columns": "name:type,...", "null": TEXT, "form": FORMAT}. The session has pyspark's
defaults, the settings, a JSON object, and all cores of this machine.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
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

    def convert(self, table: Path, target: Path | str, columns: str, null: str, form: str = "parquet") -> float:
        """Reads a CSV file, or a directory of Parquet files, and writes a table of this form; the seconds.

        Args:
            table: What is read.
            target: A directory; of Iceberg the name of a table.
            columns: Of the CSV file.
            null: What no value is in the CSV file.
            form: parquet, delta or iceberg.

        Raises:
            BenchFailed: it ended.
        """
        if self.process.stdin is None or self.process.stdout is None:
            msg = "no pipe to Spark"
            raise BenchFailed(msg)
        asked = {"table": str(table), "target": str(target), "columns": columns, "null": null, "form": form}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            msg = "Spark ended; its errors stand above"
            raise BenchFailed(msg)
        return float(answer)


@contextmanager
def spark_alone(settings: Mapping[str, str] | None = None) -> Iterator[SparkAlone]:
    """A session with these settings until the end of the block."""
    command = tethered([sys.executable, "-m", __name__, json.dumps(dict(settings or {}))])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield SparkAlone(process)
        finally:
            process.kill()


def _main() -> None:
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", **json.loads(sys.argv[1])}
    spark = SparkSession.builder.master("local[*]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for line in sys.stdin:
        asked = json.loads(line)
        begin = time.monotonic()
        if Path(asked["table"]).is_dir():
            frame = spark.read.parquet(asked["table"])
        else:
            pairs = (column.partition(":") for column in asked["columns"].split(","))
            schema = ", ".join(f"{name} {_TYPES[kind]}" for name, _, kind in pairs)
            frame = spark.read.csv(asked["table"], schema=schema, header=True, nullValue=asked["null"])
        writer = frame.write.format(asked["form"])
        if asked["form"] == "iceberg":
            writer.saveAsTable(asked["target"])
        else:
            writer.save(asked["target"])
        sys.stdout.write(f"{time.monotonic() - begin}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
