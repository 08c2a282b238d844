import time

import pytest

from connectors.rocketmq_grpc.sink import RocketmqGrpcSink
from tests.connectors.amqp.driving import problems, write, writing
from tests.connectors.rocketmq.clusters import Cluster, until
from tests.connectors.rocketmq_grpc import cases
from tests.connectors.rocketmq_grpc.cases import make_topic
from tests.servers.rocketmq_grpc.proxy import Proxy

pytestmark = [pytest.mark.rocketmq, pytest.mark.slow]
SINK = RocketmqGrpcSink()


def test_a_message_is_sent_whole(proxy: Proxy, cluster: Cluster, topic: str) -> None:
    make_topic(cluster, topic)
    headers = {"TAGS": "new", "KEYS": "4711 a", "UNIQ_KEY": "ID-1", "country": "CH", "DELAY": "3", "RETRY_TOPIC": "x"}
    with writing(SINK, **cases.options(proxy, target_topic=topic)) as task:
        assert write(task, [b"\0\xff"], headers=[headers], times=[1_700_000_000_000]) == {}
    (found,) = cluster.read(topic)[0]
    assert found.body == b"\0\xff"
    assert (found.tags, found.keys) == ("new", "4711 a")
    kept = {name: text for name, text in found.properties.items() if name == "country" or name.startswith("replicator.")}
    assert kept == {
        "country": "CH",
        "replicator.clusters": "A",
        "replicator.topic": "orders",
        "replicator.queue": "b/0",
        "replicator.offset": "0",
        "replicator.store.time": "1700000000000",
    }
    assert found.properties["UNIQ_KEY"] == "ID-1"
    assert "DELAY" not in found.properties


def test_what_the_cluster_refuses_is_told_by_index_and_the_rest_is_there(proxy: Proxy, cluster: Cluster, topic: str) -> None:
    make_topic(cluster, topic)
    headers = [{}, {}, {"TAGS": "a|b"}, {"n": "1\x03"}, {"__SHARDINGKEY": "g"}, {}, {}]
    values = [b"0", b"", b"2", b"3", b"4", bytes((4 << 20) + 1), b"6"]
    with writing(SINK, **cases.options(proxy, target_topic=topic)) as task:
        refused = write(task, values, headers=headers)
    assert sorted(refused) == [1, 2, 3, 4, 5]
    assert "message body cannot be empty" in refused[1]
    assert "tag cannot contain" in refused[2]
    assert "control character" in refused[3]
    assert refused[4] == f"it is a FIFO message, and the topic {topic} takes NORMAL"
    assert refused[5] == "it has 4,194,305 bytes, and the cluster allows 4,194,304"
    assert cluster.bodies(topic) == [b"0", b"6"]


def test_messages_of_a_group_keep_their_order_and_those_of_others_share_the_queues(
    proxy: Proxy, cluster: Cluster, topic: str
) -> None:
    make_topic(cluster, topic, "FIFO", 4)
    headers = [{"__SHARDINGKEY": f"g{n % 10}"} for n in range(300)]
    with writing(SINK, **cases.options(proxy, target_topic=topic)) as task:
        assert write(task, [b"%d" % n for n in range(300)], headers=headers) == {}
    queues = [queue for queue in cluster.read(topic).values() if queue]
    assert len(queues) > 1
    groups: dict[str, list[int]] = {}
    for queue in queues:
        for message in queue:
            groups.setdefault(message.properties["__SHARDINGKEY"], []).append(int(message.body))
    assert groups == {f"g{n}": list(range(n, 300, 10)) for n in range(10)}


def test_a_delayed_message_is_delivered_when_it_is_due(proxy: Proxy, cluster: Cluster, topic: str) -> None:
    make_topic(cluster, topic, "DELAY")
    due_ms = time.time_ns() // 1_000_000 + 4_000
    config = cases.options(proxy, target_topic=topic, delivery_time="${header.due}")
    with writing(SINK, **config) as task:
        assert write(task, [b"late", b"never"], headers=[{"due": str(due_ms)}, {"due": "soon"}]) == {
            1: "its delivery.time is 'soon', which is no number of milliseconds since 1970"
        }
    assert cluster.bodies(topic) == []
    until(lambda: cluster.bodies(topic) == [b"late"], "the message")
    assert time.time_ns() // 1_000_000 >= due_ms - 1_000


def test_what_was_in_the_other_cluster_before_is_left_out(proxy: Proxy, cluster: Cluster, topic: str) -> None:
    make_topic(cluster, topic)
    with writing(SINK, **cases.options(proxy, target_topic=topic)) as task:
        assert write(task, [b"theirs", b"ours"], headers=[{"replicator.clusters": "B"}, {}]) == {}
    assert cluster.bodies(topic) == [b"ours"]


def test_a_check_tells_a_topic_that_takes_other_messages(proxy: Proxy, cluster: Cluster, topic: str) -> None:
    for kind in ("NORMAL", "FIFO", "DELAY", "TRANSACTION"):
        make_topic(cluster, f"{topic}-{kind}", kind)

    def told(kind: str, **given: str) -> dict[str, str]:
        return problems(SINK, **cases.options(proxy, target_topic=f"{topic}-{kind}", **given))

    assert told("NORMAL") == {}
    assert told("FIFO", message_group="${queue}") == {}
    assert told("DELAY", delivery_time="0") == {}
    assert told("NORMAL", message_group="g") == {"message.group": f"makes FIFO messages, and the topic {topic}-NORMAL takes NORMAL"}
    assert told("FIFO", delivery_time="0") == {"delivery.time": f"makes DELAY messages, and the topic {topic}-FIFO takes FIFO"}
    assert told("FIFO") == {"target.topic": "takes messages that are FIFO: those that have no message group are refused"}
    assert told("DELAY") == {"target.topic": "takes messages that are DELAY, and these have no time"}
    assert told("TRANSACTION") == {"target.topic": "takes messages that are TRANSACTION, which are not sent here"}
    assert "Create it" in problems(SINK, **cases.options(proxy, target_topic=topic))["target.topic"]
