"""What RocketMQ exporter's metrics are called, what they mean, and which question to a broker answers them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RUNTIME = ("cluster", "brokerIP", "brokerHost", "des", "boottime", "broker_version")
BROKER = ("cluster", "brokerIP", "broker")
TOPIC = ("cluster", "broker", "topic")
DEAD_LETTERS = ("cluster", "broker", "group")
GROUP = ("cluster", "broker", "topic", "group")
BEHIND = ("group", "topic", "countOfOnlineConsumers", "msgModel")
MEMBERS = ("caddr", "localaddr", "group")
CLIENT = ("clientAddr", "clientId", "group", "topic")


@dataclass(frozen=True, slots=True)
class Named:
    """A metric of RocketMQ exporter; all of them are gauges.

    Args:
        name: Its name.
        labels: Their names.
        text: What it says.
        asked: What a broker is asked for it, as RocketMQ calls that.
    """

    name: str
    labels: Sequence[str]
    text: str
    asked: str


KEYS: Mapping[str, tuple[str, str]] = {
    "msg_put_total_today_now": ("msgPutTotalTodayNow", "Messages put since the broker began, as of now."),
    "msg_gettotal_today_now": ("msgGetTotalTodayNow", "Messages got since the broker began, as of now."),
    "msg_puttotal_todaymorning": ("msgPutTotalTodayMorning", "Messages put until last midnight."),
    "msg_gettotal_todaymorning": ("msgGetTotalTodayMorning", "Messages got until last midnight."),
    "msg_puttotal_yesterdaymorning": ("msgPutTotalYesterdayMorning", "Messages put until the midnight before that."),
    "msg_gettotal_yesterdaymorning": ("msgGetTotalYesterdayMorning", "Messages got until the midnight before that."),
    "dispatch_behind_bytes": ("dispatchBehindBytes", "Bytes of the commit log that consume queues do not have yet."),
    "dispatch_maxbuffer": ("dispatchMaxBuffer", "The most that waits to be dispatched."),
    "put_message_size_total": ("putMessageSizeTotal", "Bytes of messages put since the broker began."),
    "put_message_average_size": ("putMessageAverageSize", "Bytes of a message, on average."),
    "putmessage_times_total": ("putMessageTimesTotal", "How often a message was put since the broker began."),
    "putmessage_entire_time_max": ("putMessageEntireTimeMax", "The longest that putting a message took, in ms."),
    "getmessage_entire_time_max": ("getMessageEntireTimeMax", "The longest that getting messages took, in ms."),
    "put_latency_99": ("putLatency99", "99 of 100 messages were put in so many ms, where the broker measures that."),
    "put_latency_999": ("putLatency999", "999 of 1000 messages were put in so many ms, where the broker measures that."),
    "pagecache_lock_time_mills": ("pageCacheLockTimeMills", "For how many ms a message holds the lock of the commit log now."),
    "remain_transientstore_buffer_numbs": (
        "remainTransientStoreBufferNumbs",
        "Free buffers, where there is a pool of them.",
    ),
    "remain_howmanydata_toflush": ("remainHowManyDataToFlush", "Bytes that are not on disk yet."),
    "earliest_message_timestamp": ("earliestMessageTimeStamp", "When the oldest message was stored, in ms since 1970."),
    "start_accept_sendrequest_time": ("startAcceptSendRequestTimeStamp", "From when on messages are taken, in ms since 1970."),
    "commitlog_minoffset": ("commitLogMinOffset", "Where the commit log begins, in bytes."),
    "commitlog_maxoffset": ("commitLogMaxOffset", "Where the commit log ends, in bytes."),
    "commitlog_disk_ratio": ("commitLogDiskRatio", "How full the disk of the commit log is: 1 is all of it."),
    "consumequeue_disk_ratio": ("consumeQueueDiskRatio", "How full the disk of the consume queues is: 1 is all of it."),
    "send_threadpool_queue_size": ("sendThreadPoolQueueSize", "Sends that wait for a thread."),
    "send_threadpoolqueue_capacity": ("sendThreadPoolQueueCapacity", "Sends that may wait for a thread."),
    "send_threadpoolqueue_headwait_timemills": ("sendThreadPoolQueueHeadWaitTimeMills", "For how many ms the first send waits."),
    "pull_threadpoolqueue_size": ("pullThreadPoolQueueSize", "Pulls that wait for a thread."),
    "pull_threadpoolqueue_capacity": ("pullThreadPoolQueueCapacity", "Pulls that may wait for a thread."),
    "pull_threadpoolqueue_headwait_timemills": ("pullThreadPoolQueueHeadWaitTimeMills", "For how many ms the first pull waits."),
    "query_threadpoolqueue_size": ("queryThreadPoolQueueSize", "Queries that wait for a thread."),
    "query_threadpool_queue_capacity": ("queryThreadPoolQueueCapacity", "Queries that may wait for a thread."),
    "query_threadpoolqueue_headwait_timemills": ("queryThreadPoolQueueHeadWaitTimeMills", "For how many ms the first query waits."),
}
"""By the end of the metric's name: what the broker calls it, and what it says."""
RATES: Mapping[str, tuple[str, str]] = {
    "put": ("putTps", "Messages put"),
    "getfound": ("getFoundTps", "Pulls that found messages"),
    "getmiss": ("getMissTps", "Pulls that found none"),
    "gettotal": ("getTotalTps", "Pulls"),
    "gettransfered": ("getTransferredTps", "Messages handed out"),
}
"""Of each a broker says the rate of the last 10, 60 and 600 seconds."""
SPANS = (10, 60, 600)
PUT_TIMES: Mapping[str, str] = {
    "0ms": "<=0ms",
    "0to10ms": "0~10ms",
    "10to50ms": "10~50ms",
    "50to100ms": "50~100ms",
    "100to200ms": "100~200ms",
    "200to500ms": "200~500ms",
    "500to1s": "500ms~1s",
    "1to2s": "1~2s",
    "2to3s": "2~3s",
    "3to4s": "3~4s",
    "4to5s": "4~5s",
    "5to10s": "5~10s",
    "10stomore": "10s~",
}
"""By the end of the metric's name: what the broker calls a range of times."""
CAPACITY = {"total": "Bytes of the disk of the commit log.", "free": "Bytes that are free on the disk of the commit log."}
_PREFIX = "rocketmq_brokeruntime_"
_TABLE = "GET_BROKER_RUNTIME_INFO"


def runtime(end: str) -> str:
    """The name of a metric of the broker's own state."""
    return _PREFIX + end


def _all() -> list[Named]:
    of_runtime = [
        *((end, text) for end, (_, text) in KEYS.items()),
        *((f"{end}_tps{span}", f"{text} a second, in the last {span} s.") for end, (_, text) in RATES.items() for span in SPANS),
        *((f"pmdt_{end}", f"Messages of the last minute that took {said} to put.") for end, said in PUT_TIMES.items()),
        *((f"commitlogdir_capacity_{end}", text) for end, text in CAPACITY.items()),
    ]
    counted, progress = "VIEW_BROKER_STATS_DATA", "GET_CONSUME_STATS"
    ends, status = "GET_TOPIC_STATS_INFO", "GET_CONSUMER_RUNNING_INFO"
    return [
        *(Named(runtime(end), RUNTIME, text, _TABLE) for end, text in of_runtime),
        Named("rocketmq_broker_tps", BROKER, "Messages put a second, in the last minute.", f"{counted} BROKER_PUT_NUMS"),
        Named("rocketmq_broker_qps", BROKER, "Messages got a second, in the last minute.", f"{counted} BROKER_GET_NUMS"),
        Named("rocketmq_broker_commitlog_diff", BROKER, "Bytes by which a replica is behind its master.", _TABLE),
        Named("rocketmq_producer_tps", TOPIC, "Messages put a second, in the last minute.", f"{counted} TOPIC_PUT_NUMS"),
        Named("rocketmq_producer_message_size", TOPIC, "Bytes put a second, in the last minute.", f"{counted} TOPIC_PUT_SIZE"),
        Named("rocketmq_producer_offset", TOPIC, "The ends of all queues of the topic, together.", ends),
        Named("rocketmq_topic_retry_offset", TOPIC, "The same of a topic of messages that are tried again.", ends),
        Named("rocketmq_topic_dlq_offset", DEAD_LETTERS, "The same of a topic of dead letters, by its group.", ends),
        Named("rocketmq_producer_count", DEAD_LETTERS, "Connections of a producer group.", "GET_ALL_PRODUCER_INFO"),
        Named("rocketmq_consumer_tps", GROUP, "Messages got a second, in the last minute.", f"{counted} GROUP_GET_NUMS"),
        Named("rocketmq_consumer_message_size", GROUP, "Bytes got a second, in the last minute.", f"{counted} GROUP_GET_SIZE"),
        Named("rocketmq_send_back_nums", GROUP, "Messages sent back in the last minute.", f"{counted} SNDBCK_PUT_NUMS"),
        Named("rocketmq_consumer_offset", GROUP, "The committed offsets in all queues, together.", progress),
        Named("rocketmq_group_consume_tps", GROUP, "Messages committed a second, in the last minute.", progress),
        Named("rocketmq_group_get_latency_by_storetime", GROUP, "For how many ms the first message has waited.", "PULL_MESSAGE"),
        Named("rocketmq_group_diff", BEHIND, "Messages that wait in all queues of the topic.", progress),
        Named("rocketmq_group_retrydiff", BEHIND, "Messages that wait to be tried again.", progress),
        Named("rocketmq_group_count", MEMBERS, "Connections of a consumer group to a broker.", "GET_CONSUMER_CONNECTION_LIST"),
        Named("rocketmq_client_consume_fail_msg_count", CLIENT, "Messages that failed in the last hour.", status),
        Named("rocketmq_client_consume_fail_msg_tps", CLIENT, "Messages a second that fail.", status),
        Named("rocketmq_client_consume_ok_msg_tps", CLIENT, "Messages a second that are consumed.", status),
        Named("rocketmq_client_consume_rt", CLIENT, "How many ms it takes to consume a message.", status),
        Named("rocketmq_client_consumer_pull_rt", CLIENT, "How many ms a pull takes.", status),
        Named("rocketmq_client_consumer_pull_tps", CLIENT, "Messages pulled a second.", status),
    ]


ALL: Mapping[str, Named] = {each.name: each for each in _all()}
"""All that there are here, by name."""
MISSING: Mapping[str, str] = {
    "rocketmq_group_dlqdiff": "RocketMQ exporter names it and never fills it: a topic of dead letters has no group.",
    "rocketmq_group_consume_total_offset": "RocketMQ exporter names it and never fills it; `rocketmq_consumer_offset` has it.",
    "rocketmq_group_get_latency": "It stands in RocketMQ exporter's manual, not in its code.",
    "rocketmq_message_accumulation": "It stands in RocketMQ exporter's manual, not in its code; `rocketmq_group_diff` says it.",
}
"""What RocketMQ exporter, or its manual, names, and is not here, with the reason."""
