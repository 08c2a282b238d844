import time
from collections.abc import Mapping
from typing import Any

import pytest

from connectors.rocketmq_grpc.source import RocketmqGrpcSource
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position, SourceBatch
from rocketmq_remoting import Message
from tests.connectors.amqp.driving import problems, reading, records
from tests.connectors.rocketmq.clusters import Cluster
from tests.connectors.rocketmq_grpc import cases
from tests.connectors.rocketmq_grpc.cases import group_of, make_group, make_topic
from tests.servers.rocketmq_grpc.proxy import Proxy

pytestmark = [pytest.mark.rocketmq, pytest.mark.slow]
SOURCE = RocketmqGrpcSource()


def properties_of(batch: SourceBatch) -> list[Mapping[str, str]]:
    assert batch.properties is not None
    return list(batch.properties)


def values_of(batch: SourceBatch) -> list[Any]:
    return list(batch.values)


def test_a_message_comes_whole(proxy: Proxy, cluster: Cluster, topic: str) -> None:
    make_topic(cluster, topic)
    given = Message(b"\0\xff", tags="new", keys="4711 a", properties={"country": "CH", "__SHARDINGKEY": "g"})
    cluster.put_all(topic, [given])
    with reading(SOURCE, cases.reading(proxy, topic)) as task:
        batch = records(task, 1)
    (stored,) = cluster.read(topic)[0]
    assert values_of(batch) == [b"\0\xff"]
    assert batch.keys == ["g"]
    assert batch.timestamps_ms == [stored.store_timestamp_ms]
    assert batch.headers is None
    (found,) = properties_of(batch)
    assert found == {
        "TAGS": "new",
        "KEYS": "4711 a",
        "country": "CH",
        "__SHARDINGKEY": "g",
        "UNIQ_KEY": found["UNIQ_KEY"],
        "replicator.clusters": "A",
        "replicator.topic": topic,
        "replicator.queue": "broker-0/0",
        "replicator.offset": "0",
        "replicator.message.id": found["UNIQ_KEY"],
        "replicator.store.time": str(stored.store_timestamp_ms),
        "replicator.born.time": str(stored.born_timestamp_ms),
        "replicator.born.host": found["replicator.born.host"],
        "replicator.delivery.attempt": "1",
    }


@pytest.mark.parametrize("only", [{"tags": "new,paid"}, {"sql": "TAGS = 'new' OR amount > 5"}], ids=["tags", "sql"])
def test_only_messages_that_are_wanted_come(only: dict[str, str], proxy: Proxy, cluster: Cluster, topic: str) -> None:
    make_topic(cluster, topic)
    tags = ["new", "old", "paid", "new"]
    cluster.put_all(topic, [Message(b"%d" % n, tags=tag, properties={"amount": str(3 * n)}) for n, tag in enumerate(tags)])
    with reading(SOURCE, cases.reading(proxy, topic, **only)) as task:
        assert sorted(values_of(records(task, 3))) == [b"0", b"2", b"3"]
        time.sleep(1)
        assert list(batches_of(task.poll())) == []


def test_an_ordered_group_gives_message_groups_in_their_order_over_several_queues(
    proxy: Proxy, cluster: Cluster, topic: str
) -> None:
    make_topic(cluster, topic, "FIFO", 4)
    make_group(cluster, group_of(topic), consumeMessageOrderly=True)
    for queue in range(4):
        messages = [Message(b"%d" % n, properties={"__SHARDINGKEY": f"g{queue}"}) for n in range(80)]
        cluster.put_all(topic, messages, queue)
    with reading(SOURCE, cases.reading(proxy, topic)) as task:
        values: list[Any] = []
        keys: list[Any] = []
        while len(values) < 320:
            batch = records(task, 1)
            values += values_of(batch)
            keys += list(batch.keys or ())
    for queue in range(4):
        of_group = [value for value, key in zip(values, keys, strict=True) if key == f"g{queue}"]
        assert of_group == [b"%d" % n for n in range(80)]


def test_what_a_task_is_at_for_longer_than_the_duration_does_not_come_again(proxy: Proxy, cluster: Cluster, topic: str) -> None:
    make_topic(cluster, topic)
    cluster.put(topic, [b"%d" % n for n in range(5)])
    with reading(SOURCE, cases.reading(proxy, topic)) as task:
        first = records(task, 5, stored=False)
        end = time.monotonic() + 25
        while time.monotonic() < end:
            assert list(batches_of(task.poll())) == []
            task.keep_alive()
            time.sleep(0.5)
        task.committed({first.partition: Position(first.offsets[-1])})
        cluster.put(topic, [b"last"])
        assert values_of(records(task, 1)) == [b"last"]


def test_what_was_in_our_cluster_before_is_left_out(proxy: Proxy, cluster: Cluster, topic: str) -> None:
    make_topic(cluster, topic)
    cluster.put_all(topic, [Message(b"ours", properties={"replicator.clusters": "B,C"}), Message(b"theirs")])
    with reading(SOURCE, cases.reading(proxy, topic)) as task:
        assert values_of(records(task, 1)) == [b"theirs"]
    with reading(SOURCE, cases.reading(proxy, topic)) as task:
        cluster.put(topic, [b"last"])
        assert values_of(records(task, 1)) == [b"last"]


def test_a_check_tells_what_is_not_there(proxy: Proxy, cluster: Cluster, topic: str) -> None:
    # What was not there when it was asked for, a proxy takes for missing for some seconds.
    missing = f"{topic}-missing"
    found = problems(SOURCE, **cases.reading(proxy, missing))
    # Of a group that is not there this cluster says nothing: its broker would make it.
    assert list(found) == ["topics"]
    assert "Create it" in found["topics"]
    make_topic(cluster, topic)
    assert problems(SOURCE, **cases.reading(proxy, topic)) == {}
    assert "Connection refused" in problems(SOURCE, **{**cases.reading(proxy, topic), "endpoints": "127.0.0.1:1"})["endpoints"]
