"""Offsets of the groups of another cluster are found again here. One broker is both clusters: the copies have other topics."""

import logging
from collections.abc import Mapping

import pytest

from connectors.rocketmq import messages
from connectors.rocketmq.checkpoint_source import RocketmqCheckpointSource
from connectors.rocketmq.replicator.checkpoints import Checkpoints
from rocketconnect_sdk import Config, parse
from rocketmq_remoting import Client, Message, MessageQueue
from tests.connectors.rocketmq.clusters import Cluster, options

pytestmark = pytest.mark.rocketmq
SOURCE = RocketmqCheckpointSource()


def config_of(cluster: Cluster, **given: str) -> Config:
    target = {"target.name.servers": cluster.servers, "topic.template": "${topic}-copy"}
    return parse(SOURCE.options, options(cluster, {**target, **given}))


def copy(cluster: Cluster, topic: str, queues: int) -> None:
    """Copies a topic into one with so many queues."""
    cluster.make(f"{topic}-copy", queues)
    for number, found in cluster.read(topic).items():
        made = []
        for each in found:
            origin = {
                messages.TOPIC: topic,
                messages.QUEUE: f"{each.queue.broker}/{number}",
                messages.OFFSET: str(each.queue_offset),
            }
            made.append(Message(each.body, properties=messages.copied(each.properties, "A", origin)))
        cluster.put_all(f"{topic}-copy", made, number % queues)


@pytest.fixture
def group(topic: str) -> str:
    return f"readers-of-{topic}"


def shown(rows: list[Mapping[str, object]]) -> set[tuple[object, ...]]:
    return {(row["queue"], row["offset"], row["target_queue"], row["target_offset"], row["is_set"]) for row in rows}


def test_a_group_goes_on_here_at_what_it_has_not_read_there(cluster: Cluster, topic: str, group: str) -> None:
    cluster.make(topic, 2)
    for number in range(2):
        cluster.put(topic, [b"%d" % at for at in range(10)], number)
    copy(cluster, topic, 1)
    first, second = cluster.client.queues(topic)
    (here,) = cluster.client.queues(f"{topic}-copy")
    cluster.client.set_offset(group, first, 10)
    cluster.client.set_offset(group, second, 4)
    checkpoints = Checkpoints(config_of(cluster, topics=topic, groups=group))
    a, b, home = f"{first.broker}/0", f"{first.broker}/1", f"{here.broker}/0"
    # Of two queues whose copies share one the place of the first that is unread holds.
    assert shown(checkpoints.changed(topic)) == {(a, 10, home, 20, False), (b, 4, home, 14, True)}
    assert cluster.client.committed_offset(group, here) == 14
    assert checkpoints.changed(topic) == []
    cluster.client.set_offset(group, second, 10)
    assert shown(checkpoints.changed(topic)) == {(b, 10, home, 20, True)}
    assert cluster.client.committed_offset(group, here) == 20
    # Its readers are set back there; here it goes forwards alone.
    cluster.client.set_offset(group, second, 2)
    assert shown(checkpoints.changed(topic)) == {(b, 2, home, 12, False)}
    assert cluster.client.committed_offset(group, here) == 20
    checkpoints.close()


def test_a_group_that_reads_here_is_left_alone_and_so_are_all_without_offsets_sync(
    cluster: Cluster, topic: str, group: str
) -> None:
    cluster.make(topic)
    cluster.put(topic, [b"1", b"2"])
    copy(cluster, topic, 1)
    (queue,), (here,) = cluster.client.queues(topic), cluster.client.queues(f"{topic}-copy")
    name = f"{queue.broker}/0"
    with Client(cluster.servers) as reader:
        # The first that commits in the name of a group joins it.
        reader.commit_offset(group, here, 0)
        cluster.client.set_offset(group, queue, 1)
        checkpoints = Checkpoints(config_of(cluster, topics=topic, groups=group))
        assert shown(checkpoints.changed(topic)) == {(name, 1, name, 1, False)}
        checkpoints.close()
    quiet = Checkpoints(config_of(cluster, topics=topic, groups=group, **{"offsets.sync": "false"}))
    assert shown(quiet.changed(topic)) == {(name, 1, name, 1, False)}
    quiet.close()
    assert cluster.client.committed_offset(group, here) == 0


def test_nobody_joins_a_group_by_setting_its_offset(cluster: Cluster, topic: str, group: str) -> None:
    cluster.make(topic)
    (queue,) = cluster.client.queues(topic)
    cluster.client.set_offset(group, queue, 0)
    (broker,) = cluster.client.admin.brokers()
    assert broker.master is not None
    assert cluster.client.admin.connections(broker.master, group, 10).result().connections == ()


def test_messages_that_are_no_copies_are_told_once_and_read_by_their_copies_there_where_these_are(
    cluster: Cluster, topic: str, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.make(topic)
    cluster.put(topic, [b"1"])
    copy(cluster, topic, 1)
    cluster.put(f"{topic}-copy", [b"own"])
    (queue,) = cluster.client.queues(topic)
    cluster.client.set_offset(group, queue, 1)
    checkpoints = Checkpoints(config_of(cluster, topics=topic, groups=group), logging.getLogger("test"))
    assert [checkpoints.changed(topic) for _ in range(2)] == [[], []]
    (said,) = [record.message for record in caplog.records if "no copies" in record.message]
    assert said.startswith(f"{topic}-copy: it has messages that are no copies of {topic}")
    # Now they are copied back, and the group reads them there.
    (own,) = [each for each in cluster.read(f"{topic}-copy")[0] if each.body == b"own"]
    back = {
        messages.TOPIC: f"{topic}-copy",
        messages.QUEUE: f"{own.queue.broker}/0",
        messages.OFFSET: str(own.queue_offset),
    }
    cluster.put_all(topic, [Message(own.body, properties=messages.copied({}, "B", back))])
    name = f"{queue.broker}/0"
    assert shown(checkpoints.changed(topic)) == {(name, 1, name, 1, True)}
    cluster.client.set_offset(group, queue, 2)
    assert shown(checkpoints.changed(topic)) == {(name, 2, name, 2, True)}
    # What it has read there behind that does not come again here.
    cluster.put(topic, [b"2", b"3"])
    for at in (2, 3):
        origin = {messages.TOPIC: topic, messages.QUEUE: name, messages.OFFSET: str(at)}
        cluster.put_all(f"{topic}-copy", [Message(b"%d" % at, properties=messages.copied({}, "A", origin))])
    cluster.client.set_offset(group, queue, 3)
    assert shown(checkpoints.changed(topic)) == {(name, 3, name, 3, True)}
    checkpoints.close()


def test_a_topic_of_which_nothing_was_copied_yet_has_nothing_to_tell(cluster: Cluster, topic: str, group: str) -> None:
    cluster.make(topic)
    cluster.put(topic, [b"1"])
    queue: MessageQueue
    (queue,) = cluster.client.queues(topic)
    cluster.client.set_offset(group, queue, 1)
    checkpoints = Checkpoints(config_of(cluster, topics=topic, groups=group))
    assert checkpoints.changed(topic) == []
    cluster.make(f"{topic}-copy")
    assert checkpoints.changed(topic) == []
    checkpoints.close()


def test_what_is_missing_is_told_at_once(cluster: Cluster) -> None:
    config = parse(
        SOURCE.options,
        options(cluster, {"target.name.servers": cluster.servers, "target.access.key": "user", "topic.template": ""}),
    )
    assert {problem.key for problem in SOURCE.check(config)} == {"target.secret.key", "topics", "groups", "topic.template"}
    assert list(SOURCE.check(config_of(cluster, **{"topics.pattern": "no-such-.*", "groups.pattern": ".*"}))) == []
