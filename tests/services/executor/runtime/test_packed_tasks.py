"""Packed messages through a real broker: from CSV to Parquet by Spark, killed in the midst, refused, and replayed."""

import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from rocketconnect_sdk.columns.rows import unpack, values_of
from rocketconnect_sdk.letters.dead_letters import DeadLetter, format_spans, replay_topic
from rocketconnect_sdk.topics import Message
from services.executor.contract.task import Kind, State
from services.executor.runtime.rocketmq.queue_names import parse, text
from services.executor.runtime.rocketmq.topic_reader import RocketMQTopics
from tests.conftest import RocketMQFactory
from tests.services.executor.runtime.conftest import PositionProcess, Tasks, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.rocketmq,
    # py4j leaves the socket of each ended thread to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

ARROW = {"value.converter": "arrow"}
COLUMNS = "id:int64, name, price:double"


def table(tasks: Tasks, count: int) -> tuple[Path, list[dict[str, object]]]:
    """A CSV file, every thousandth row of which has a quoted newline."""
    path = tasks.path / "t.csv"
    names = [f"a\n{number}" if number % 1000 == 999 else f"ü{number % 5}" for number in range(count)]
    quoted = [f'"{name}"' if "\n" in name else name for name in names]
    path.write_text("id,name,price\n" + "".join(f"{number},{name},{number / 4}\n" for number, name in enumerate(quoted)))
    return path, [{"id": number, "name": name, "price": number / 4} for number, name in enumerate(names)]


def source_of(path: Path) -> dict[str, str]:
    return {"connector.class": "file_source", "filename": str(path), "format": "csv", "columns": COLUMNS, **ARROW}


def messages(tasks: Tasks, topic: str) -> list[Message]:
    reader = RocketMQTopics(tasks.client)
    found: list[Message] = []
    for queue in reader.queues(topic):
        tasks.client.barrier(parse(queue).broker)
        position, until = reader.ends(queue)
        while position < until:
            some, position = reader.read(queue, position, until)
            found += some
    reader.close()
    return found


@pytest.mark.parametrize("tasks", ["normal", pytest.param("batch", marks=pytest.mark.slow)], indirect=True)
@pytest.mark.spark
def test_a_table_goes_from_csv_to_parquet_by_spark(tasks: Tasks, spark: "SparkSession") -> None:
    tasks.create_topic(1)
    path, values = table(tasks, 40_000)
    out = tasks.path / "out"
    source = tasks.start(Kind.SOURCE, {**source_of(path), "batch.bytes": "200kB"}, task_config={"share": "0/1"})
    config = {"connector.class": "file_sink", "engine": "spark", "format": "parquet", "columns": COLUMNS, "flush.interval": "1s"}
    sink = tasks.start(Kind.SINK, {**config, "filename": str(out), **ARROW}, spark=lambda: spark)
    sink.reporter.wait_for_out(len(values), 180)
    assert source.stop().clean
    assert sink.stop().clean
    found = [row for file in out.glob("*.parquet") for row in pq.read_table(file).to_pylist()]
    assert sorted(found, key=lambda row: row["id"]) == values
    sent = messages(tasks, tasks.topic)
    assert 5 < len(sent) < 80
    assert source.reporter.metrics.records_out == sink.reporter.metrics.records_out == len(values)


@pytest.mark.slow
@pytest.mark.parametrize("keyed", [False, True], ids=["partitions", "keys"])
def test_source_and_sink_killed_in_the_midst_lose_and_double_no_row_in_topic_and_sink(tasks: Tasks, keyed: bool) -> None:
    chance = random.Random(11)
    tasks.create_topic(3)
    wanted = {name: [f"k{number % 17} {name} {number}" for number in range(6_000)] for name in "ab"}
    files = ",".join(str(tasks.file(name, lines)) for name, lines in wanted.items())
    file = tasks.path / "t.db"
    configs = {
        Kind.SOURCE: {"connector.class": "lines", "files": files, "keyed": str(keyed).lower(), "pace": "0.03", **ARROW},
        Kind.SINK: {"connector.class": "table", "file": str(file), "batch.records": "100", **ARROW},
    }
    epochs = dict.fromkeys(configs, 0)
    running = {}

    def start(kind: Kind) -> None:
        # A new owner reads, and cuts into messages, other numbers of rows than the one before.
        epochs[kind] += 1
        config = configs[kind] | ({"batch.records": str(chance.randint(20, 90))} if kind is Kind.SOURCE else {})
        running[kind] = tasks.spawn(kind, config, epoch=epochs[kind])

    for kind in configs:
        start(kind)
    for turn in range(8):
        time.sleep(chance.uniform(1.0, 2.5))
        kind = Kind.SINK if turn % 3 == 2 else Kind.SOURCE
        running[kind].kill()
        running[kind].wait()
        start(kind)
    deadline = time.monotonic() + 400
    everything = sorted(line for lines in wanted.values() for line in lines)
    while len(rows(file)) < len(everything):
        assert time.monotonic() < deadline, f"{len(rows(file))} of {len(everything)} rows"
        time.sleep(0.2)
    for process in running.values():
        process.stdin.close()  # type: ignore[union-attr]
        assert process.wait(60) == 0
    assert sorted(rows(file)) == everything
    assert sorted(str(value) for message in messages(tasks, tasks.topic) for value in values_of(unpack(message.body))) == everything
    # Invariant 4: in order, for each key or each partition.
    order: dict[str, list[str]] = {}
    for value in rows(file):
        key, name, _ = value.split()
        order.setdefault(f"{key} {name}" if keyed else name, []).append(value)
    for key, found in order.items():
        assert found == [line for line in wanted[key.split()[-1]] if not keyed or line.startswith(f"{key.split()[0]} ")]


def test_a_refused_row_becomes_a_letter_with_it_alone_and_its_replay_brings_it_alone(tasks: Tasks) -> None:
    tasks.create_topic(1)
    lines = ["a", "? b", "c", "? d", "e"]
    source = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(tasks.file("f", lines)), **ARROW})
    source.reporter.wait_for_out(5)
    assert source.stop().clean
    file, dead = tasks.path / "t.db", f"dead-{tasks.unique}"
    errors = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": dead, "errors.log.enable": "false"}
    sink = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file), **errors, **ARROW})
    sink.reporter.wait_for(lambda: sink.reporter.metrics.dead_letters == 2)
    assert rows(file) == ["a", "c", "e"]
    letters = [DeadLetter.of(message) for message in messages(tasks, dead)]
    assert [values_of(unpack(letter.message.body)) for letter in letters] == [["? b"], ["? d"]]
    assert [letter.notes["row"] for letter in letters] == ["1", "3"]
    spans = format_spans({text(q): [(0, end)] for q in tasks.client.queues(dead) if (end := tasks.client.max_offset(q))})
    uid = f"sink-{tasks.unique}"
    replay = {
        "connector.class": "dead_letter_source",
        "topic": replay_topic(uid),
        "key.converter": "bytes",
        "value.converter": "bytes",
        "replay.connector": "sink",
        "replay.topic": dead,
        "replay.letters": ",".join(spans),
        "replay.ends": ",".join(spans),
    }
    running = tasks.start(Kind.SOURCE, replay, name="replay")
    running.reporter.wait_for_state(State.IDLE)
    # Refused once more: each comes back, and by itself.
    sink.reporter.wait_for(lambda: sink.reporter.metrics.dead_letters == 4)
    assert running.stop().clean
    assert sink.stop().clean
    again = [DeadLetter.of(message) for message in messages(tasks, dead)]
    found = [values_of(unpack(letter.message.body)) for letter in again if not letter.is_other and letter.replays == 1]
    assert found == [["? b"], ["? d"]]
    assert rows(file) == ["a", "c", "e"]


def test_without_tolerance_a_refused_row_stops_the_sink_before_its_message(tasks: Tasks) -> None:
    tasks.create_topic(1)
    file = tasks.file("f", ["a", "b"])
    source = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), **ARROW})
    source.reporter.wait_for_out(2)
    assert source.stop().clean
    tasks.file("f", ["a", "b", "c", "? d"])
    source = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), **ARROW}, epoch=2)
    source.reporter.wait_for_out(2)
    assert source.stop().clean
    sink = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(tasks.path / "t.db"), **ARROW})
    outcome = sink.end()
    assert "row 1" in outcome.error
    assert "position set" not in outcome.error
    assert rows(tasks.path / "t.db") == ["a", "b"]


def test_a_message_that_the_broker_refuses_is_halved_until_the_row_is_found(
    rocketmq_factory: RocketMQFactory, positions: PositionProcess, tmp_path: Path, plugins: None
) -> None:
    tasks = Tasks(rocketmq_factory({"maxMessageSize": "60000"}).name_server, positions.address, tmp_path)
    try:
        tasks.create_topic(1)
        lines = [f"{number} " + "x" * (70_000 if number == 1234 else 100) for number in range(3_000)]
        config = {"connector.class": "lines", "files": str(tasks.file("f", lines)), "errors.tolerance": "all", **ARROW}
        source = tasks.start(Kind.SOURCE, config)
        source.reporter.wait_for_out(2_999)
        assert source.stop().clean
        assert source.reporter.metrics.records_skipped == 1
        found = [value for message in messages(tasks, tasks.topic) for value in values_of(unpack(message.body))]
        assert found == lines[:1234] + lines[1235:]
    finally:
        tasks.close()
