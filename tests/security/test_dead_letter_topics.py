"""Attacks through dead letters: with the executor's rights, they are sent to no topic that nobody allowed."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as letters
from rocketconnect.deadletter.v1.deadletter_service_pb2_grpc import DeadletterServiceStub
from rocketconnect.executor.v1 import executor_service_pb2 as pb

from rocketconnect_cli.instance import topology
from rocketconnect_kit.serving.status import decode
from rocketconnect_sdk.letters.dead_letters import replay_topic
from rocketconnect_sdk.permissions.dead_letter_topics import DEAD_LETTER_TOPICS, USUAL, may_hold_dead_letters, problem
from services.executor.settings import ExecutorSettings

Start = Callable[..., Any]
NAME = "errors.deadletterqueue.topic.name"


def refused(executor: Any, topic: str) -> list[str]:
    """What an executor has against a connector with this dead-letter topic."""
    config = {"connector.class": "monitorable_source", "topic": "t", "errors.tolerance": "all", NAME: topic}
    answer = executor.stub().ValidateConnector(pb.ValidateConnectorRequest(name="x", config=config), timeout=60)
    return [each.reason for each in answer.problems if each.key == NAME]


def test_dead_letters_go_to_no_topic_that_its_name_or_the_operator_does_not_allow(start_executor: Start, plane: Any) -> None:
    executor = start_executor(dead_letter_topics=USUAL)
    plane.wait_for(lambda: plane.registrations)
    for topic in ("orders", "payments", "d-l-q", "RCREPLAY_someone", "rmq_sys_TRACE_DATA"):
        (reason,) = refused(executor, topic)
        assert "--dead-letter-topics" in reason, topic
        assert DEAD_LETTER_TOPICS in reason
    for topic in ("orders-dlq", "DLQ_orders", "%DLQ%group", "dead-letters", ""):
        assert not refused(executor, topic), topic


def test_a_replay_goes_to_no_topic_that_nobody_allowed(start_executor: Start, plane: Any) -> None:
    executor = start_executor(dead_letter_topics="team-a-*")
    plane.wait_for(lambda: plane.registrations)
    config = {"connector.class": "file_lines", "topics": "t", NAME: "team-a-dead"}
    plane.connectors["out"] = connectors.Connector(name="out", uid="u", type=connectors.CONNECTOR_TYPE_SINK, config=config)
    stub = DeadletterServiceStub(grpc.insecure_channel(executor.address))

    def answer(to: str, *, dry_run: bool) -> str:
        request = letters.ReplayDeadLettersRequest(connector="out", all=True, to=to, dry_run=dry_run)
        with pytest.raises(grpc.RpcError) as error:
            stub.ReplayDeadLetters(request, timeout=60)
        return decode(error.value).reason

    for dry_run in (False, True):
        assert answer("orders", dry_run=dry_run) == "REPLAY_TARGET_NOT_ALLOWED"
        # As far as the brokers, which are not there.
        assert answer("team-a-again", dry_run=dry_run) == "ROCKETMQ_AWAY"
        assert answer(replay_topic("u"), dry_run=dry_run) == "ROCKETMQ_AWAY"


def test_an_executor_that_was_told_nothing_allows_names_that_say_what_the_topic_is_for_and_an_instance_of_one_user_all() -> None:
    assert ExecutorSettings.__dataclass_fields__["dead_letter_topics"].default == USUAL
    assert topology.UNLESS_TOLD[DEAD_LETTER_TOPICS] == "*"


@pytest.mark.parametrize(
    ("topic", "patterns", "allowed"),
    [
        ("orders", "*", True),
        ("orders", "", False),
        ("orders", " , ", False),
        ("orders", "order", False),
        ("Orders", "payments, orders", True),
        ("my-orders-dlq", USUAL, True),
    ],
)
def test_patterns_are_for_whole_names_and_capital_letters_make_no_difference(topic: str, patterns: str, allowed: bool) -> None:
    assert may_hold_dead_letters(topic, patterns) is allowed
    assert (problem(topic, {DEAD_LETTER_TOPICS: patterns}) is None) is allowed


def test_in_a_process_that_no_executor_has_started_nothing_is_limited() -> None:
    assert problem("orders", {}) is None
