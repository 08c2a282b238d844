"""A broker loses the end of its store, which it had confirmed: sources and sinks tell the exact range, and ask on.gap."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketmq_remoting.model import Message, MessageQueue
from services.executor.contract.task import Kind
from tests.conftest import RocketMQFactory
from tests.services.executor.runtime.conftest import PositionProcess, Running, Tasks

pytestmark = [pytest.mark.rocketmq, pytest.mark.slow]

KEPT, LOST = 1_000, 500
BODY = 1_024
READ_AHEAD = {"buffer.bytes": "65536", "batch.bytes": "65536"}
"""A sink holds a small part of what is kept, so that it comes to nothing of what is lost before it is."""


@pytest.fixture
def broker(rocketmq_factory: RocketMQFactory) -> EmbeddedRocketMQ:
    few = ("maxTransferCountOnMessageInMemory", "maxTransferCountOnMessageInDisk")
    return rocketmq_factory(dict.fromkeys(few, "32"))


@pytest.fixture
def tasks(broker: EmbeddedRocketMQ, positions: PositionProcess, tmp_path: Path, plugins: None) -> Iterator[Tasks]:
    made = Tasks(broker.name_server, positions.address, tmp_path)
    yield made
    made.close()


def lines(count: int) -> list[str]:
    return [f"line {number}" for number in range(count)]


def said(running: Running, text: str) -> bool:
    return any(text in message for _, message in running.reporter.logs)


@pytest.mark.slow
def test_a_tail_that_a_broker_had_confirmed_and_lost_is_told_by_sources_and_sinks_with_its_range(
    broker: EmbeddedRocketMQ, tasks: Tasks, tmp_path: Path
) -> None:
    sources: dict[str, Running] = {}
    files: dict[str, Path] = {}
    tasks.create_topic(1)
    (queue,) = tasks.client.queues(tasks.topic)

    def produce(queue: MessageQueue, count: int) -> None:
        tasks.client.send_batch(queue, [Message((b"%d" % number).ljust(BODY)) for number in range(count)], 20)

    produce(queue, KEPT)
    for gap in ("fail", "skip"):
        topic = f"{tasks.topic}-{gap}"
        tasks.client.create_topic(topic, queues=1)
        files[gap] = tasks.file(f"in-{gap}", lines(10))
        config = {"connector.class": "lines", "files": str(files[gap]), "topic": topic, "on.gap": gap}
        sources[gap] = tasks.start(Kind.SOURCE, config, name=f"source-{gap}")
        sources[gap].reporter.wait_for_out(10)
    tasks.client.barrier(queue.broker)
    store = broker.data_dir / "store"
    # As a disk has it that lost its power here.
    shutil.copytree(store, tmp_path / "store")

    produce(queue, LOST)
    for gap in files:
        tasks.file(f"in-{gap}", lines(20))
        sources[gap].reporter.wait_for_out(20)
    # So slow that what they have not read is lost before they come to it.
    slow = {"connector.class": "log", "max.rate.records": "10", "batch.records": "1", **READ_AHEAD}
    sinks = {
        gap: tasks.start(Kind.SINK, {**slow, "file": str(tmp_path / gap), "on.gap": gap}, name=f"sink-{gap}")
        for gap in ("fail", "skip")
    }
    for sink in sinks.values():
        sink.reporter.wait_for(lambda sink=sink: any(lag.messages > 0 for lag in sink.reporter.metrics.lags))  # type: ignore[misc]

    broker.kill()
    shutil.rmtree(store)
    shutil.copytree(tmp_path / "store", store)
    broker.start()
    for gap in files:
        tasks.file(f"in-{gap}", lines(21))

    outcome = sources["fail"].end()
    assert outcome.permanent
    assert "[10, 20)" in outcome.error
    sources["skip"].reporter.wait_for_out(21)
    assert said(sources["skip"], "[10, 20)")
    assert sources["skip"].reporter.metrics.gap_messages == 10
    assert sources["skip"].stop().clean
    assert tasks.bodies(f"{tasks.topic}-skip") == [*lines(10), "line 20"]

    outcome = sinks["fail"].end()
    assert outcome.permanent
    assert f"[{KEPT}, {KEPT + LOST})" in outcome.error
    sinks["skip"].reporter.wait_for(lambda: said(sinks["skip"], f"[{KEPT}, {KEPT + LOST})"))
    sinks["skip"].reporter.wait_for(lambda: sinks["skip"].reporter.metrics.gap_messages == LOST)
