"""Which topics records may name."""

import pytest

from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.routes.allowed import ALLOWED, Routes, naming_problems
from rocketconnect_sdk.routes.reserved import is_reserved
from rocketmq_remoting.client import BARRIER_TOPIC


@pytest.mark.parametrize(
    "topic",
    [
        "RCREPLAY_0c1f",
        "rcreplay_0c1f",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "rmq_sys_wheel_timer",
        "%RETRY%group",
        "%DLQ%group",
        "%dlq%group",
        "%LMQ%x",
        "SCHEDULE_TOPIC_XXXX",
        "TBW102",
        BARRIER_TOPIC,
    ],
)
def test_no_record_names_a_topic_of_rocketmq_or_of_ours_whatever_is_allowed(topic: str) -> None:
    assert is_reserved(topic)
    assert "for RocketMQ or RocketConnect itself" in Routes("orders", [".*"]).problem(topic)


def test_the_topic_of_the_configuration_is_allowed_whatever_it_is() -> None:
    routes = Routes("%DLQ%group", ["plant-.*"])
    assert [routes.problem(topic) for topic in ("", "%DLQ%group")] == ["", ""]
    assert Routes("orders", ["plant-.*"], own=["%DLQ%other"]).problem("%DLQ%other") == ""


def test_a_pattern_has_to_match_the_whole_name() -> None:
    routes = Routes("orders", ["plant-[a-z]+", "alarms"])
    assert [routes.problem(topic) for topic in ("plant-a", "alarms")] == ["", ""]
    assert all("topic.allowed does not allow" in routes.problem(topic) for topic in ("plant-1", "my-alarms", "plant-a2", "other"))
    assert not Routes("orders").problem("anything")


@pytest.mark.parametrize("topic", ["a b", "a/b", "x" * 128, "ü"])
def test_what_can_be_no_name_of_a_topic_is_refused(topic: str) -> None:
    assert "allowed" in Routes("orders").problem(topic)


def test_what_names_topics_by_records_asks_for_a_pattern() -> None:
    def found(**given: str) -> list[str]:
        config = parse([ALLOWED], {key.replace("_", "."): text for key, text in given.items()})
        full = Config({**config, "topic.template": template}, config.raw)
        return [problem.reason for problem in naming_problems(full, "topic.template")]

    template = "plant-${2}"
    assert found() == ["is needed with topic.template=plant-${2}: else who sends a record chooses any topic"]
    assert found(topic_allowed="plant-.*") == []
    template = ""
    assert found() == []
