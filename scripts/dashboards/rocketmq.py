"""Do the brokers keep up, and who keeps up with them?"""

from scripts.dashboards.panels import Page, Query, lines, listed, number

UID = "rocketconnect-rocketmq"
_STATE = "rocketmq_brokeruntime"
_JAVA = '{job="rocketmq-java"}'
_HEAP = '{job="rocketmq-java", area="heap"}'
_SLOW = " + ".join(
    f"sum({_STATE}_pmdt_{span})" for span in ("200to500ms", "500to1s", "1to2s", "2to3s", "3to4s", "4to5s", "5to10s", "10stomore")
)


def _waits(kind: str) -> Query:
    return Query(f"{_STATE}_{kind}_threadpoolqueue_headwait_timemills / 1000", f"{kind} {{{{brokerIP}}}}")


def _busiest(name: str, *by: str) -> Query:
    return Query(f"topk(10, sum by ({', '.join(by)}) ({name}))", " ".join(f"{{{{{label}}}}}" for label in by))


def page() -> Page:
    """The dashboard of RocketMQ: brokers, topics, consumer groups."""
    return Page(
        UID,
        "RocketConnect: RocketMQ",
        "For whoever looks after the brokers: is one away, full or slow, what flows through them, which consumers fall behind? "
        "It needs an exporter with `ROCKETCONNECT_ROCKETMQ_METRICS=true`.",
        [
            (
                "What is wrong",
                [
                    number("Brokers away", "How many brokers do not answer?", "count(rocketconnect_rocketmq_up == 0) or vector(0)"),
                    number(
                        "Fullest disk",
                        "How full is the fullest disk? From 85 % on old messages may go early, from 90 % on none are taken.",
                        f"max({_STATE}_commitlog_disk_ratio)",
                        bad_from=0.8,
                        unit="percentunit",
                    ),
                    number("Slow puts", "How many messages of the last minute took more than 200 ms to put?", _SLOW),
                    number(
                        "Longest wait of a send",
                        "For how long has the first send waited for a thread? By default a broker refuses it after 0.2 s.",
                        f"max({_STATE}_send_threadpoolqueue_headwait_timemills) / 1000",
                        bad_from=0.2,
                        unit="s",
                    ),
                    number(
                        "Not to be read yet",
                        "How many bytes are stored that no consumer can see yet?",
                        f"max({_STATE}_dispatch_behind_bytes)",
                        bad_from=64 << 20,
                        unit="bytes",
                    ),
                    number(
                        "Without series",
                        "How many topics, groups and clients are too many to be shown?",
                        "sum(rocketconnect_rocketmq_left_out)",
                    ),
                ],
            ),
            (
                "What flows",
                [
                    lines(
                        "Messages put", "How much does each broker take?", Query("rocketmq_broker_tps", "{{broker}}"), unit="reqps"
                    ),
                    lines(
                        "Messages got",
                        "How much does each broker hand out?",
                        Query("rocketmq_broker_qps", "{{broker}}"),
                        unit="reqps",
                    ),
                    lines(
                        "Topics by messages", "Which topics are busiest?", _busiest("rocketmq_producer_tps", "topic"), unit="reqps"
                    ),
                    lines(
                        "Topics by bytes",
                        "Which topics fill the disks?",
                        _busiest("rocketmq_producer_message_size", "topic"),
                        unit="Bps",
                    ),
                    lines(
                        "Consumer groups",
                        "Which consumer groups take most?",
                        _busiest("rocketmq_consumer_tps", "group", "topic"),
                        unit="reqps",
                    ),
                    lines(
                        "Producer groups",
                        "Do the producers hold their connections?",
                        _busiest("rocketmq_producer_count", "group"),
                    ),
                ],
            ),
            (
                "Who falls behind",
                [
                    lines(
                        "Messages that wait",
                        "Which consumer groups have most messages in front of them?",
                        _busiest("rocketmq_group_diff", "group", "topic"),
                    ),
                    lines(
                        "Age of what waits",
                        "For how long has the first message of a group waited, and will it still be there when it is read?",
                        Query(
                            "topk(10, max by (group, topic) (rocketmq_group_get_latency_by_storetime)) / 1000",
                            "{{group}} {{topic}}",
                        ),
                        unit="s",
                    ),
                    lines(
                        "Tried again by consumers",
                        "Which consumer groups have messages that failed and wait to be tried again?",
                        _busiest("rocketmq_group_retrydiff", "group"),
                    ),
                    lines(
                        "Dead letters of consumers",
                        "Which consumer groups have given up messages? Those of connectors are on their own dashboard.",
                        _busiest("rocketmq_topic_dlq_offset", "group"),
                    ),
                    listed(
                        "Connections of consumer groups",
                        "Who reads, and does a group that should read have nobody?",
                        "sum by (group) (rocketmq_group_count)",
                        ["group"],
                        value="connections",
                    ),
                ],
            ),
            (
                "How the brokers are",
                [
                    lines(
                        "Disks",
                        "When will a disk be full?",
                        Query(f"{_STATE}_commitlog_disk_ratio", "commit log {{brokerIP}}"),
                        Query(f"{_STATE}_consumequeue_disk_ratio", "consume queues {{brokerIP}}"),
                        unit="percentunit",
                    ),
                    lines(
                        "Oldest message",
                        "How long are messages kept: is it longer than the longest time that a sink may be away?",
                        Query(f"time() - {_STATE}_earliest_message_timestamp / 1000", "{{brokerIP}}"),
                        unit="s",
                    ),
                    lines(
                        "Time to put",
                        "How long does a broker take to put a message? 99 of 100 take at most so long.",
                        Query(f"{_STATE}_put_latency_99 / 1000", "{{brokerIP}}"),
                        unit="s",
                    ),
                    lines(
                        "Waits for a thread",
                        "Is a broker short of threads, and for what?",
                        *(_waits(kind) for kind in ("send", "pull", "query")),
                        unit="s",
                    ),
                    lines(
                        "Replicas behind",
                        "How much would be lost, or would have to be waited for, if a master died now?",
                        Query("rocketmq_broker_commitlog_diff", "{{broker}} {{brokerIP}}"),
                        unit="bytes",
                    ),
                    lines(
                        "Not on disk yet",
                        "How much is in memory alone?",
                        Query(f"{_STATE}_remain_howmanydata_toflush", "{{brokerIP}}"),
                        unit="bytes",
                    ),
                    lines(
                        "Heaps of Java",
                        "How full is the heap of each Java that tells of itself?",
                        Query(f"jvm_memory_used_bytes{_HEAP} / jvm_memory_max_bytes{_HEAP}", "{{process}} {{instance}}"),
                        unit="percentunit",
                    ),
                    lines(
                        "Garbage of Java",
                        "Which of them spends its time on collecting garbage?",
                        Query(
                            f"sum without (gc) (rate(jvm_gc_collection_seconds_sum{_JAVA}[5m]))",
                            "{{process}} {{instance}}",
                        ),
                        unit="percentunit",
                    ),
                ],
            ),
        ],
    )
