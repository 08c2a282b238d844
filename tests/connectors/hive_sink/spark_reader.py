"""Spark with Hive's catalogue in a process of its own: runs statements, and prints the rows of each as JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def spark(uri: str, folder: Path, *statements: str) -> list[list[list[Any]]]:
    """The rows of each of some statements.

    Args:
        uri: Of the metastore.
        folder: For what Spark leaves behind.
        statements: Of SQL.
    """
    done = subprocess.run(
        [sys.executable, "-m", __name__, uri, *statements],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr[-5_000:]
    found: list[list[list[Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _run(uri: str, *statements: str) -> None:
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": uri,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.log.level": "ERROR",
        # Each session of Hive makes a folder there, and leaves it.
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={Path.cwd()}",
    }
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    found = [[list(row) for row in session.sql(each).collect()] for each in statements]
    session.stop()
    sys.stdout.write(json.dumps(found, default=str) + "\n")


if __name__ == "__main__":
    _run(*sys.argv[1:])
