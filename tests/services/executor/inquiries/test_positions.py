"""What a broker says of positions that people want for a sink: real broker."""

from collections.abc import Iterator

import pytest

from rocketmq_remoting import Client, encode_batch
from services.executor.contract.answers import PositionsChecked, PositionsResolved, PositionsUnknown
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.questions import CheckPositions, GivenPosition, ResolvePositions
from services.executor.host.jobs import positions as places
from tests.shared_rocketmq import RocketMQ

pytestmark = pytest.mark.rocketmq

CONFIG = {"connector.class": "file_lines", "engine": "native", "filename": "/out", "topics": "placed"}


@pytest.fixture(scope="module")
def queue(rocketmq: RocketMQ) -> Iterator[str]:
    """Five messages."""
    with Client(rocketmq.name_server) as client:
        client.create_topic("placed", queues=1)
        (made,) = client.queues("placed")
        client.send_batch(made, encode_batch([b"x"] * 5))
        client.barrier(made.broker)
        yield f"placed/{made.broker}/0"


def asked(rocketmq: RocketMQ, partition: str, *offset: int, resume: str = "") -> list[tuple[str, str]]:
    order = CheckPositions(CONFIG, {partition: GivenPosition(list(offset), resume)}, Endpoints(rocketmq.name_server, ""))
    answer = places.check(order)
    assert isinstance(answer, PositionsChecked)
    return [(problem.reason, problem.fix) for problem in answer.problems]


def test_offsets_from_the_beginning_to_the_end_are_possible_and_no_others(rocketmq: RocketMQ, queue: str) -> None:
    assert asked(rocketmq, queue, 0) == asked(rocketmq, queue, 5) == []
    assert asked(rocketmq, queue, 6) == [("is beyond the end of the queue, which is [5]", "Give one from [0] to [5].")]
    assert asked(rocketmq, queue, -1) == [("is below the beginning of the queue, which is [0]", "Give one from [0] to [5].")]


def test_what_is_no_queue_no_offset_or_no_resume_is_told(rocketmq: RocketMQ, queue: str) -> None:
    assert asked(rocketmq, "placed/b/7", 0) == [("is no queue of the topics placed", f"Name one of: {queue}.")]
    assert [reason for reason, _ in asked(rocketmq, queue, 1, 2)] == ["is no offset of a queue"]
    assert [reason for reason, _ in asked(rocketmq, queue, 1, resume='{"marks": 7}')] == [
        "has a resume that is not that of a queue"
    ]


def test_the_ends_are_those_of_the_queue(rocketmq: RocketMQ, queue: str) -> None:
    for to, offset in (("earliest", 0), ("latest", 5), (0.0, 0), (4e9, 5)):
        answer = places.resolve(ResolvePositions(CONFIG, to, [], [], Endpoints(rocketmq.name_server, "")))
        assert isinstance(answer, PositionsResolved)
        assert answer.positions == {queue: GivenPosition([offset])}


def test_a_broker_that_is_away_is_no_yes() -> None:
    order = CheckPositions(CONFIG, {"placed/b/0": GivenPosition([0])}, Endpoints("127.0.0.1:1", ""))
    assert isinstance(places.check(order), PositionsUnknown)
