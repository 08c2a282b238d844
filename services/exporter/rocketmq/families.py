"""Prometheus metrics of what brokers said. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client.core import GaugeMetricFamily, Metric

from rocketmq_remoting import ConsumerStatus, GroupConnections
from services.exporter.rocketmq import names
from services.exporter.rocketmq.reading import numbers
from services.exporter.rocketmq.snapshot import Broker, Snapshot

_RETRIED, _DEAD = "%RETRY%", "%DLQ%"
_MOST_NAMED = 100
"""A label has at most so many addresses; the value has the number of all."""
_COUNTS = {
    "TOPIC_PUT_NUMS": "rocketmq_producer_tps",
    "TOPIC_PUT_SIZE": "rocketmq_producer_message_size",
    "GROUP_GET_NUMS": "rocketmq_consumer_tps",
    "GROUP_GET_SIZE": "rocketmq_consumer_message_size",
    "SNDBCK_PUT_NUMS": "rocketmq_send_back_nums",
}
_Sample = tuple[str, Sequence[str], float]


def of(said: Snapshot) -> Iterator[Metric]:
    """Yield all metrics that there are samples of, in the order of the table of names."""
    samples: defaultdict[str, list[tuple[Sequence[str], float]]] = defaultdict(list)
    for parts in (_of_brokers(said), _of_topics(said), _of_groups(said), _of_clients(said)):
        for name, labels, value in parts:
            samples[name].append((labels, value))
    for name, named in names.ALL.items():
        if name in samples:
            family = GaugeMetricFamily(name, named.text, labels=named.labels)
            for labels, value in samples[name]:
                family.add_metric(labels, value)
            yield family


def of_rounds(
    up: Mapping[Broker, bool], left_out: Mapping[str, int], *, name_server: bool, ended: float | None, seconds: float
) -> Iterator[Metric]:
    """Yield the metrics of the questions themselves.

    Args:
        up: Whether each broker answered the last round.
        left_out: What had no room in it, by kind.
        name_server: Whether a name server answered.
        ended: When it was over, in seconds since 1970; None: there was none yet.
        seconds: How long it took.
    """
    text = "1: the broker answered the last round of questions; 0: it did not, or the name server no longer has it."
    answered = GaugeMetricFamily("rocketconnect_rocketmq_up", text, labels=["cluster", "broker", "address"])
    for broker, does in sorted(up.items(), key=lambda each: each[0]):
        answered.add_metric([broker.cluster, broker.name, broker.address], does)
    yield answered
    yield GaugeMetricFamily("rocketconnect_rocketmq_name_server_up", "1: a name server answered the last round.", name_server)
    text = "Topics, groups and clients without series, as there are too many; time: 1 where not all could be asked."
    without = GaugeMetricFamily("rocketconnect_rocketmq_left_out", text, labels=["kind"])
    for kind in ("topics", "groups", "clients", "time"):
        without.add_metric([kind], left_out.get(kind, 0))
    yield without
    if ended is not None:
        yield GaugeMetricFamily("rocketconnect_rocketmq_round_timestamp_seconds", "When the last round was over.", ended)
        yield GaugeMetricFamily("rocketconnect_rocketmq_round_duration_seconds", "How long it took.", seconds)


def _of_brokers(said: Snapshot) -> Iterator[_Sample]:
    ends = {}
    for broker, table in said.runtime.items():
        read = dict(numbers(table))
        ends[broker] = read.get("commitlog_maxoffset")
        if broker.is_master:
            known = [table.get(key, "") for key in ("brokerVersionDesc", "bootTimestamp", "brokerVersion")]
            labels = [broker.cluster, broker.address, "", *known]
            yield from ((names.runtime(end), labels, value) for end, value in read.items())
    for broker, end in ends.items():
        master = next((each for each in ends if each.is_master and each.name == broker.name), None)
        if not broker.is_master and master is not None:
            begin = ends[master]
            if begin is not None and end is not None:
                yield "rocketmq_broker_commitlog_diff", [broker.cluster, broker.address, broker.name], begin - end
    for name, counted in (("rocketmq_broker_tps", said.put), ("rocketmq_broker_qps", said.got)):
        for broker, count in counted.items():
            if count is not None:
                yield name, [broker.cluster, broker.address, broker.name], count.per_second
    for broker, groups in said.producers.items():
        for group, number in groups.items():
            yield "rocketmq_producer_count", [broker.cluster, broker.name, group], number


def _of_topics(said: Snapshot) -> Iterator[_Sample]:
    for (broker, topic), queues in said.ends.items():
        end = sum(each.end for each in queues.values())
        if topic.startswith(_DEAD):
            yield "rocketmq_topic_dlq_offset", [broker.cluster, broker.name, topic.removeprefix(_DEAD)], end
        else:
            name = "rocketmq_topic_retry_offset" if topic.startswith(_RETRIED) else "rocketmq_producer_offset"
            yield name, [broker.cluster, broker.name, topic], end
    for (broker, topic, counted), count in said.topic_counts.items():
        if count is not None:
            yield _COUNTS[counted], [broker.cluster, broker.name, topic], count.per_second


def _of_groups(said: Snapshot) -> Iterator[_Sample]:
    behind: defaultdict[tuple[str, str], int] = defaultdict(int)
    for (broker, topic, group), progress in said.progress.items():
        where = [broker.cluster, broker.name, topic, group]
        yield "rocketmq_consumer_offset", where, sum(each.committed for each in progress.queues.values())
        yield "rocketmq_group_consume_tps", where, progress.per_second
        if (broker, topic, group) in said.waits:
            yield "rocketmq_group_get_latency_by_storetime", where, said.waits[broker, topic, group]
        behind[topic, group] += sum(each.end - each.committed for each in progress.queues.values())
    nobody = GroupConnections((), broadcasting=False)
    for (topic, group), messages in behind.items():
        members = said.members.get(group, nobody)
        if not members.broadcasting:
            name = "rocketmq_group_retrydiff" if topic.startswith(_RETRIED) else "rocketmq_group_diff"
            # RocketMQ's number for a group whose members share the messages.
            yield name, [group, topic, str(len(members.connections)), "1"], messages
    for (broker, topic, group, counted), count in said.group_counts.items():
        if count is not None:
            value = count.total if counted == "SNDBCK_PUT_NUMS" else count.per_second
            yield _COUNTS[counted], [broker.cluster, broker.name, topic, group], value
    for group, members in said.members.items():
        shown = members.connections[:_MOST_NAMED]
        addresses, clients = _listed(each.address for each in shown), _listed(each.client_id for each in shown)
        yield "rocketmq_group_count", [addresses, clients, group], len(members.connections)


def _of_clients(said: Snapshot) -> Iterator[_Sample]:
    for (address, client, group), topics in said.statuses.items():
        for topic, status in topics.items():
            for name, value in _of_status(status):
                yield name, [address, client, group, topic], value


def _of_status(status: ConsumerStatus) -> Iterator[tuple[str, float]]:
    yield "rocketmq_client_consume_fail_msg_count", status.failed
    yield "rocketmq_client_consume_fail_msg_tps", status.failed_per_second
    yield "rocketmq_client_consume_ok_msg_tps", status.consumed_per_second
    yield "rocketmq_client_consume_rt", status.consume_ms
    yield "rocketmq_client_consumer_pull_rt", status.pull_ms
    yield "rocketmq_client_consumer_pull_tps", status.pulled_per_second


def _listed(texts: Iterable[str]) -> str:
    return ",".join(texts)
