"""Sinks on a real Spark."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from services.executor.runtime.spark_session import make_session
from services.executor.runtime.task import Kind
from tests.services.executor.runtime.conftest import PLUGINS, Tasks, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.spark,
    # py4j leaves the socket of each ended thread to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def spark() -> "Iterator[SparkSession]":
    from pyspark.sql import SparkSession

    others = SparkSession.getActiveSession()
    session = make_session({"spark.master": "local[2]"})
    # Spark's workers import the plugins of these tests, also those of a session that tests before these have made.
    session.sparkContext.environment["PYTHONPATH"] = str(PLUGINS)
    yield session
    del session.sparkContext.environment["PYTHONPATH"]
    if others is None:
        session.stop()


def fill(tasks: Tasks, lines: list[str], **options: str) -> None:
    file = tasks.file("a", lines)
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), **options})
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == len(lines))
    assert running.stop().clean


def test_small_and_large_batches_of_a_record_sink_arrive_once_and_in_order(tasks: Tasks, spark: "SparkSession") -> None:
    few = [f"small {number}" for number in range(10)]
    many = [f"large {number} " + "x" * 100 for number in range(40_000)]
    table = tasks.path / "t.db"
    fill(tasks, few)
    config = {"connector.class": "table", "engine": "spark", "file": str(table)}
    running = tasks.start(Kind.SINK, config, spark=lambda: spark)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 10, 120)
    tasks.file("a", few + many)
    source = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(tasks.path / "a")}, epoch=2)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 40_010, 120)
    assert source.stop().clean
    assert running.stop().clean
    assert rows(table) == few + many
    assert not list(Path("/dev/shm").glob(f"rocketconnect-stage-{os.getpid()}-*"))


def test_a_data_frame_sink_gets_its_columns(tasks: Tasks, spark: "SparkSession") -> None:
    fill(tasks, [f"k{number} line" for number in range(100)], keyed="true")
    directory = tasks.path / "out"
    config = {"connector.class": "frames", "engine": "spark", "directory": str(directory)}
    running = tasks.start(Kind.SINK, config, spark=lambda: spark)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 100, 120)
    assert running.stop().clean
    table = pq.read_table([file for part in directory.iterdir() for file in part.glob("*.parquet")])
    found = {row["value"]: row for row in table.to_pylist()}
    assert set(found) == {f"k{number} line" for number in range(100)}
    row = found["k7 line"]
    assert row["key"] == "k7"
    assert row["topic"] == tasks.topic
    assert dict(row["headers"])["KEYS"] == "k7"
    assert row["timestamp"] is not None


def test_a_large_batch_of_a_data_frame_sink_goes_over_a_file_and_keeps_its_order(tasks: Tasks, spark: "SparkSession") -> None:
    lines = [f"{number} " + "y" * 100 for number in range(30_000)]
    fill(tasks, lines)
    directory = tasks.path / "out"
    config = {"connector.class": "frames", "engine": "spark", "directory": str(directory)}
    running = tasks.start(Kind.SINK, config, spark=lambda: spark)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 30_000, 120)
    assert running.stop().clean
    found = []
    for file in [file for part in directory.iterdir() for file in sorted(part.glob("*.parquet"))]:
        rows_of_file = pq.read_table(file).to_pylist()
        assert [row["offset"] for row in rows_of_file] == sorted(row["offset"] for row in rows_of_file)
        found += rows_of_file
    assert [row["value"] for row in sorted(found, key=lambda row: row["offset"])] == lines


def test_a_writer_that_is_away_in_a_worker_is_waited_for_and_a_refused_record_is_known(tasks: Tasks, spark: "SparkSession") -> None:
    fill(tasks, ["good", "? who", "behind"])
    table = tasks.path / "t.db"
    table.with_suffix(".stage").touch()
    config = {"connector.class": "table", "engine": "spark", "file": str(table), "errors.tolerance": "all"}
    running = tasks.start(Kind.SINK, config, spark=lambda: spark)
    running.reporter.wait_for(lambda: any("cannot stage" in trace for _, trace in running.reporter.states), 120)
    table.with_suffix(".stage").unlink()
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 2, 120)
    assert running.stop().clean
    assert rows(table) == ["good", "behind"]
    assert running.reporter.metrics.records_skipped == 1


def test_without_spark_a_sink_that_needs_it_says_so(tasks: Tasks) -> None:
    outcome = tasks.start(Kind.SINK, {"connector.class": "frames", "engine": "spark", "directory": "x"}).end()
    assert outcome.permanent
    assert "Spark" in outcome.error
