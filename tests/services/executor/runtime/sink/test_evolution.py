"""What becomes of a table of files when records with other columns come, on a real Spark and RocketMQ."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow.dataset import dataset

from rocketconnect_sdk.columns.rows import Rows, array_of, offsets_of
from rocketconnect_sdk.schema import OPTIONAL_STRING, struct
from rocketmq_remoting.model import Message
from services.executor.contract.task import Kind
from services.executor.runtime.rocketmq.properties import TOMBSTONE
from services.executor.runtime.rocketmq.queue_names import text
from tests.services.executor.runtime.conftest import Running, Tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.spark,
    # py4j leaves the socket of each ended thread to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
INT, LONG, TEXT = "int32", "int64", "string"


def enveloped(columns: Mapping[str, str], **values: object) -> str:
    """A message with its schema; all fields may be null."""
    fields = [{"type": kind, "field": name, "optional": True} for name, kind in columns.items()]
    return json.dumps({"schema": {"type": "struct", "fields": fields, "optional": False}, "payload": values})


def put(tasks: Tasks, bodies: Sequence[str | bytes]) -> None:
    if not tasks.client.topic_exists(tasks.topic):
        tasks.client.create_topic(tasks.topic, queues=1)
    (queue,) = tasks.client.queues(tasks.topic)
    tasks.client.send_batch(queue, [Message(body if isinstance(body, bytes) else body.encode()) for body in bodies], 20)


def start(tasks: Tasks, spark: "SparkSession", epoch: int = 1, form: str = "parquet", **options: str) -> Running:
    own = {"filename": str(tasks.path / "out"), "format": form, "flush.interval": "0s"}
    given = {key.replace("_", "."): value for key, value in options.items()}
    config = {"connector.class": "file_sink", "engine": "spark", "value.converter": "json", **own, **given}
    return tasks.start(Kind.SINK, config, epoch=epoch, spark=lambda: spark)


def rows(tasks: Tasks, spark: "SparkSession") -> list[dict[str, Any]]:
    """As Spark reads the whole directory."""
    frame = spark.read.option("mergeSchema", "true").parquet(str(tasks.path / "out"))
    return [row.asDict() for row in frame.orderBy("a").collect()]


def test_a_directory_takes_new_columns_and_keeps_them_over_a_restart(
    tasks: Tasks, spark: "SparkSession", caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "rocketconnect")
    put(tasks, [enveloped({"a": INT}, a=1), enveloped({"a": INT, "b": TEXT}, a=2, b="x")])
    first = start(tasks, spark)
    first.reporter.wait_for_out(2, 180)
    assert first.stop().clean
    # Fewer columns, and a narrower type, are those of the table from now on.
    put(tasks, [enveloped({"a": INT}, a=3), enveloped({"b": TEXT, "a": "int8"}, a=4, b="y")])
    second = start(tasks, spark, 2)
    second.reporter.wait_for_out(2, 180)
    assert second.stop().clean
    assert rows(tasks, spark) == [{"a": 1, "b": None}, {"a": 2, "b": "x"}, {"a": 3, "b": None}, {"a": 4, "b": "y"}]
    files = sorted((tasks.path / "out").glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    assert [dataset(file).schema.names for file in files] == [["a"], ["a", "b"], ["a", "b"], ["a", "b"]]
    assert "the table follows the records: it gets the column b (string), null in the rows that are there" in caplog.text


def test_of_a_type_that_the_directory_cannot_take_what_fits_is_written_and_the_rest_are_dead_letters(
    tasks: Tasks, spark: "SparkSession"
) -> None:
    dead = f"dead-{tasks.unique}"
    wide = [enveloped({"a": LONG}, a=number) for number in (2, 1 << 40, 3)]
    put(tasks, [enveloped({"a": INT}, a=1), *wide, enveloped({"a": TEXT}, a="4"), enveloped({"a": INT}, a=5)])
    running = start(tasks, spark, errors_tolerance="all", errors_deadletterqueue_topic_name=dead)
    running.reporter.wait_for_out(4, 180)
    assert running.stop().clean
    assert [row["a"] for row in rows(tasks, spark)] == [1, 2, 3, 5]
    letters = [(body, properties) for _, body, properties in tasks.messages(dead)]
    assert [body for body, _ in letters] == [wide[1], enveloped({"a": TEXT}, a="4")]
    said = [properties["__connect.errors.exception.message"] for _, properties in letters]
    assert "a 1099511627776 has no place in a column of int32" in said[0]
    assert "a is string, and the column is int32" in said[1]


@pytest.mark.slow
def test_ignore_leaves_out_what_is_no_column_and_says_so(
    tasks: Tasks, spark: "SparkSession", caplog: pytest.LogCaptureFixture
) -> None:
    put(tasks, [enveloped({"a": INT}, a=1), enveloped({"a": INT, "b": TEXT}, a=2, b="x")])
    running = start(tasks, spark, schema_evolution="ignore")
    running.reporter.wait_for_out(2, 180)
    assert running.stop().clean
    assert rows(tasks, spark) == [{"a": 1}, {"a": 2}]
    assert caplog.text.count("fields that are no columns are left out: b") == 1


@pytest.mark.slow
def test_fail_ends_the_task_before_the_first_of_them_and_another_policy_goes_on_there(tasks: Tasks, spark: "SparkSession") -> None:
    put(tasks, [enveloped({"a": INT}, a=1), enveloped({"a": LONG, "b": TEXT}, a=2, b="x"), enveloped({"a": INT}, a=3)])
    for epoch in (1, 2):
        outcome = start(tasks, spark, epoch, schema_evolution="fail", errors_tolerance="all").end(180)
        assert outcome.permanent
        assert "schema.evolution is fail: a is int64, and the column is int32; b (string) is no column" in outcome.error
        (queue,) = tasks.client.queues(tasks.topic)
        assert outcome.error.startswith(f"queue {text(queue)}, offset 1: ")
        assert f"leave out this message alone: `rocketconnect position set sink {text(queue)}=2 --restart`" in outcome.error
        assert [row["a"] for row in rows(tasks, spark)] == [1]
    running = start(tasks, spark, 3, schema_evolution="evolve")
    running.reporter.wait_for_out(2, 180)
    assert running.stop().clean
    assert rows(tasks, spark) == [{"a": 1, "b": None}, {"a": 2, "b": "x"}, {"a": 3, "b": None}]


@pytest.mark.slow
def test_dead_letter_sends_them_as_they_came(tasks: Tasks, spark: "SparkSession") -> None:
    dead = f"dead-{tasks.unique}"
    other = enveloped({"a": INT, "b": TEXT}, a=2, b="x")
    put(tasks, [enveloped({"a": INT}, a=1), other, enveloped({"a": INT}, a=3)])
    running = start(tasks, spark, schema_evolution="dead_letter", errors_tolerance="all", errors_deadletterqueue_topic_name=dead)
    running.reporter.wait_for_out(2, 180)
    assert running.stop().clean
    assert rows(tasks, spark) == [{"a": 1}, {"a": 3}]
    ((_, body, properties),) = tasks.messages(dead)
    assert body == other
    assert (
        "the record does not have the columns of the table: b (string) is no column"
        in (properties["__connect.errors.exception.message"])
    )


@pytest.mark.parametrize(
    ("sink", "policy"),
    [
        ("file_sink", "evolve"),
        *(pytest.param(sink, "ignore", marks=pytest.mark.slow) for sink in ("file_sink", "jdbc_sink")),
    ],
)
def test_a_row_of_another_table_is_told_with_how_to_pass_it_or_is_a_dead_letter(
    tasks: Tasks, spark: "SparkSession", sink: str, policy: str
) -> None:
    dead, other = f"dead-{tasks.unique}", enveloped({"c": TEXT}, c="x")
    put(tasks, [enveloped({"a": INT}, a=1), other, enveloped({"a": INT}, a=3)])
    own = {"filename": str(tasks.path / "out"), "format": "parquet", "flush.interval": "0s"}
    if sink == "jdbc_sink":
        own = {"connection.url": f"sqlite:///{tasks.path}/db", "table.name.format": "out", "auto.create": "true"}
    config = {"connector.class": sink, "engine": "spark", "value.converter": "json", "schema.evolution": policy, **own}
    outcome = tasks.start(Kind.SINK, config, spark=lambda: spark).end(180)
    (queue,) = tasks.client.queues(tasks.topic)
    assert outcome.permanent
    assert outcome.error.startswith(f"queue {text(queue)}, offset 1: write: RecordError: ")
    assert "the record is of another table: it has c, and none of the columns of this one, which are a. " in outcome.error
    assert f"`rocketconnect position set sink {text(queue)}=2 --restart`" in outcome.error
    config |= {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": dead}
    running = tasks.start(Kind.SINK, config, epoch=2, spark=lambda: spark)
    running.reporter.wait_for_out(1, 180)
    assert running.stop().clean
    ((_, body, properties),) = tasks.messages(dead)
    assert body == other
    assert "the record is of another table" in properties["__connect.errors.exception.message"]
    if sink == "jdbc_sink":
        with closing(sqlite3.connect(tasks.path / "db")) as database:
            assert database.execute("SELECT a FROM out ORDER BY a").fetchall() == [(1,), (3,)]
    else:
        assert rows(tasks, spark) == [{"a": 1}, {"a": 3}]


def packed(**values: Sequence[object]) -> bytes:
    """A message of rows of texts."""
    schema = struct([(name, OPTIONAL_STRING) for name in values])
    made = [dict(zip(values, each, strict=True)) for each in zip(*values.values(), strict=True)]
    return Rows(*array_of(made, schema), offsets_of([(number,) for number in range(1, len(made) + 1)])).pack()


@pytest.mark.slow
def test_a_packed_message_of_rows_of_another_table_can_be_passed_as_a_whole(tasks: Tasks, spark: "SparkSession") -> None:
    put(tasks, [packed(a=["1", "2"]), packed(c=["x", "y"]), packed(a=["3"])])
    outcome = start(tasks, spark, value_converter="arrow").end(180)
    (queue,) = tasks.client.queues(tasks.topic)
    assert outcome.error.startswith(f"queue {text(queue)}, offset 1, row 0: write: RecordError: ")
    assert outcome.error.endswith(f"leave out this message alone: `rocketconnect position set sink {text(queue)}=2 --restart`")
    assert [row["a"] for row in rows(tasks, spark)] == ["1", "2"]


@pytest.mark.slow
def test_a_csv_file_keeps_its_first_line_and_takes_every_type(tasks: Tasks, spark: "SparkSession") -> None:
    put(
        tasks,
        [
            enveloped({"a": INT, "b": TEXT}, a=1, b="x"),
            enveloped({"a": TEXT}, a="two"),
            enveloped({"c": INT, "a": LONG}, a=3, c=9),
        ],
    )
    outcome = start(tasks, spark, form="csv").end(180)
    assert outcome.permanent
    assert "c (int32) is no column" in outcome.error
    assert (tasks.path / "out").read_text() == '"a","b"\n1,"x"\n"two",\n'
    again = start(tasks, spark, 2, "csv", schema_evolution="ignore")
    again.reporter.wait_for_out(1, 180)
    assert again.stop().clean
    assert (tasks.path / "out").read_text() == '"a","b"\n1,"x"\n"two",\n3,\n'


@pytest.mark.slow
def test_tombstones_are_rows_of_nulls_wherever_they_come(tasks: Tasks, spark: "SparkSession") -> None:
    put(tasks, [enveloped({"a": INT}, a=1)])
    (queue,) = tasks.client.queues(tasks.topic)
    tasks.client.send_batch(queue, [Message(b"", properties={TOMBSTONE: "true"})], 20)
    put(tasks, [enveloped({"a": INT}, a=2)])
    running = start(tasks, spark)
    running.reporter.wait_for_out(3, 180)
    assert running.stop().clean
    assert sorted(str(row["a"]) for row in rows(tasks, spark)) == ["1", "2", "None"]


@pytest.mark.slow
def test_names_that_differ_by_case_alone_end_the_task_in_our_words_and_are_not_tried_again(
    tasks: Tasks, spark: "SparkSession"
) -> None:
    """Spark refuses such columns whenever they come."""
    put(tasks, [enveloped({"a": INT}, a=1), enveloped({"a": INT, "Name": TEXT, "name": TEXT}, a=2, Name="x", name="y")])
    outcome = start(tasks, spark).end(180)
    assert outcome.permanent
    assert "name is no column, and can become none: it differs from Name by the case of its letters only" in outcome.error
    assert [row["a"] for row in rows(tasks, spark)] == [1]
