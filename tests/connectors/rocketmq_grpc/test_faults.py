import pytest

from connectors.rocketmq_grpc.faults import NotThere, blames_message, fault_of
from connectors.rocketmq_grpc.rocketmq import messaging_v2_pb2 as pb
from connectors.rocketmq_grpc.sink import RocketmqGrpcSink
from connectors.rocketmq_grpc.source import RocketmqGrpcSource
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from tests.connectors.amqp.driving import problems

GIVEN = {
    "endpoints": "127.0.0.1:1",
    "source.cluster": "A",
    "target.cluster": "B",
    "access.key": "me",
    "secret.key": "${env:RIGHT}",
}
READING = {**GIVEN, "topics": "orders", "group": "readers"}


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (40100, PermanentError),
        (40300, PermanentError),
        (40402, NotThere),
        (40403, NotThere),
        (40010, PermanentError),
        (40015, SystemAway),
        (42900, RetriableError),
        (50001, RetriableError),
        (50002, SystemAway),
        (50400, SystemAway),
        (50100, PermanentError),
        (40018, PermanentError),
    ],
)
def test_a_status_is_an_error_by_what_can_be_done_about_it(code: int, error: type[Exception]) -> None:
    found = fault_of(pb.Status(code=code, message="why"), "proxy:8081", "messages of orders")
    assert type(found) is error
    assert str(found).startswith(f"proxy:8081: messages of orders: why ({code})")


def test_one_message_is_to_blame_for_what_it_has_and_not_for_what_the_server_lacks() -> None:
    assert all(blames_message(pb.Status(code=code)) for code in (40004, 40007, 40014, 41301, 41302, 43101))
    assert not any(blames_message(pb.Status(code=code)) for code in (20000, 40100, 40402, 42900, 50001))


@pytest.mark.parametrize(
    ("given", "key", "reason"),
    [
        ({"endpoints": "host"}, "endpoints", "has 'host', which is no HOST:PORT"),
        ({"topics": "a b"}, "topics", "'a b' "),
        ({"topics": "a,a"}, "topics", "names a topic twice"),
        ({"topics": ""}, "topics", ""),
        ({"access.key": ""}, "access.key", "is missing, and secret.key is given"),
        ({"target.cluster": "A"}, "target.cluster", "is the name of source.cluster, too"),
        ({"tags": "new", "sql": "TAGS = 'new'"}, "tags", "cannot be given beside sql"),
        ({"sql": "n LIKE '%3'"}, "sql", "LIKE"),
        ({"ssl.ca.location": "/tmp"}, "ssl.ca.location", "means nothing without TLS"),
        ({"tls": "true", "ssl.certificate.location": "/tmp/a.pem"}, "ssl.key.location", "is missing, and gRPC does not look"),
        ({"invisible.duration": "9s"}, "invisible.duration", ""),
    ],
)
def test_what_does_not_go_together_is_told(given: dict[str, str], key: str, reason: str) -> None:
    assert reason in problems(RocketmqGrpcSource(), **{**READING, **given})[key]


def test_a_group_and_a_time_of_delivery_are_not_given_together() -> None:
    found = problems(RocketmqGrpcSink(), **GIVEN, **{"message.group": "g", "delivery.time": "0"})
    assert found["delivery.time"] == "can't be given beside message.group: a message of a group is delivered in its turn"


def test_an_endpoint_that_does_not_answer_is_the_only_problem() -> None:
    assert list(problems(RocketmqGrpcSource(), **READING)) == ["endpoints"]
    assert list(problems(RocketmqGrpcSink(), **GIVEN)) == ["endpoints"]
