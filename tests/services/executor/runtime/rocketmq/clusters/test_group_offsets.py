"""RocketMQ's own admin tool shows how far a sink is: real broker, real positions, the real tool."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketmq_remoting.batch import encode_batch
from rocketmq_remoting.model import MessageQueue
from services.executor.contract.task import Kind, State
from tests.rocketmq_admin import wait_for_progress
from tests.services.executor.runtime.conftest import PositionProcess, Tasks

pytestmark = pytest.mark.rocketmq


@pytest.fixture(scope="module")
def strict(rocketmq_factory: Callable[[Mapping[str, str]], EmbeddedRocketMQ]) -> EmbeddedRocketMQ:
    """A broker that makes no group by itself."""
    return rocketmq_factory({"autoCreateSubscriptionGroup": "false"})


@pytest.fixture
def strict_tasks(strict: EmbeddedRocketMQ, positions: PositionProcess, tmp_path: Path, plugins: None) -> Iterator[Tasks]:
    made = Tasks(strict.name_server, positions.address, tmp_path)
    yield made
    made.close()


def shown(rocketmq: EmbeddedRocketMQ, folder: Path, queue: MessageQueue, group: str, numbers: Sequence[int]) -> None:
    wait_for_progress(rocketmq.jars, rocketmq.name_server, folder, group, queue, numbers)


def send(tasks: Tasks, queue: MessageQueue, count: int) -> None:
    tasks.client.send_batch(queue, encode_batch([b"x"] * count), 10)


@pytest.mark.slow
def test_consumer_progress_shows_a_sink_from_its_start_and_behind_every_commit(
    strict: EmbeddedRocketMQ, strict_tasks: Tasks, tmp_path: Path
) -> None:
    tasks = strict_tasks
    tasks.client.create_topic(tasks.topic, queues=1)
    (queue,) = tasks.client.queues(tasks.topic)
    send(tasks, queue, 10)
    group = f"group-{tasks.unique}"
    config = {"connector.class": "log", "file": str(tmp_path / "log"), "task.group.id": group}
    latest = {**config, "consume.from.where": "CONSUME_FROM_LAST_OFFSET"}
    # Behind the end nothing is read and nothing is committed.
    first = tasks.start(Kind.SINK, latest)
    first.reporter.wait_for_state(State.IDLE)
    shown(strict, tmp_path, queue, group, (10, 10, 0))
    assert first.reporter.metrics.records_out == 0
    send(tasks, queue, 5)
    first.reporter.wait_for_out(5)
    shown(strict, tmp_path, queue, group, (15, 15, 0))
    assert first.stop().clean
    send(tasks, queue, 3)
    shown(strict, tmp_path, queue, group, (18, 15, 3))
