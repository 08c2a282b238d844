"""A sink on Spark with a query: the query runs in the process of the driver, and what it makes goes to Spark."""

import json
import signal
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from rocketmq_remoting.client import Client
from rocketmq_remoting.model import Message
from tests.services.executor.system import System, lines

pytestmark = [pytest.mark.rocketmq, pytest.mark.spark, pytest.mark.slow]

COUNTS = "SELECT epoch_ms(window_start) AS begin, count(*) AS n, sum(number)::BIGINT AS total FROM records GROUP BY ALL"


@pytest.fixture
def client(system: System) -> Iterator[Client]:
    with closing(Client(system.name_server, timeout=10)) as made:
        yield made


def windows(count: int) -> list[dict[str, int]]:
    return [{"begin": 10_000 * each, "n": 10, "total": 10 * 10 * each + 45} for each in range(count)]


def test_sinks_on_spark_write_each_window_once_though_their_driver_is_killed_between_state_and_commit(
    system: System, client: Client, tmp_path: Path
) -> None:
    topic = f"windows-{uuid.uuid4().hex[:8]}"
    client.create_topic(topic, queues=1)
    (queue,) = client.queues(topic)
    outs = {name: tmp_path / f"{name}.jsonl" for name in ("frames", "records")}

    def send(start: int, stop: int) -> None:
        """A reading for each second."""
        bodies = [json.dumps({"ms": 1000 * number, "number": number}).encode() for number in range(start, stop)]
        client.send_batch(queue, [Message(body) for body in bodies], 10)

    def are_written(count: int) -> None:
        system.until(lambda: all(len(lines(out)) >= count for out in outs.values()), seconds=180)
        assert all([json.loads(line) for line in lines(out)] == windows(count) for out in outs.values())

    system.start("worker-1", spark_warm="true")
    send(0, 101)
    sinks = {"frames": {"connector_class": "file_sink", "format": "jsonlines"}, "records": {"connector_class": "file_lines"}}
    for name, options in sinks.items():
        system.create(
            name,
            **options,
            engine="spark",
            topics=topic,
            filename=str(outs[name]),
            value_converter="json",
            value_converter_schemas_enable="false",
            query=COUNTS,
            query_time="ms",
            query_window="10s",
            query_state=str(tmp_path / "state"),
        )
    are_written(10)
    driver = system.host_of("worker-1", "frames/0")
    assert driver == system.host_of("worker-1", "records/0")
    (system.failpoints / "query.after-state").write_text(str(int(signal.SIGKILL)))
    send(101, 201)
    are_written(20)
    again = system.host_of("worker-1", "frames/0")
    assert again != driver
    (java,) = [child for child in psutil.Process(again).children(recursive=True) if child.name() == "java"]
    java.kill()
    send(201, 301)
    are_written(30)
