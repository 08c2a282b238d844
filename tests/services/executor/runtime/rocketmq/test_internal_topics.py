"""Which topics nobody has created."""

from services.executor.runtime.rocketmq.internal_topics import is_internal


def test_rocketmqs_own_topics_are_internal_and_those_of_people_are_not() -> None:
    machines = {"broker-a", "DefaultCluster"}
    own = ("TBW102", "rmq_sys_TRACE_DATA", "RMQ_SYS_TRANS_HALF_TOPIC", "%RETRY%g", "%DLQ%g", "broker-a", "DefaultCluster")
    assert all(is_internal(name, machines) for name in (*own, "DefaultCluster_REPLY_TOPIC", "RCREPLAY_uid"))
    assert not any(is_internal(name, machines) for name in ("orders", "orders-dlq", "broker-b", "x_REPLY_TOPIC"))
