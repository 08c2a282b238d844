"""The metrics of what brokers said."""

from collections import Counter
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from rocketmq_remoting import (
    ConsumerStatus,
    Counted,
    GroupConnection,
    GroupConnections,
    GroupProgress,
    MessageQueue,
    QueueEnds,
    QueueProgress,
)
from services.exporter.rocketmq import families, names
from services.exporter.rocketmq.snapshot import Broker, Snapshot

MASTER, REPLICA, OTHER = Broker("c", "b", "h:1", 0), Broker("c", "b", "h:2", 1), Broker("c", "d", "h:3", 0)
TABLE = {"commitLogMaxOffset": "100", "brokerVersionDesc": "V5_5_0", "bootTimestamp": "17", "brokerVersion": "479"}
ODD = '%RETRY%"g"\n\\'


def queue(topic: str = "t", broker: str = "b", number: int = 0) -> MessageQueue:
    return MessageQueue(topic, broker, number)


def told() -> Snapshot:
    """Two brokers, one of them with a replica, whom a group of two consumers reads."""
    members = GroupConnections((GroupConnection("a:1", "x"), GroupConnection("a:2", "y")), broadcasting=False)
    said = Snapshot(
        runtime={MASTER: {**TABLE, "putTps": "1.0"}, REPLICA: {**TABLE, "commitLogMaxOffset": "60"}},
        put={MASTER: Counted(60, 1.0), OTHER: None},
        got={MASTER: Counted(120, 2.0)},
        producers={MASTER: {"p": 3}},
        members={"g": members},
        statuses={("a:1", "x", "g"): {"t": ConsumerStatus(3, 0.1, 2.5, 7.0, 2.6, 4.0)}},
    )
    said.ends[MASTER, "t"] = {queue(): QueueEnds(2, 10), queue(number=1): QueueEnds(0, 5)}
    said.ends[MASTER, "%RETRY%g"] = {queue("%RETRY%g"): QueueEnds(0, 2)}
    said.ends[MASTER, "%DLQ%g"] = {queue("%DLQ%g"): QueueEnds(0, 1)}
    said.topic_counts[MASTER, "t", "TOPIC_PUT_NUMS"] = Counted(60, 1.0)
    said.topic_counts[MASTER, "t", "TOPIC_PUT_SIZE"] = Counted(6000, 100.0)
    for counted in ("GROUP_GET_NUMS", "GROUP_GET_SIZE", "SNDBCK_PUT_NUMS"):
        said.group_counts[MASTER, "t", "g", counted] = Counted(30, 0.5)
    said.progress[MASTER, "t", "g"] = GroupProgress({queue(): QueueProgress(10, 4), queue(number=1): QueueProgress(5, 5)}, 1.5)
    said.progress[OTHER, "t", "g"] = GroupProgress({queue(broker="d"): QueueProgress(8, 1)}, 0.0)
    said.progress[MASTER, "%RETRY%g", "g"] = GroupProgress({queue("%RETRY%g"): QueueProgress(2, 0)}, 0.0)
    said.waits[MASTER, "t", "g"] = 1500.0
    return said


def samples(of: list[Metric]) -> dict[tuple[str, tuple[str, ...]], float]:
    return {(each.name, tuple(each.labels.values())): each.value for metric in of for each in metric.samples}


def test_what_was_put_got_and_committed_is_told_as_rocketmq_exporter_tells_it() -> None:
    read = samples(list(families.of(told())))
    itself = ("c", "h:1", "", "V5_5_0", "17", "479")
    of_group = ("c", "b", "t", "g")
    assert read == {
        ("rocketmq_brokeruntime_commitlog_maxoffset", itself): 100,
        ("rocketmq_brokeruntime_put_tps10", itself): 1,
        ("rocketmq_broker_tps", ("c", "h:1", "b")): 1,
        ("rocketmq_broker_qps", ("c", "h:1", "b")): 2,
        ("rocketmq_broker_commitlog_diff", ("c", "h:2", "b")): 40,
        ("rocketmq_producer_count", ("c", "b", "p")): 3,
        ("rocketmq_producer_offset", ("c", "b", "t")): 15,
        ("rocketmq_topic_retry_offset", ("c", "b", "%RETRY%g")): 2,
        ("rocketmq_topic_dlq_offset", ("c", "b", "g")): 1,
        ("rocketmq_producer_tps", ("c", "b", "t")): 1,
        ("rocketmq_producer_message_size", ("c", "b", "t")): 100,
        ("rocketmq_consumer_tps", of_group): 0.5,
        ("rocketmq_consumer_message_size", of_group): 0.5,
        ("rocketmq_send_back_nums", of_group): 30,
        ("rocketmq_consumer_offset", of_group): 9,
        ("rocketmq_consumer_offset", ("c", "d", "t", "g")): 1,
        ("rocketmq_consumer_offset", ("c", "b", "%RETRY%g", "g")): 0,
        ("rocketmq_group_consume_tps", of_group): 1.5,
        ("rocketmq_group_consume_tps", ("c", "d", "t", "g")): 0,
        ("rocketmq_group_consume_tps", ("c", "b", "%RETRY%g", "g")): 0,
        ("rocketmq_group_get_latency_by_storetime", of_group): 1500,
        ("rocketmq_group_diff", ("g", "t", "2", "1")): 13,
        ("rocketmq_group_retrydiff", ("g", "%RETRY%g", "2", "1")): 2,
        ("rocketmq_group_count", ("a:1,a:2", "x,y", "g")): 2,
        ("rocketmq_client_consume_fail_msg_count", ("a:1", "x", "g", "t")): 3,
        ("rocketmq_client_consume_fail_msg_tps", ("a:1", "x", "g", "t")): 0.1,
        ("rocketmq_client_consume_ok_msg_tps", ("a:1", "x", "g", "t")): 2.5,
        ("rocketmq_client_consume_rt", ("a:1", "x", "g", "t")): 7,
        ("rocketmq_client_consumer_pull_rt", ("a:1", "x", "g", "t")): 4,
        ("rocketmq_client_consumer_pull_tps", ("a:1", "x", "g", "t")): 2.6,
    }


def test_labels_have_the_names_that_the_table_has() -> None:
    for metric in families.of(told()):
        assert {tuple(sample.labels) for sample in metric.samples} == {tuple(names.ALL[metric.name].labels)}


def test_a_group_whose_members_each_get_all_messages_is_behind_nothing() -> None:
    said = told()
    said.members["g"] = GroupConnections(said.members["g"].connections, broadcasting=True)
    assert not any(metric.name in {"rocketmq_group_diff", "rocketmq_group_retrydiff"} for metric in families.of(said))


def test_a_label_has_no_more_than_a_hundred_addresses() -> None:
    many = tuple(GroupConnection(f"h:{number}", f"c{number}") for number in range(1000))
    (metric,) = families.of(Snapshot(members={"g": GroupConnections(many, broadcasting=False)}))
    (sample,) = metric.samples
    assert sample.value == 1000
    assert len(sample.labels["caddr"].split(",")) == len(sample.labels["localaddr"].split(",")) == 100


def test_nothing_said_is_nothing_told() -> None:
    assert list(families.of(Snapshot())) == []


def test_names_with_quotes_newlines_and_backslashes_are_read_back_as_they_were() -> None:
    class Once(Collector):
        def collect(self) -> Any:
            said = Snapshot()
            said.progress[MASTER, ODD, ODD] = GroupProgress({queue(ODD): QueueProgress(2, 0)}, 0.0)
            yield from families.of(said)

    registry = CollectorRegistry()
    registry.register(Once())
    found = text_string_to_metric_families(generate_latest(registry).decode())
    (sample,) = [each for metric in found for each in metric.samples if each.name == "rocketmq_consumer_offset"]
    assert sample.labels == {"cluster": "c", "broker": "b", "topic": ODD, "group": ODD}


def test_rounds_tell_who_answered_and_what_had_no_room() -> None:
    left = Counter({"topics": 5})
    read = samples(list(families.of_rounds({MASTER: True, OTHER: False}, left, name_server=True, ended=7.0, seconds=0.5)))
    assert read == {
        ("rocketconnect_rocketmq_up", ("c", "b", "h:1")): 1,
        ("rocketconnect_rocketmq_up", ("c", "d", "h:3")): 0,
        ("rocketconnect_rocketmq_name_server_up", ()): 1,
        ("rocketconnect_rocketmq_left_out", ("topics",)): 5,
        ("rocketconnect_rocketmq_left_out", ("groups",)): 0,
        ("rocketconnect_rocketmq_left_out", ("clients",)): 0,
        ("rocketconnect_rocketmq_left_out", ("time",)): 0,
        ("rocketconnect_rocketmq_round_timestamp_seconds", ()): 7,
        ("rocketconnect_rocketmq_round_duration_seconds", ()): 0.5,
    }


def test_before_the_first_round_no_time_of_one_is_told() -> None:
    told_names = {metric.name for metric in families.of_rounds({}, {}, name_server=False, ended=None, seconds=0)}
    assert "rocketconnect_rocketmq_round_timestamp_seconds" not in told_names
