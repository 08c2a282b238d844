"""How tasks find and make their topics, against a real broker."""

import time

import pytest

from rocketconnect_sdk.errors import SystemAway
from rocketmq_remoting.protocol.codes import RequestCode
from rocketmq_remoting.protocol.requests import Request
from services.executor.runtime.topics import TopicMaker
from tests.services.executor.runtime.conftest import Tasks

pytestmark = pytest.mark.rocketmq


def test_a_topic_that_is_not_announced_yet_is_waited_for_and_neither_made_again_nor_called_missing(tasks: Tasks) -> None:
    client = tasks.client
    client.create_topic(tasks.topic, queues=3)
    for server in client._routes.servers:
        client._topics._do(server, Request(RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": tasks.topic}), "forget the topic")
    makers = [TopicMaker(client, auto_create=auto_create, queues=8, topic_type="normal") for auto_create in (True, False)]
    for maker in makers:
        with pytest.raises(SystemAway, match="is not announced yet"):
            maker.find(tasks.topic, writable=True)
    deadline = time.monotonic() + 120
    while not client.topic_exists(tasks.topic):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    for maker in makers:
        assert len(maker.find(tasks.topic, writable=True)) == 3
