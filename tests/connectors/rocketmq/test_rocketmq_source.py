"""Against the broker that all tests share."""

from contextlib import closing

import pytest

from connectors.rocketmq import messages
from connectors.rocketmq.log import RocketmqLog
from connectors.rocketmq.source import RocketmqSource
from rocketconnect_sdk import Config, PermanentError, Position, SourceBatch, TaskContext, parse
from rocketconnect_sdk.configuration.connector_options import check_connector, source_options
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.source import Edge
from rocketmq_remoting import Compression, Message
from tests.connectors.partitions import Runtime
from tests.connectors.rocketmq.clusters import Cluster, options, until

pytestmark = pytest.mark.rocketmq
SOURCE = RocketmqSource()


def parsed(cluster: Cluster, **given: str) -> Config:
    return parse(source_options(SOURCE), options(cluster, {"connector.class": SOURCE.name, "topic": "unused", **given}))


def batches(config: Config, count: int, positions: dict[str, Position] | None = None) -> list[SourceBatch]:
    """Those with so many messages."""
    task = SOURCE.open(config, SOURCE.plan(config, 1, positions or {}).tasks[0], TaskContext())
    found: list[SourceBatch] = []

    def are_all() -> bool:
        found.extend(batch for batch in batches_of(task.poll()) if len(batch))
        return sum(map(len, found)) >= count

    try:
        task.start(positions or {})
        until(are_all, "every message")
        assert not any(len(batch) for batch in batches_of(task.poll()))
    finally:
        task.close()
    return found


def runtime_of(config: Config) -> Runtime:
    return Runtime(SOURCE, config, records=3)


def sent(runtime: Runtime, count: int) -> list[object]:
    def are_all() -> bool:
        runtime.read()
        return len(runtime.values) >= count

    until(are_all, "every message")
    return runtime.values


def problems(config: dict[str, str]) -> dict[str, str]:
    checked = check_connector({"connector.class": "rocketmq_source", "topic": "t", **config})
    return {each.key: str(each) for each in checked.problems}


def test_messages_come_whole_with_where_they_were(cluster: Cluster, topic: str) -> None:
    cluster.make(topic, 2)
    properties = {"ünï": "wört", "__SHARDINGKEY": "s", "RCPOS": "u|1|p|1|7", messages.CLUSTERS: "X"}
    bodies = [b"\x00\xff\x01", b"x" * 5000]
    cluster.put(topic, bodies[:1], queue=1, tags="new", keys="k1 k2", properties=properties)
    cluster.put(topic, bodies[1:], queue=1, compression=Compression.ZSTD)
    (batch,) = batches(parsed(cluster, topics=topic), 2)
    first, second = cluster.read(topic)[1]
    assert list(batch.values) == bodies
    assert batch.topics == [topic, topic]
    assert batch.queue == (first.queue.broker, 1)
    assert batch.offsets == [(0, 1), (0, 2)]
    assert batch.timestamps_ms == [first.store_timestamp_ms, second.store_timestamp_ms]
    assert batch.properties is not None
    told = {
        "replicator.topic": topic,
        "replicator.queue": f"{first.queue.broker}/1",
        "replicator.offset": "0",
        "replicator.message.id": first.message_id,
        "replicator.store.time": str(first.store_timestamp_ms),
        "replicator.born.time": str(first.born_timestamp_ms),
        "replicator.born.host": first.born_host,
        "replicator.mark": "u|1|p|1|7",
        "replicator.clusters": "X,A",
    }
    own = {"ünï": "wört", "__SHARDINGKEY": "s", "TAGS": "new", "KEYS": "k1 k2", "UNIQ_KEY": first.properties["UNIQ_KEY"]}
    assert batch.properties[0] == {**own, **told}


def test_topics_come_by_name_pattern_and_tags_and_those_of_groups_do_not(cluster: Cluster, topic: str) -> None:
    for name in (topic, f"{topic}-new", f"{topic}-old", f"%RETRY%{topic}", f"%DLQ%{topic}"):
        cluster.make(name)
        for tag in ("a", "b"):
            cluster.put(name, [f"{name} {tag}".encode()], tags=tag)
    found = batches(parsed(cluster, topics_pattern=f".*{topic}.*", topics_exclude=".*old", src_topictags=f"{topic},b"), 3)
    every = {value for batch in found for value in batch.values}
    assert every == {f"{topic} b".encode(), f"{topic}-new a".encode(), f"{topic}-new b".encode()}
    (batch,) = batches(parsed(cluster, topics=f"%DLQ%{topic}", tags="a", topic_template="of-${topic}"), 1)
    assert batch.topics == [f"of-%DLQ%{topic}"]


def test_what_was_in_the_target_before_is_left_out_and_its_place_is_passed(cluster: Cluster, topic: str) -> None:
    cluster.make(topic)
    cluster.put(topic, [b"mine"])
    cluster.put(topic, [b"back"] * 2, properties={messages.CLUSTERS: "C,B"})
    runtime = runtime_of(parsed(cluster, topics=topic))
    assert sent(runtime, 1) == [b"mine"]

    def is_passed() -> bool:
        runtime.read()
        runtime.store(9)
        return {each.offset for each in runtime.positions.values()} == {(0, 3)}

    until(is_passed, "the end of the queue as a position")


def test_new_topics_and_queues_are_found_while_it_runs(cluster: Cluster, topic: str) -> None:
    cluster.make(topic)
    cluster.put(topic, [b"1"])
    runtime = runtime_of(parsed(cluster, topics_pattern=f"{topic}.*", discover_interval="0.1", start="latest"))
    until(lambda: runtime.read() or runtime.tasks()[0].caught_up, "the end")
    cluster.make(f"{topic}-new")
    cluster.put(f"{topic}-new", [b"2"])
    cluster.make(topic, 2)
    cluster.put(topic, [b"3"], queue=1)
    assert sent(runtime, 2) == [b"2", b"3"]
    runtime.kill()


def test_a_topic_that_was_made_anew_is_told_and_is_read_from_its_beginning_when_that_is_accepted(
    cluster: Cluster, topic: str
) -> None:
    cluster.make(topic)
    cluster.put(topic, [b"old"] * 3)
    runtime = runtime_of(parsed(cluster, topics=topic))
    sent(runtime, 3)
    runtime.store(9)
    runtime.kill()
    for count in (2, 5):
        # One is shorter than what was read, the other longer.
        cluster.client.delete_topic(topic)
        cluster.make(topic)
        cluster.put(topic, [b"new"] * count)
        with pytest.raises(PermanentError, match="deleted and made anew"):
            runtime.read()
        runtime.kill()
    accepted = Runtime(SOURCE, parsed(cluster, topics=topic, on_gap="skip"))
    accepted.positions = runtime.positions
    assert sent(accepted, 5) == [b"new"] * 5
    assert accepted.sent.keys() == runtime.sent.keys()
    accepted.kill()


def test_reading_begins_at_an_end_or_at_a_time_and_a_place_is_checked(cluster: Cluster, topic: str) -> None:
    cluster.make(topic)
    cluster.put(topic, [b"1"])
    config = parsed(cluster, topics=topic)
    ((queue,),) = cluster.read(topic).values()
    partition = f"{topic}/{queue.queue.broker}/0"
    later = queue.store_timestamp_ms / 1000 + 0.002

    def is_later() -> bool:
        cluster.put(topic, [b"2"])
        return cluster.read(topic)[0][-1].store_timestamp_ms / 1000 >= later

    until(is_later, "a later time")
    times = [message.store_timestamp_ms / 1000 for message in cluster.read(topic)[0]]
    first = next(index for index, time in enumerate(times) if time >= later)
    found = [SOURCE.find_position(config, partition, place) for place in (Edge.EARLIEST, Edge.LATEST, later, times[-1] + 60)]
    assert found == [Position((0, at)) for at in (0, len(times), first, len(times))]
    assert [list(SOURCE.check_position(config, partition, Position((0, at)))) == [] for at in (0, len(times), 99)] == [1, 1, 0]


def test_what_can_not_work_is_told_with_the_configuration(cluster: Cluster, topic: str) -> None:
    cluster.make(topic)
    right = options(cluster, {"topics": topic})
    assert problems(right) == {}
    assert "copied as they are" in problems({**right, "value.converter": "json"})["value.converter"]
    assert "was there already" in problems({**right, "target.cluster": "A"})["target.cluster"]
    assert "is missing" in problems(options(cluster, {}))["topics"]
    assert "is not there" in problems({**right, "topics": "nobody-made-it"})["topics"]
    assert "means nothing without TLS" in problems({**right, "ssl.server.name": "x"})["ssl.server.name"]
    assert "whole messages" in problems({**right, "transforms": "a", "transforms.a.type": "set_null"})["transforms"]
    assert "no name server answered" in problems({**right, "name.servers": "127.0.0.1:1"})["name.servers"]
    assert "names no server" in problems({**right, "name.servers": ";;"})["name.servers"]
    assert "only letters, digits" in problems({**right, "topics": f"{topic},a b"})["topics"]


def test_the_names_of_rocketmqs_own_replicator_are_taken(cluster: Cluster, topic: str) -> None:
    cluster.make(topic)
    given = {
        "connector.class": "org.apache.rocketmq.replicator.ReplicatorSourceConnector",
        "connect.topicname": "t",
        "src.endpoint": cluster.servers,
        "src.topictags": f"{topic},a",
        "src.cloud": "c",
        "src.region": "r",
        "src.cluster": "one",
        "dest.cluster": "two",
        "dest.endpoint": cluster.servers,
        "dest.topic": "copies",
        "consumefromwhere": "CONSUME_FROM_LAST_OFFSET",
    }
    assert check_connector(given).problems == []
    config = parse(source_options(SOURCE), given)
    assert (SOURCE.start(config), config["topic.template"], config["target.cluster"]) == ("latest", "copies", "two")


def test_a_batch_topic_is_read_message_by_message(cluster: Cluster, topic: str) -> None:
    cluster.make(topic, topic_type="batch")
    cluster.put_all(topic, [Message(b"%d" % number, tags="t", properties={"n": str(number)}) for number in range(5)])
    (batch,) = batches(parsed(cluster, topics=topic), 5)
    assert batch.offsets == [(0, number + 1) for number in range(5)]
    assert [each["n"] + each["TAGS"] for each in batch.properties or ()] == [f"{number}t" for number in range(5)]
    assert "INNER_NUM" not in (batch.properties or [{}])[0]


def test_a_pattern_leaves_out_the_topics_that_brokers_make_under_their_own_names(cluster: Cluster, topic: str) -> None:
    cluster.make(topic)
    there = set(cluster.client.topics())
    with closing(RocketmqLog(parsed(cluster, topics_pattern=".*"))) as log:
        found = set(log.topics())
    assert topic in found
    assert {"broker-0", "rocketconnect", "rocketconnect_REPLY_TOPIC"} <= there - found
