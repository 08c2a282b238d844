"""The broker deletes messages, as its retention says, before a sink has read them: a gap, told with its exact range."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketmq_remoting.model import Message
from services.executor.contract.task import Kind
from tests.conftest import RocketMQFactory
from tests.services.executor.runtime.conftest import PositionProcess, Tasks

pytestmark = [pytest.mark.rocketmq, pytest.mark.slow]

_LOG_BYTES = 1 << 20
_AT_ONCE = {
    "fileReservedTime": "0",
    "deleteWhen": ";".join(f"{hour:02}" for hour in range(24)),
    "cleanResourceInterval": "200",
    "mappedFileSizeCommitLog": str(_LOG_BYTES),
}
"""Files of messages are deleted when the next one has begun; a broker looks for the first time a minute after its start."""
_LIMIT_SECONDS = 180


@pytest.fixture
def tasks(rocketmq_factory: RocketMQFactory, positions: PositionProcess, tmp_path: Path, plugins: None) -> Iterator[Tasks]:
    made = Tasks(rocketmq_factory(_AT_ONCE).name_server, positions.address, tmp_path)
    yield made
    made.close()


@pytest.mark.slow
def test_what_retention_has_taken_from_a_sink_is_told_with_its_range_and_passed_only_when_the_user_says_so(tasks: Tasks) -> None:
    tasks.create_topic(1)
    (queue,) = tasks.client.queues(tasks.topic)
    values = [f"value {number}" for number in range(115)]

    def produce(start: int, stop: int) -> None:
        tasks.client.send_batch(queue, [Message(value.encode()) for value in values[start:stop]], 10)

    file = tasks.path / "log"
    config = {"connector.class": "log", "file": str(file)}
    produce(0, 10)
    first = tasks.start(Kind.SINK, config)
    first.reporter.wait_for_out(10)
    assert first.stop().clean
    produce(10, 110)
    # Of another topic, in the same files.
    tasks.client.create_topic(f"{tasks.topic}-others", queues=1)
    (others,) = tasks.client.queues(f"{tasks.topic}-others")
    for _ in range(32):
        tasks.client.send_batch(others, [Message(bytes(_LOG_BYTES // 8))], 10)
    produce(110, 115)
    deadline = time.monotonic() + _LIMIT_SECONDS
    while tasks.client.min_offset(queue) == 0:
        assert time.monotonic() < deadline, "the broker deletes nothing"
        time.sleep(0.5)
    assert tasks.client.min_offset(queue) == 110

    outcome = tasks.start(Kind.SINK, config, epoch=2).end()
    assert outcome.permanent
    assert "[10, 110)" in outcome.error
    assert "retention" in outcome.error
    assert "`rocketconnect position set sink " in outcome.error
    third = tasks.start(Kind.SINK, {**config, "on.gap": "skip"}, epoch=3)
    third.reporter.wait_for_out(5)
    assert any("[10, 110)" in message for _, message in third.reporter.logs)
    assert third.stop().clean
    assert [json.loads(line)[3] for line in file.read_text().splitlines()] == [*values[:10], *values[110:]]
