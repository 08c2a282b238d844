"""Which topics brokers are asked about for a list."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from rocketconnect.topic.v1 import topic_service_pb2 as pb

from rocketmq_remoting.errors import TopicNotFound
from services.executor.topics.service import TopicService

THERE = ["BenchmarkTest", "orders"]


@pytest.mark.parametrize(("internal", "told"), [(False, ["orders"]), (True, THERE)])
async def test_no_broker_is_asked_about_topics_that_the_list_leaves_out(internal: bool, told: list[str]) -> None:
    asked: list[str] = []

    def route(name: str) -> object:
        asked.append(name)
        raise TopicNotFound(name)

    client: Any = SimpleNamespace(topics=lambda: THERE, route=route, close=lambda: None)
    service = TopicService(cast("Any", None), cast("Any", None), cast("Any", None), lambda: client, "")
    context: Any = SimpleNamespace(time_remaining=lambda: None)
    answer = await service.ListTopics(pb.ListTopicsRequest(internal=internal), context)
    service.close()
    assert [each.name for each in answer.topics] == asked == told
