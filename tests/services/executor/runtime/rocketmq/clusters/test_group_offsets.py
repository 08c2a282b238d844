"""RocketMQ's own admin tool shows how far a sink is: real broker, real positions, the real tool."""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketmq_remoting import Client
from rocketmq_remoting.batch import encode_batch
from rocketmq_remoting.model import MessageQueue
from services.executor.contract.task import Kind, State
from services.executor.runtime.rocketmq.group_offsets import GroupOffsets
from services.executor.runtime.task.group_resets import GroupResets
from tests.connectors.rocketmq.clusters import until
from tests.rocketmq_admin import admin_tool, reset_offsets, wait_for_progress
from tests.services.executor.runtime.conftest import PositionProcess, Running, Tasks
from tests.shared_rocketmq import RocketMQ

pytestmark = pytest.mark.rocketmq
HELD_SECONDS = 7.0
"""Longer than a broker holds a pull of a task that follows resets: it looks at those whose time is over every 5 s."""


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


def watched(offsets: GroupOffsets, client: Client, queue: MessageQueue, now: float = 0.0) -> int | None:
    """The offset of a group that is called as its queue's topic is."""
    offsets.watch(now)
    return client.committed_offset(queue.topic, queue)


def test_an_offset_that_somebody_else_sets_is_told_once_and_set_back(rocketmq: RocketMQ) -> None:
    topic = group = f"watched-{uuid.uuid4().hex}"
    told: list[str] = []
    with Client(rocketmq.name_server) as client, Client(rocketmq.name_server) as other:
        client.create_topic(topic, queues=2)
        first, second = client.queues(topic)
        client.send_batch(first, encode_batch([b"x"] * 9), 10)
        offsets = GroupOffsets(client, group, "orders", lambda level, message: told.append(f"{level} {message}"), every=0.0)
        offsets.show({first: 7, second: 0})
        until(lambda: client.committed_offset(group, first) == 7, "the offset")
        other.set_offset(group, first, 2)
        until(lambda: watched(offsets, client, first) == 7, "the offset again")
        for _ in range(20):
            offsets.watch(0.0)
            time.sleep(0.01)
        offsets.close()
    (said,) = told
    where = f"group {group} in {first.topic}/{first.broker}/0 from 7 to 2"
    assert said.startswith(f"WARNING somebody else, such as resetOffsetByTime of mqadmin, has set the offset of {where}.")
    assert said.endswith("rocketconnect position set orders --to-time TIME --restart")


def test_what_came_while_another_offset_was_shown_is_shown_without_a_further_one(rocketmq: RocketMQ) -> None:
    topic = group = f"shown-{uuid.uuid4().hex}"
    with Client(rocketmq.name_server) as client:
        client.create_topic(topic, queues=1)
        (queue,) = client.queues(topic)
        offsets = GroupOffsets(client, group, "orders", lambda level, message: None)
        for offset in range(50):
            offsets.show({queue: offset})
        until(lambda: watched(offsets, client, queue) == 49, "the last offset")
        offsets.close()


def send(tasks: Tasks, queue: MessageQueue, count: int) -> None:
    tasks.client.send_batch(queue, encode_batch([b"x"] * count), 10)


def test_a_sink_that_follows_goes_where_its_group_is_reset_once_and_at_its_start_too(tasks: Tasks, tmp_path: Path) -> None:
    tasks.create_topic(2)
    queues = tasks.client.queues(tasks.topic)
    for queue in queues:
        send(tasks, queue, 5)
    group, log = f"group-{tasks.unique}", tmp_path / "log"
    config = {"connector.class": "log", "file": str(log), "task.group.id": group, "on.group.reset": "follow"}

    def lines() -> int:
        return len(log.read_text().splitlines()) if log.exists() else 0

    def told(running: Running) -> bool:
        return any(f"somebody has reset group {group}: goes on where that was" in message for _, message in running.reporter.logs)

    def shows(offset: int) -> bool:
        return {tasks.client.committed_offset(group, queue) for queue in queues} == {offset}

    running = tasks.start(Kind.SINK, config)
    until(lambda: lines() == 10 and shows(5), "all")
    reset_offsets(tasks.client, group, queues[0], 0)
    running.reporter.wait_for(lambda: told(running))
    until(lambda: lines() == 20 and shows(5), "all again")
    # What comes then comes once.
    for queue in queues:
        send(tasks, queue, 1)
    until(lambda: lines() == 22 and shows(6), "what came then")
    assert running.stop().clean
    for queue in queues:
        send(tasks, queue, 3)
    # The broker may execute the pulls of the task that has ended once more: these would be told.
    time.sleep(HELD_SECONDS)
    reset_offsets(tasks.client, group, queues[0], -1)
    again = tasks.start(Kind.SINK, config, epoch=2)
    again.reporter.wait_for(lambda: told(again))
    until(lambda: shows(9), "the ends")
    for queue in queues:
        send(tasks, queue, 2)
    until(lambda: lines() == 26 and shows(11), "the last")
    assert again.stop().clean
    assert lines() == 26


def test_a_reset_that_a_pull_under_way_tells_while_the_task_begins_anew_for_another_queue_is_followed_too(
    tasks: Tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks.create_topic(2)
    first, second = tasks.client.queues(tasks.topic)
    for queue in (first, second):
        send(tasks, queue, 5)
    tell, take = GroupResets.told, GroupResets.take

    def told(self: GroupResets, queue: MessageQueue, to: int) -> None:
        if queue == first:
            tell(self, queue, to)

    def taken(self: GroupResets) -> Mapping[MessageQueue, int]:
        found = take(self)
        if first in found:
            tell(self, second, 0)
        return found

    monkeypatch.setattr(GroupResets, "told", told)
    monkeypatch.setattr(GroupResets, "take", taken)
    group = f"group-{tasks.unique}"
    config = {"connector.class": "log", "file": str(tmp_path / "log"), "task.group.id": group, "on.group.reset": "follow"}
    running = tasks.start(Kind.SINK, config)
    running.reporter.wait_for_out(10)
    until(lambda: {tasks.client.committed_offset(group, queue) for queue in (first, second)} == {5}, "the offsets")
    reset_offsets(tasks.client, group, first, 0)
    running.reporter.wait_for_out(20)
    assert running.stop().clean
    assert len((tmp_path / "log").read_text().splitlines()) == 20


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


def test_an_offset_that_the_task_may_follow_is_told_only_when_it_is_found_again(rocketmq: RocketMQ) -> None:
    topic = group = f"followed-{uuid.uuid4().hex}"
    told: list[str] = []
    with Client(rocketmq.name_server) as client, Client(rocketmq.name_server) as other:
        client.create_topic(topic, queues=1)
        (queue,) = client.queues(topic)
        client.send_batch(queue, encode_batch([b"x"] * 9), 10)
        offsets = GroupOffsets(client, group, "orders", lambda level, message: told.append(message), follows=True)
        offsets.show({queue: 7})
        until(lambda: client.committed_offset(group, queue) == 7, "the offset")
        other.set_offset(group, queue, 2)
        offsets.watch(0.0)
        offsets.watch(1.0)
        time.sleep(0.5)
        assert (told, client.committed_offset(group, queue)) == ([], 2)
        until(lambda: watched(offsets, client, queue, 31.0) == 7, "the offset again")
        offsets.close()
    (said,) = told
    assert "has set the offset of group" in said


def test_a_reset_that_a_broker_tells_of_is_told_once_and_set_back(rocketmq: RocketMQ) -> None:
    topic = group = f"reset-{uuid.uuid4().hex}"
    told: list[str] = []
    with Client(rocketmq.name_server) as client, Client(rocketmq.name_server) as other:
        client.create_topic(topic, queues=1)
        (queue,) = client.queues(topic)
        client.send_batch(queue, encode_batch([b"x"] * 9), 10)
        offsets = GroupOffsets(client, group, "orders", lambda level, message: told.append(message))
        offsets.show({queue: 7})
        until(lambda: client.committed_offset(group, queue) == 7, "the offset")
        other.set_offset(group, queue, 2)
        offsets.was_reset({queue: 2})
        until(lambda: client.committed_offset(group, queue) == 7, "the offset again")
        offsets.watch(0.0)
        offsets.close()
    (said,) = told
    assert f"{queue.broker}/0 from 7 to 2. The sink goes on where it is." in said


@pytest.mark.slow
def test_a_sink_that_mqadmin_resets_goes_on_where_it_is_and_says_so(rocketmq: RocketMQ, tasks: Tasks, tmp_path: Path) -> None:
    tasks.create_topic(1)
    (queue,) = tasks.client.queues(tasks.topic)
    send(tasks, queue, 10)
    group = f"group-{tasks.unique}"
    running = tasks.start(Kind.SINK, {"connector.class": "log", "file": str(tmp_path / "log"), "task.group.id": group})
    running.reporter.wait_for_out(10)
    until(lambda: tasks.client.committed_offset(group, queue) == 10, "the offset")
    admin_tool(rocketmq.jars, rocketmq.name_server, tmp_path, "resetOffsetByTime", "-g", group, "-t", tasks.topic, "-s", "0")
    running.reporter.wait_for(lambda: any("has set the offset" in message for _, message in running.reporter.logs))
    until(lambda: tasks.client.committed_offset(group, queue) == 10, "the offset again")
    assert running.reporter.metrics.records_out == 10
    assert running.stop().clean


@pytest.mark.slow
def test_a_sink_that_follows_goes_back_where_mqadmin_resets_it(rocketmq: RocketMQ, tasks: Tasks, tmp_path: Path) -> None:
    tasks.create_topic(2)
    queues = tasks.client.queues(tasks.topic)
    for queue in queues:
        send(tasks, queue, 5)
    group = f"group-{tasks.unique}"
    config = {"connector.class": "log", "file": str(tmp_path / "log"), "task.group.id": group, "on.group.reset": "follow"}
    running = tasks.start(Kind.SINK, config)
    running.reporter.wait_for_out(10)
    until(lambda: {tasks.client.committed_offset(group, queue) for queue in queues} == {5}, "the offsets")
    admin_tool(rocketmq.jars, rocketmq.name_server, tmp_path, "resetOffsetByTime", "-g", group, "-t", tasks.topic, "-s", "0")
    running.reporter.wait_for_out(20)
    until(lambda: {tasks.client.committed_offset(group, queue) for queue in queues} == {5}, "the offsets")
    assert running.stop().clean
