"""What is to be done for a topic or a group that is set in one way there and in another way here."""

from dataclasses import replace

import pytest

from connectors.rocketmq.replicator.decision import merged_groups, merged_topics, of_group, of_topic
from rocketmq_remoting import Permission, TopicConfig

READ, WRITE, BOTH = Permission.READ, Permission.WRITE, Permission.READ | Permission.WRITE
TOPIC = TopicConfig("orders", 4, 4, BOTH, {"message.type": "FIFO"})
GROUP = {
    "groupName": "billing",
    "consumeEnable": True,
    "consumeBroadcastEnable": True,
    "retryQueueNums": 2,
    "retryMaxTimes": 16,
    "brokerId": 0,
    "attributes": {},
}


def test_a_topic_that_is_not_here_is_made_as_it_is_there_under_its_name_here() -> None:
    decision = of_topic(replace(TOPIC, order=True, system_flag=1), None, "east-orders", narrow=False)
    assert decision.config == replace(TOPIC, topic="east-orders", order=True)
    assert decision.attributes == {"message.type": "FIFO"}
    assert decision.changes == ("made with readQueueNums 4, writeQueueNums 4, perm RW, order true, message.type FIFO",)
    assert decision.left == ()


def test_nothing_is_done_for_a_topic_that_is_as_it_is_there_also_where_an_attribute_is_not_said_but_meant() -> None:
    here = replace(TOPIC, attributes={"message.type": "FIFO", "queue.type": "SimpleCQ", "cleanup.policy": "DELETE"})
    for one, other in ((TOPIC, here), (here, TOPIC)):
        decision = of_topic(one, other, "orders", narrow=False)
        assert (decision.config, decision.attributes, decision.changes, decision.left) == (other, {}, (), ())


@pytest.mark.parametrize("here", [None, TOPIC])
def test_another_cluster_makes_no_more_queues_here_than_clients_can_hold(here: TopicConfig | None) -> None:
    decision = of_topic(replace(TOPIC, read_queues=2**31 - 1), here, "orders", narrow=False)
    assert (decision.config.read_queues, decision.config.write_queues) == (65_536, 4)
    assert decision.left == ("readQueueNums is 2147483647 there: more than 65536 are not made here",)
    same = replace(TOPIC, read_queues=100_000)
    assert of_topic(same, same, "orders", narrow=False).left == ()


def test_queues_become_more_and_never_fewer() -> None:
    decision = of_topic(replace(TOPIC, read_queues=8, write_queues=2), TOPIC, "orders", narrow=True)
    assert (decision.config.read_queues, decision.config.write_queues) == (8, 4)
    assert decision.changes == ("readQueueNums 4 -> 8",)
    assert decision.left == ("writeQueueNums is 4, there 2: queues are never taken away",)


@pytest.mark.parametrize(
    ("there", "here", "narrow", "wanted"),
    [
        (BOTH, READ, False, BOTH),
        (READ, BOTH, False, BOTH),
        (READ, BOTH, True, READ),
        (READ, WRITE, False, BOTH),
        (READ, WRITE, True, READ),
        (Permission(0), BOTH, True, Permission(0)),
        (READ, None, False, BOTH),
        (READ, None, True, READ),
    ],
)
def test_rights_on_a_topic_are_taken_away_only_where_that_is_asked_for(
    there: Permission, here: Permission | None, narrow: bool, wanted: Permission
) -> None:
    now = None if here is None else replace(TOPIC, permission=here)
    decision = of_topic(replace(TOPIC, permission=there), now, "orders", narrow=narrow)
    assert decision.config.permission == wanted
    assert bool(decision.changes) == (wanted != here)
    kept = ("perm is RW, there R: rights are taken away with rights.narrow=true alone",)
    assert decision.left == (kept if wanted != there else ())


def test_the_order_and_attributes_follow_but_for_those_that_a_topic_is_made_with() -> None:
    there = replace(TOPIC, order=True, attributes={"cleanup.policy": "COMPACTION", "new.one": "1"})
    here = replace(TOPIC, attributes={"message.type": "FIFO", "old.one": "2"})
    decision = of_topic(there, here, "orders", narrow=False)
    assert decision.config.order
    assert decision.attributes == {"message.type": "NORMAL", "new.one": "1", "old.one": None}
    assert decision.changes == (
        "order false -> true",
        "message.type FIFO -> NORMAL",
        "new.one none -> 1",
        "old.one 2 -> none",
    )
    assert decision.left == ("cleanup.policy is DELETE, there COMPACTION: a topic keeps what it was made with",)


def test_what_a_topic_has_here_alone_stays() -> None:
    decision = of_topic(replace(TOPIC, write_queues=8, system_flag=1), replace(TOPIC, system_flag=2), "orders", narrow=False)
    assert decision.config == replace(TOPIC, write_queues=8, system_flag=2)


def test_a_group_that_is_not_here_is_made_without_the_numbers_of_brokers_and_topics() -> None:
    there = {**GROUP, "subscriptionDataSet": [{"topic": "orders"}], "attributes": {"a": "1"}}
    decision = of_group(there, None, "billing", narrow=False)
    names = ("groupName", "consumeEnable", "consumeBroadcastEnable", "retryQueueNums", "retryMaxTimes")
    assert decision.config == {name: GROUP[name] for name in names}
    assert decision.attributes == {"a": "1"}
    assert decision.changes == ("made",)


def test_a_group_follows_and_keeps_what_is_of_its_own_cluster() -> None:
    there = {**GROUP, "retryMaxTimes": 3, "retryQueueNums": 4, "groupRetryPolicy": {"type": "EXPONENTIAL"}, "brokerId": 1}
    decision = of_group(there, GROUP, "billing", narrow=False)
    assert decision.config == {**there, "brokerId": 0}
    assert decision.changes == (
        'groupRetryPolicy none -> {"type": "EXPONENTIAL"}',
        "retryMaxTimes 16 -> 3",
        "retryQueueNums 2 -> 4",
    )
    assert of_group(there, decision.config, "billing", narrow=False).changes == ()


@pytest.mark.parametrize("narrow", [False, True])
def test_a_group_loses_no_queues_and_rights_only_where_that_is_asked_for(narrow: bool) -> None:
    there = {**GROUP, "consumeEnable": False, "retryQueueNums": 1}
    decision = of_group(there, GROUP, "billing", narrow=narrow)
    queues = "retryQueueNums is 2, there 1: queues are never taken away"
    right = "consumeEnable is true, there false: rights are taken away with rights.narrow=true alone"
    assert decision.config == {**GROUP, "consumeEnable": not narrow}
    assert decision.changes == (("consumeEnable true -> false",) if narrow else ())
    assert decision.left == ((queues,) if narrow else (queues, right))


def test_a_group_that_gets_a_right_there_gets_it_here_and_a_setting_that_an_older_broker_does_not_know_stays() -> None:
    older = {name: value for name, value in GROUP.items() if name != "retryMaxTimes"}
    here = {**GROUP, "consumeEnable": False, "retryMaxTimes": 5}
    decision = of_group(older, here, "billing", narrow=False)
    assert decision.config == {**here, "consumeEnable": True}
    assert decision.changes == ("consumeEnable false -> true",)


def test_of_several_brokers_the_most_queues_and_rights_hold_and_else_the_first_one() -> None:
    drained = TopicConfig("orders", 8, 2, READ, {"message.type": "DELAY", "new.one": "1"}, order=True)
    merged = merged_topics([TOPIC, drained])
    assert merged == TopicConfig("orders", 8, 4, BOTH, {"message.type": "FIFO", "new.one": "1"}, order=True)
    first, second = {**GROUP, "consumeEnable": False}, {**GROUP, "retryMaxTimes": 1}
    assert merged_groups([first, second]) == GROUP
