"""The drill: a cluster is lost under load, its consumers go on in the other one, and all go back when it is there again."""

import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from connectors.rocketmq.source import RocketmqSource
from rocketconnect_sdk.configuration.connector_options import source_options
from rocketconnect_sdk.options import parse
from rocketmq_remoting import Client, Message, OutcomeUnknown, RocketMQError
from services.executor.contract.task import Kind
from tests.conftest import RocketMQFactory
from tests.connectors.rocketmq.clusters import Cluster, until
from tests.services.executor.runtime.conftest import PositionProcess, Running, Tasks

pytestmark = [pytest.mark.rocketmq, pytest.mark.slow]

QUEUES = 4


class Producer:
    """Sends numbers, each until it is confirmed, to the cluster that it is told."""

    def __init__(self, topic: str, client: Client) -> None:
        self.confirmed: list[int] = []
        self.unsure: set[int] = set()
        self.client = client
        self._topic = topic
        self._ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended = True
        self._thread.join()

    def sends(self, more: int) -> None:
        """Returns when so many more are confirmed."""
        wanted = len(self.confirmed) + more
        until(lambda: len(self.confirmed) >= wanted, f"{more} messages more")

    def _run(self) -> None:
        number = 0
        while not self._ended:
            try:
                queue = self.client.queues(self._topic)[number % QUEUES]
                self.client.send(queue, Message(b"%d" % number))
            except RocketMQError as error:
                if isinstance(error, OutcomeUnknown):
                    self.unsure.add(number)
                time.sleep(0.05)
                continue
            self.confirmed.append(number)
            number += 1
            time.sleep(0.003)


class Consumer:
    """Reads in the name of a group, and commits what it has read."""

    def __init__(self, topic: str, group: str, servers: str) -> None:
        self.read: list[int] = []
        self._ended = False
        self._thread = threading.Thread(target=self._run, args=(topic, group, servers), daemon=True)
        self._thread.start()

    def end(self) -> list[int]:
        self._ended = True
        self._thread.join()
        return self.read

    def _run(self, topic: str, group: str, servers: str) -> None:
        with Client(servers) as client:
            while not self._ended:
                try:
                    for queue in client.queues(topic):
                        at = client.committed_offset(group, queue)
                        result = client.pull(queue, client.min_offset(queue) if at is None else at, max_messages=8)
                        self.read += [int(message.body) for message in result.messages]
                        if result.messages:
                            client.commit_offset(group, queue, result.next_offset)
                except RocketMQError:
                    time.sleep(0.05)


class Place:
    """A cluster with what copies from another one into it."""

    def __init__(self, tasks: Tasks, name: str, servers: str) -> None:
        self.tasks = tasks
        self.name = name
        self.cluster = Cluster(servers, tasks.client)

    def follows(self, other: "Place", topic: str, group: str) -> None:
        """Starts what keeps this one ready to stand in for the other one."""
        names = {"name.servers": other.cluster.servers, "source.cluster": other.name, "target.cluster": self.name, "topics": topic}
        source = RocketmqSource()
        copying = {"connector.class": source.name, **names}
        plan = source.plan(parse(source_options(source), {**copying, "topic": "unused"}), 1, {})
        self._start(copying, plan.tasks[0])
        checkpoints = {"connector.class": "rocketmq_checkpoint_source", **names, "groups": group, **self._target}
        self._start(checkpoints, {"streams": f"{topic}\t"})

    def follows_settings(self, other: "Place", topic: str, group: str) -> Running:
        config = {"connector.class": "rocketmq_settings_source", "name.servers": other.cluster.servers, **self._target}
        return self._start({**config, "topics": topic, "groups": group}, {"streams": "topics\t\ngroups\t"})

    @property
    def _target(self) -> Mapping[str, str]:
        return {"target.name.servers": self.cluster.servers, "poll.interval": "1s"}

    def _start(self, config: Mapping[str, str], task: Mapping[str, str]) -> Running:
        name = config["connector.class"]
        told = f"{name}-{self.tasks.unique}"
        self.tasks.client.create_topic(told, queues=1)
        return self.tasks.start(Kind.SOURCE, {"topic": told, **config}, name=name, task_config=task, send_deadline=5.0)

    def passed(self, topic: str, group: str) -> tuple[set[int], set[int]]:
        """What the group has passed, and what it has not."""
        client, passed, left = self.cluster.client, set(), set()
        places = {queue.queue_id: client.committed_offset(group, queue) or 0 for queue in client.queues(topic)}
        for queue, messages in self.cluster.read(topic).items():
            numbers = [int(message.body) for message in messages]
            passed.update(numbers[: places[queue]])
            left.update(numbers[places[queue] :])
        return passed, left


def test_consumers_go_on_in_the_other_cluster_and_come_back_without_a_loss(
    rocketmq_factory: RocketMQFactory, positions: PositionProcess, tmp_path: Path
) -> None:
    lost, other = rocketmq_factory({}), rocketmq_factory({})
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a = Place(Tasks(lost.name_server, positions.address, tmp_path / "a"), "A", lost.name_server)
    b = Place(Tasks(other.name_server, positions.address, tmp_path / "b"), "B", other.name_server)
    topic, group = f"drill-{b.tasks.unique}", f"readers-{b.tasks.unique}"
    a.cluster.make(topic, QUEUES, attributes={"message.type": "FIFO"})
    a.cluster.client.create_group(group)
    # Topic and group are there before anything is copied.
    settings = b.follows_settings(a, topic, group)
    settings.reporter.wait_for_out(2)
    assert b.cluster.client.topic_config(topic) == a.cluster.client.topic_config(topic)
    b.follows(a, topic, group)
    producer, reader = Producer(topic, a.cluster.client), Consumer(topic, group, lost.name_server)
    until(lambda: len(b.passed(topic, group)[0]) >= 1_000, "the group's offsets in B")

    # A is lost: readers and producers go to B. What the group has read since the last look comes again.
    burst = range(1_000_000, 1_002_000)
    a.cluster.client.send_batch(a.cluster.client.queues(topic)[0], [Message(b"%d" % number) for number in burst])
    lost.kill()
    at_a = reader.end()
    passed, _ = b.passed(topic, group)
    assert passed <= {*at_a}
    again = {*at_a} - passed
    producer.client = b.cluster.client
    reader = Consumer(topic, group, other.name_server)
    producer.sends(1_000)
    late = {*producer.confirmed, *burst} - {int(body) for body in b.cluster.bodies(topic)}

    # A is there again: what was not copied comes late, and what was written to B meanwhile goes there.
    lost.start()
    a.follows(b, topic, group)
    producer.sends(500)
    producer.end()
    wanted = {*producer.confirmed, *burst}
    until(lambda: wanted <= {*at_a, *reader.read}, "all that was confirmed, in B")
    until(lambda: wanted <= {int(body) for body in a.cluster.bodies(topic)}, "all that was confirmed, in A")
    # All are back in A when the group's offsets are: it has nothing left there.
    until(lambda: not a.passed(topic, group)[1], "the group's offsets in A")
    at_b = reader.end()
    reader = Consumer(topic, group, lost.name_server)
    producer_back = Producer(topic, a.cluster.client)
    producer_back.sends(200)
    producer_back.end()
    until(lambda: len(reader.read) >= len(producer_back.confirmed), "what was written to A, in A")
    back_at_a = reader.end()

    assert {*at_a, *at_b} >= wanted
    assert {*at_a, *at_b} - wanted <= producer.unsure
    assert sorted(back_at_a) == sorted([*producer_back.confirmed, *producer_back.unsure])
    doubles = Counter([*at_a, *at_b])
    twice = sum(count - 1 for count in doubles.values())
    assert {number for number, count in doubles.items() if count > 1} <= again | producer.unsure
    told = f"{len(wanted)} messages: {len(at_a)} read in A, {len(passed)} passed in B, {len(again)} read again, {len(late)} late"
    sys.stdout.write(f"\n{told}, {twice} doubles, 0 lost; back in A: {len(back_at_a)} read\n")
    for place in (a, b):
        place.tasks.close()
