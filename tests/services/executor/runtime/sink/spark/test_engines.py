"""Sinks on a real Spark."""

import threading
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.dataset import dataset

from connectors.file_sink import single
from rocketconnect_sdk.columns.sinks import DataFrameSinkTask
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.targets.by_topic import ByTopic
from rocketmq_remoting.model import Message, MessageQueue
from services.executor.contract.metrics import TaskMetrics
from services.executor.contract.task import Kind
from services.executor.runtime.rocketmq.queue_names import text
from services.executor.runtime.sink.decode.part import Part
from services.executor.runtime.sink.spark import batches as spark_batches
from services.executor.runtime.sink.spark import engines as spark_engines
from services.executor.runtime.sink.spark.engines import DataFrameEngine
from services.executor.runtime.sink.spark.steps import Steps
from tests.services.executor.runtime.conftest import PLUGINS, Tasks, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.spark,
    # py4j leaves the socket of each ended thread to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def spark(spark: "SparkSession") -> "Iterator[SparkSession]":
    """Its workers import the plugins of these tests, also those of a session that tests before these have made."""
    spark.sparkContext.environment["PYTHONPATH"] = str(PLUGINS)
    yield spark
    del spark.sparkContext.environment["PYTHONPATH"]


@pytest.fixture(autouse=True)
def small_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that lines of a few thousand rows are made by a job."""
    monkeypatch.setattr(single, "SMALL_ROWS", 5_000)


def fill(tasks: Tasks, lines: list[str], **options: str) -> None:
    file = tasks.file("a", lines)
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), **options})
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == len(lines))
    assert running.stop().clean


def test_small_and_large_batches_of_a_record_sink_arrive_once_and_in_order(
    tasks: Tasks, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    """It tells where the Spark UI is, too, of which the sessions of tests have none."""
    monkeypatch.setattr(type(spark.sparkContext), "uiWebUrl", "http://127.0.0.1:4040")
    stagings: list[spark_batches.Staging] = []

    def staged() -> spark_batches.Staging:
        stagings.append(spark_batches.Staging())
        return stagings[-1]

    monkeypatch.setattr(spark_engines, "Staging", staged)
    few = [f"small {number}" for number in range(10)]
    many = [f"large {number} " + "x" * 100 for number in range(40_000)]
    table = tasks.path / "t.db"
    fill(tasks, few)
    config = {"connector.class": "table", "engine": "spark", "file": str(table)}
    running = tasks.start(Kind.SINK, config, spark=lambda: spark)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 10, 180)
    assert running.reporter.metrics.spark_ui == "http://127.0.0.1:4040"
    tasks.file("a", few + many)
    source = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(tasks.path / "a")}, epoch=2)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 40_010, 180)
    assert source.stop().clean
    assert running.stop().clean
    assert rows(table) == few + many
    (staging,) = stagings
    assert not staging._path.exists()


@pytest.mark.slow
def test_a_data_frame_sink_gets_its_columns(tasks: Tasks, spark: "SparkSession") -> None:
    fill(tasks, [f"k{number} line" for number in range(100)], keyed="true")
    directory = tasks.path / "out"
    config = {"connector.class": "frames", "engine": "spark", "directory": str(directory)}
    running = tasks.start(Kind.SINK, config, spark=lambda: spark)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 100, 180)
    assert running.stop().clean
    table = pq.read_table([file for part in directory.iterdir() for file in part.glob("*.parquet")])
    found = {row["value"]: row for row in table.to_pylist()}
    assert set(found) == {f"k{number} line" for number in range(100)}
    row = found["k7 line"]
    assert row["key"] == "k7"
    assert row["topic"] == tasks.topic
    assert dict(row["headers"])["KEYS"] == "k7"
    assert row["timestamp"] is not None


@pytest.mark.slow
@pytest.mark.parametrize("small_bytes", [0, 1 << 40])
def test_a_large_batch_of_a_data_frame_sink_keeps_its_order_over_a_file_and_with_the_tasks(
    tasks: Tasks, spark: "SparkSession", small_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_batches, "SMALL_BYTES", small_bytes)
    lines = [f"{number} " + "y" * 100 for number in range(30_000)]
    fill(tasks, lines)
    directory = tasks.path / "out"
    config = {"connector.class": "frames", "engine": "spark", "directory": str(directory)}
    running = tasks.start(Kind.SINK, config, spark=lambda: spark)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 30_000, 180)
    assert running.stop().clean
    found = []
    for file in [file for part in directory.iterdir() for file in sorted(part.glob("*.parquet"))]:
        rows_of_file = pq.read_table(file).to_pylist()
        assert [row["offset"] for row in rows_of_file] == sorted(row["offset"] for row in rows_of_file)
        found += rows_of_file
    assert [row["value"] for row in sorted(found, key=lambda row: row["offset"])] == lines


def test_what_runs_for_a_large_batch_in_the_thread_of_a_task_finds_the_settings_of_its_session(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no row that PySpark makes a frame of: formats look for their catalogues there."""
    monkeypatch.setattr(spark_batches, "SMALL_BYTES", 0)
    key, found = "spark.sql.catalog.of_a_sink", list[str]()

    def write(_frame: object, _commit: object) -> None:
        jvm: Any = spark._jvm
        found.append(jvm.org.apache.spark.sql.internal.SQLConf.get().getConfString(key, "nothing"))

    def run() -> None:
        task = cast("Any", SimpleNamespace(rows_as=None, write=write))
        engine = DataFrameEngine(task, spark, "test", ["value"], Steps(TaskMetrics()))
        engine._hand_over(task, pa.table({"value": ["a"]}), SinkCommit("uid", 0, 1, {}, {}, 1, "token"))
        engine.close()

    spark.conf.set(key, "here")
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    spark.conf.unset(key)
    assert found == ["here"]


def test_a_writer_that_is_away_in_a_worker_is_waited_for_and_a_refused_record_is_known(tasks: Tasks, spark: "SparkSession") -> None:
    fill(tasks, ["good", "? who", "behind"])
    table = tasks.path / "t.db"
    table.with_suffix(".stage").touch()
    config = {"connector.class": "table", "engine": "spark", "file": str(table), "errors.tolerance": "all"}
    running = tasks.start(Kind.SINK, config, spark=lambda: spark)
    running.reporter.wait_for(lambda: any("cannot stage" in trace for _, trace in running.reporter.states), 180)
    table.with_suffix(".stage").unlink()
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 2, 180)
    assert running.stop().clean
    assert rows(table) == ["good", "behind"]
    assert running.reporter.metrics.records_skipped == 1


def put(tasks: Tasks, bodies: Sequence[str]) -> MessageQueue:
    if not tasks.client.topic_exists(tasks.topic):
        tasks.client.create_topic(tasks.topic, queues=1)
    (queue,) = tasks.client.queues(tasks.topic)
    for start in range(0, len(bodies), 2_000):
        tasks.client.send_batch(queue, [Message(body.encode()) for body in bodies[start : start + 2_000]], 20)
    return queue


def files_config(tasks: Tasks, form: str, count: int, **options: str) -> dict[str, str]:
    """All of the messages are one batch."""
    own = {"filename": str(tasks.path / "out"), "format": form, "columns": "a:int64", "csv.header": "false"}
    whole = {"flush.rows": str(count), "flush.interval": "1h", "batch.records": str(count)}
    return {"connector.class": "file_sink", "engine": "spark", **own, **whole, **options}


def written(tasks: Tasks, form: str) -> list[int]:
    path = tasks.path / "out"
    if form == "csv":
        return [int(line) for line in path.read_text().splitlines()]
    files = sorted(path.glob(f"*.{form}"), key=lambda file: file.stat().st_mtime_ns)
    return [number for file in files for number in dataset(file, format=form).to_table()["a"].to_pylist()]


def letters(tasks: Tasks, topic: str) -> list[tuple[str, dict[str, str]]]:
    prefix = "__connect.errors."
    return [
        (body, {name.removeprefix(prefix): value for name, value in properties.items()})
        for _, body, properties in tasks.messages(topic)
    ]


@pytest.mark.parametrize(
    ("form", "count"),
    [
        ("parquet", 3),
        *(
            pytest.param(form, count, marks=pytest.mark.slow)
            for form, count in (("csv", 3), ("csv", 8_000), ("parquet", 8_000), ("orc", 3), ("orc", 8_000))
        ),
    ],
)
def test_values_that_a_data_frame_sink_cannot_write_become_dead_letters(
    tasks: Tasks, spark: "SparkSession", form: str, count: int
) -> None:
    bodies = [f'{{"a": {number}}}' for number in range(count)]
    bad = [1] if count == 3 else [1, 4_000, count - 1]
    for offset in bad:
        bodies[offset] = f"nojson {offset}"
    queue = put(tasks, bodies)
    dead = f"dead-{tasks.unique}"
    options = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": dead}
    running = tasks.start(Kind.SINK, files_config(tasks, form, count, **options), spark=lambda: spark)
    running.reporter.wait_for_out(count - len(bad), 180)
    assert running.stop().clean
    assert (running.reporter.metrics.records_out, running.reporter.metrics.dead_letters) == (count - len(bad), len(bad))
    assert written(tasks, form) == [number for number in range(count) if number not in bad]
    found = letters(tasks, dead)
    assert [(body, said["offset"]) for body, said in found] == [(bodies[offset], str(offset)) for offset in bad]
    for body, said in found:
        assert (said["topic"], said["broker"], said["queue"]) == (queue.topic, queue.broker, str(queue.queue_id))
        assert (said["stage"], said["exception.class.name"]) == ("TASK_PUT", "RecordError")
        assert "is not JSON" in said["exception.message"]
        assert body in said["exception.message"]
    if form != "csv":
        (name,) = [path.name for path in (tasks.path / "out").glob("*.*")]
        assert f"-q0.0-{count}." in name


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("count", [3, 8_000])
def test_without_tolerance_a_value_that_cannot_be_written_ends_the_task_behind_what_is_before_it(
    tasks: Tasks, spark: "SparkSession", form: str, count: int
) -> None:
    bodies = [f'{{"a": {number}}}' for number in range(count)]
    bodies[count - 2] = '{"a": "eleven"}'
    queue = put(tasks, bodies)
    config = files_config(tasks, form, count)
    for epoch in (1, 2):
        outcome = tasks.start(Kind.SINK, config, epoch=epoch, spark=lambda: spark).end(180)
        assert outcome.permanent
        assert f"queue {text(queue)}, offset {count - 2}: write: RecordError" in outcome.error
        assert "column `a`" in outcome.error
        assert "eleven" in outcome.error
        assert "errors.tolerance=all" in outcome.error
        assert written(tasks, form) == list(range(count - 2))
        # What begins with a bad record is a batch of its own from here on.
        config["flush.rows"] = "2"
    third = tasks.start(Kind.SINK, {**config, "errors.tolerance": "all"}, epoch=3, spark=lambda: spark)
    third.reporter.wait_for_out(1, 180)
    assert third.stop().clean
    assert third.reporter.metrics.records_skipped == 1
    assert written(tasks, form) == [*range(count - 2), count - 1]


@pytest.mark.slow
def test_a_batch_of_which_nothing_can_be_written_is_left_out_and_passed(tasks: Tasks, spark: "SparkSession") -> None:
    put(tasks, ["no", "json"])
    config = files_config(tasks, "parquet", 2, **{"errors.tolerance": "all"})
    running = tasks.start(Kind.SINK, config, spark=lambda: spark)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_skipped == 2, 180)
    assert running.stop().clean
    put(tasks, ['{"a": 1}', '{"a": 2}'])
    again = tasks.start(Kind.SINK, config, epoch=2, spark=lambda: spark)
    again.reporter.wait_for_out(2, 180)
    assert again.stop().clean
    assert (again.reporter.metrics.records_skipped, written(tasks, "parquet")) == (0, [1, 2])


def test_a_data_frame_sink_gets_what_it_can_write_and_is_told_how_many_rows_that_is(tasks: Tasks, spark: "SparkSession") -> None:
    put(tasks, ["?! first", "good", "?! who", "behind"])
    config = {"connector.class": "frames", "engine": "spark", "directory": str(tasks.path / "out"), "errors.tolerance": "all"}
    running = tasks.start(Kind.SINK, config, spark=lambda: spark)
    running.reporter.wait_for_out(2, 180)
    assert running.stop().clean
    assert running.reporter.metrics.records_skipped == 2
    found = [row["value"] for part in (tasks.path / "out").iterdir() for row in pq.read_table(part).to_pylist()]
    assert sorted(found) == ["behind", "good"]


@pytest.mark.slow
@pytest.mark.parametrize("bodies", [["good", "? who"], ["good", "?! known", "? who"]])
def test_a_data_frame_sink_that_cannot_tell_which_value_it_was_ends_the_task(
    tasks: Tasks, spark: "SparkSession", bodies: list[str]
) -> None:
    put(tasks, bodies)
    config = {"connector.class": "frames", "engine": "spark", "directory": str(tasks.path / "out"), "errors.tolerance": "all"}
    outcome = tasks.start(Kind.SINK, config, spark=lambda: spark).end(180)
    assert outcome.permanent
    assert "it asks" in outcome.error
    assert not (tasks.path / "out").exists()


@pytest.mark.slow
def test_without_tolerance_a_record_that_a_writer_refuses_in_a_worker_ends_the_task_behind_what_is_before_it(
    tasks: Tasks, spark: "SparkSession"
) -> None:
    lines = [f"{number} " + "x" * 100 for number in range(12_000)]
    put(tasks, [*lines, "? who", "behind"])
    table = tasks.path / "t.db"
    config = {"connector.class": "table", "engine": "spark", "file": str(table)}
    outcome = tasks.start(Kind.SINK, config, spark=lambda: spark).end(180)
    assert outcome.permanent
    assert "offset 12000" in outcome.error
    assert rows(table) == lines


def test_without_spark_a_sink_that_needs_it_says_so(tasks: Tasks) -> None:
    outcome = tasks.start(Kind.SINK, {"connector.class": "frames", "engine": "spark", "directory": "x"}).end()
    assert outcome.permanent
    assert "Spark" in outcome.error


class Keeping(DataFrameSinkTask):
    """Keeps the values that it is given, and the commits that have none."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self.moved: list[SinkCommit] = []

    def start(self) -> Mapping[str, QueuePosition]:
        return {}

    def write(self, frame: "DataFrame", commit: SinkCommit) -> None:
        del commit
        self.values += [row.value for row in frame.collect()]

    def move(self, commit: SinkCommit) -> None:
        self.moved.append(commit)

    def close(self) -> None:
        pass


def test_a_batch_goes_to_the_task_of_its_topic_with_and_without_records(spark: "SparkSession") -> None:
    kept = {"a": Keeping(), "b": Keeping()}
    engine = DataFrameEngine(ByTopic(kept), spark, "test", ["value"], Steps(TaskMetrics()))
    for topic, values in (("a", ["one"]), ("b", ["two", "three"]), ("b", [])):
        queue = f"{topic}/broker/0"
        part = Part(queue, 0, 9, {}, SinkBatch(queue, topic, values, list(range(len(values)))), 9, 0, topic=topic)
        part.array = pa.array(values, pa.string())
        engine.finish(part)
        engine.write([part], SinkCommit("uid", 0, 1, {}, {queue: QueuePosition(9)}, len(values), "token"), lambda _: None)
    engine.close()
    assert (kept["a"].values, kept["b"].values) == (["one"], ["two", "three"])
    assert (len(kept["a"].moved), len(kept["b"].moved)) == (0, 1)
