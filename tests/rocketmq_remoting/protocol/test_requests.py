"""Requests that change how topics and groups are set."""

import json

from rocketmq_remoting import Permission, TopicConfig
from rocketmq_remoting.protocol.requests import group_request, topic_request


def test_a_topic_is_set_with_its_order_and_the_attributes_that_come_and_go() -> None:
    config = TopicConfig("t", 4, 2, Permission.READ, {"not": "said"}, order=True, system_flag=2)
    request = topic_request(config, {"message.type": "FIFO", "reserve.time": None})
    said = ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag", "order", "attributes")
    assert [request.fields[name] for name in said] == ["4", "2", "4", "2", "true", "+message.type=FIFO,-reserve.time"]


def test_a_group_is_set_whole_and_of_its_attributes_those_that_come_and_go() -> None:
    request = group_request({"groupName": "g", "retryMaxTimes": 3, "attributes": {"kept": "1"}}, {"a": "1", "b": None})
    assert json.loads(request.body) == {"groupName": "g", "retryMaxTimes": 3, "attributes": {"+a": "1", "-b": ""}}
