"""Two real clusters that copy into each other by tasks that are killed: each message is in both once, whole, in its queue."""

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connectors.rocketmq.source import RocketmqSource
from rocketconnect_sdk.configuration.connector_options import source_options
from rocketconnect_sdk.options import parse
from rocketmq_remoting import Client, Message, PulledMessage
from services.executor.contract.task import Kind
from tests.conftest import RocketMQFactory
from tests.connectors.rocketmq.clusters import Cluster
from tests.services.executor.runtime.conftest import PositionProcess, Tasks
from tests.shared_rocketmq import RocketMQ

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.rocketmq

QUEUES, EACH, KILLS = 4, 1_000, 8
_OF_BROKERS = ("RCPOS", "CLUSTER", "MSG_REGION", "TRACE_ON", "WAIT")


@dataclass
class Direction:
    """A source of a cluster in an executor of the other one."""

    tasks: Tasks
    config: Mapping[str, str]
    running: "subprocess.Popen[bytes]"
    epoch: int = 1

    def kill(self) -> None:
        self.running.kill()
        self.running.wait()
        self.epoch += 1
        self.running = self.tasks.spawn(Kind.SOURCE, self.config, epoch=self.epoch, task_config=_share(self.config))


def _share(config: Mapping[str, str]) -> Mapping[str, str]:
    source = RocketmqSource()
    return source.plan(parse(source_options(source), config), 1, {}).tasks[0]


def _direction(tasks: Tasks, source: Cluster, names: tuple[str, str], topic: str) -> Direction:
    config = {
        "connector.class": "rocketmq_source",
        "topic": "unused",
        "name.servers": source.servers,
        "source.cluster": names[0],
        "target.cluster": names[1],
        "topics": topic,
        "batch.records": "50",
        "max.rate.records": "800",
    }
    return Direction(tasks, config, tasks.spawn(Kind.SOURCE, config, epoch=1, task_config=_share(config)))


def _whole(message: PulledMessage) -> tuple[bytes, Mapping[str, str]]:
    kept = {name: value for name, value in message.properties.items() if name not in _OF_BROKERS}
    return message.body, {name: value for name, value in kept.items() if not name.startswith("replicator.")}


def _messages(origin: str, queue: int) -> list[Message]:
    return [
        Message(f"{origin} {queue} {n}".encode() + bytes([n % 256]), f"t{n % 3}", f"k{n} of", {"n": str(n), "ü": f"ß{origin}"})
        for n in range(EACH)
    ]


@pytest.mark.slow
def test_two_clusters_copy_into_each_other_without_a_loop_a_loss_or_a_double(
    rocketmq: RocketMQ, rocketmq_factory: RocketMQFactory, positions: PositionProcess, tmp_path: Path
) -> None:
    other = rocketmq_factory({})
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    in_a = Tasks(rocketmq.name_server, positions.address, tmp_path / "a")
    in_b = Tasks(other.name_server, positions.address, tmp_path / "b")
    topic = in_a.topic
    clusters = {"A": Cluster(rocketmq.name_server, in_a.client), "B": Cluster(other.name_server, in_b.client)}
    for name, cluster in clusters.items():
        cluster.make(topic, QUEUES)
        for queue in range(QUEUES):
            cluster.put_all(topic, _messages(name, queue)[: EACH // 2], queue)
    directions = [
        _direction(in_b, clusters["A"], ("A", "B"), topic),
        _direction(in_a, clusters["B"], ("B", "A"), topic),
    ]
    chance = random.Random(11)
    for number in range(KILLS):
        time.sleep(chance.uniform(0.5, 2.0))
        chance.choice(directions).kill()
        if number == KILLS // 2:
            for name, cluster in clusters.items():
                for queue in range(QUEUES):
                    cluster.put_all(topic, _messages(name, queue)[EACH // 2 :], queue)
    total = 2 * QUEUES * EACH
    deadline = time.monotonic() + 240
    while True:
        there = {name: cluster.read(topic) for name, cluster in clusters.items()}
        if all(sum(map(len, queues.values())) >= total for queues in there.values()) and all(
            _has_passed(positions, each, cluster, topic) for each, cluster in zip(directions, clusters.values(), strict=True)
        ):
            break
        assert time.monotonic() < deadline, {name: {q: len(m) for q, m in queues.items()} for name, queues in there.items()}
        time.sleep(0.5)
    there = {name: cluster.read(topic) for name, cluster in clusters.items()}
    for queue in range(QUEUES):
        by_origin = {
            name: {origin: [each for each in there[name][queue] if each.body.startswith(origin.encode())] for origin in clusters}
            for name in clusters
        }
        for origin in clusters:
            own, copies = by_origin[origin][origin], by_origin["B" if origin == "A" else "A"][origin]
            assert [each.body for each in own] == [each.body for each in _messages(origin, queue)]
            assert list(map(_whole, copies)) == list(map(_whole, own))
            assert {each.properties["replicator.clusters"] for each in copies} == {origin}
            assert [each.properties["replicator.offset"] for each in copies] == [str(each.queue_offset) for each in own]
            assert [each.properties["replicator.message.id"] for each in copies] == [each.message_id for each in own]
    for each in directions:
        each.running.stdin.close()  # type: ignore[union-attr]
        assert each.running.wait(60) == 0
        each.tasks.close()


def test_a_source_copies_messages_into_the_queues_that_they_were_in_whatever_their_keys_are(tasks: Tasks) -> None:
    tasks.create_topic(3)
    cluster = Cluster(tasks.name_servers, tasks.client)
    for queue in range(3):
        cluster.put_all(tasks.topic, [Message(b"\xff%d" % n, keys=f"k{n}", properties={"n": str(n)}) for n in range(4)], queue)
    config = {
        "connector.class": "rocketmq_source",
        "name.servers": tasks.name_servers,
        "source.cluster": "A",
        "target.cluster": "B",
        "topics": tasks.topic,
        "topic.template": "of-${topic}",
        "topic.queues": "3",
        "topic": "unused",
    }
    running = tasks.start(Kind.SOURCE, config, task_config=_share(config))
    running.reporter.wait_for_out(12)
    assert running.stop().clean
    copies, originals = cluster.read(f"of-{tasks.topic}"), cluster.read(tasks.topic)
    assert {queue: list(map(_whole, found)) for queue, found in copies.items()} == {
        queue: list(map(_whole, found)) for queue, found in originals.items()
    }


def test_a_sink_writes_messages_whole_into_the_queues_that_they_were_in_and_none_that_was_there_before(tasks: Tasks) -> None:
    tasks.create_topic(3)
    cluster = Cluster(tasks.name_servers, tasks.client)
    own = {"connect-ext-x": "1", "MY_OWN": "2", "__SHARDINGKEY": "s", "connect.timestamp": "7"}
    sent = [Message(b"\xff\x00" + bytes([n]), "t", "k 1", {**own, "n": str(n)}) for n in range(5)]
    cluster.put_all(tasks.topic, sent, 2)
    cluster.put(tasks.topic, [b"back"], 2, properties={"replicator.clusters": "B"})
    marked = {"connect-tombstone": "1", "connect-key-base64": "no base64"}
    cluster.put_all(tasks.topic, [Message(body, properties=marked) for body in (b"", b"last")], 1)
    config = {
        "connector.class": "rocketmq_sink",
        "name.servers": tasks.name_servers,
        "source.cluster": "A",
        "target.cluster": "B",
        "target.topic": "of-${topic}",
        "target.queues": "3",
        "value.converter": "bytes",
    }
    running = tasks.start(Kind.SINK, config)
    running.reporter.wait_for_out(8)
    assert running.stop().clean
    copies, originals = cluster.read(f"of-{tasks.topic}"), cluster.read(tasks.topic)
    assert list(map(_whole, copies[2])) == list(map(_whole, originals[2][:5]))
    assert list(map(_whole, copies[1])) == list(map(_whole, originals[1]))
    told = {name: value for name, value in copies[2][4].properties.items() if name.startswith("replicator.")}
    place = {"replicator.topic": tasks.topic, "replicator.queue": f"{originals[2][4].queue.broker}/2", "replicator.offset": "4"}
    assert told == {**place, "replicator.clusters": "A", "replicator.store.time": "7"}
    assert copies[0] == []


def _has_passed(positions: PositionProcess, direction: Direction, source: Cluster, topic: str) -> bool:
    """Whether all that is in the source was read, so that whatever could go round has gone."""
    stored = positions.offsets(f"source-{direction.tasks.unique}")
    return all(
        stored.get(f"{topic}/{queue.broker}/{queue.queue_id}") == [0, source.client.max_offset(queue)]
        for queue in source.client.queues(topic)
    )


@pytest.mark.slow
def test_a_group_whose_cluster_is_lost_goes_on_in_the_other_one_at_what_it_has_not_read(
    rocketmq_factory: RocketMQFactory, positions: PositionProcess, tmp_path: Path
) -> None:
    lost, other = rocketmq_factory({}), rocketmq_factory({})
    in_b = Tasks(other.name_server, positions.address, tmp_path)
    topic, group = in_b.topic, f"readers-of-{in_b.topic}"
    there, here = Cluster(lost.name_server, Client(lost.name_server)), Cluster(other.name_server, in_b.client)
    there.make(topic, QUEUES)
    for queue in range(QUEUES):
        there.put_all(topic, _messages("A", queue), queue)
    copying = _direction(in_b, there, ("A", "B"), topic)
    read: list[bytes] = []
    for number, each in enumerate(there.client.queues(topic)):
        read += [message.body for message in there.read(topic)[number][: 100 * number]]
        there.client.set_offset(group, each, 100 * number)
    config = {
        "connector.class": "rocketmq_checkpoint_source",
        "name.servers": lost.name_server,
        "target.name.servers": other.name_server,
        "source.cluster": "A",
        "target.cluster": "B",
        "topics": topic,
        "groups": group,
        "poll.interval": "1s",
    }
    for _ in range(2):
        time.sleep(3)
        copying.kill()
    deadline = time.monotonic() + 240
    while sum(map(len, here.read(topic).values())) < QUEUES * EACH:
        assert time.monotonic() < deadline, "not all is copied"
        time.sleep(0.5)
    in_b.client.create_topic(f"{topic}-checkpoints", queues=1)
    checkpoints = in_b.start(
        Kind.SOURCE, {**config, "topic": f"{topic}-checkpoints"}, name="checkpoints", task_config={"streams": f"{topic}\t"}
    )
    checkpoints.reporter.wait_for_out(QUEUES)
    lost.kill()
    at = {queue.queue_id: in_b.client.committed_offset(group, queue) for queue in in_b.client.queues(topic)}
    left = [message.body for number, messages in here.read(topic).items() for message in messages[at[number] or 0 :]]
    assert sorted(read + left) == sorted(each.body for queue in range(QUEUES) for each in _messages("A", queue))
    assert checkpoints.stop().clean
    copying.running.kill()
    there.client.close()
    in_b.close()
