"""Topics of a real broker: what is shown of their messages."""

import json
import time
from collections.abc import Iterator

import pytest

from rocketconnect_sdk.columns.rows import Rows, array_of, offsets_of
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketmq_remoting import Client, Message, MessageQueue
from services.executor.contract.answers import Peeked
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.questions import AtOffset, AtPlaces, AtTime, PeekTopic
from services.executor.host.jobs.peek import peek
from tests.shared_rocketmq import RocketMQ

pytestmark = pytest.mark.rocketmq


@pytest.fixture(scope="module")
def client(rocketmq: RocketMQ) -> Iterator[Client]:
    with Client(rocketmq.name_server) as made:
        yield made


Start = AtOffset | AtTime | AtPlaces | None


def seen(
    rocketmq: RocketMQ, topic: str, start: Start = None, messages: int = 10, queue: str = "", key: str = "", **config: str
) -> Peeked:
    named = {name.replace("__", "."): value for name, value in config.items()}
    return peek(PeekTopic(topic, named, messages, queue, start, 5.0, Endpoints(rocketmq.name_server, ""), key=key))


def values(answer: Peeked) -> list[str | None]:
    assert (answer.problems, answer.trouble) == ([], "")
    return [None if each.record is None else each.record.value for each in answer.records]


def milliseconds() -> int:
    return time.time_ns() // 1_000_000


def filled(client: Client, topic: str, queues: int = 2, count: int = 10) -> list[MessageQueue]:
    """Messages "0" to COUNT - 1, in turn in each queue, no two of them stored in one millisecond: that is their order."""
    client.create_topic(topic, queues=queues)
    found = client.queues(topic)
    for number in range(count):
        client.send(found[number % queues], Message(str(number).encode(), keys=f"k{number}"))
        stored = milliseconds()
        while milliseconds() <= stored:
            pass
    client.barrier(found[0].broker)
    return found


def test_the_last_messages_of_all_queues_are_shown_oldest_first(rocketmq: RocketMQ, client: Client) -> None:
    filled(client, "peek-last")
    answer = seen(rocketmq, "peek-last", messages=3)
    assert sorted(map(str, values(answer))) == ["7", "8", "9"]
    assert [record.stored_ms for record in answer.records] == sorted(record.stored_ms for record in answer.records)
    assert [record.record.key for record in answer.records if record.record] == [f"k{value}" for value in values(answer)]
    assert sorted(answer.next.values()) == [5, 5]


def test_what_comes_is_shown_once_from_where_an_answer_ended(rocketmq: RocketMQ, client: Client) -> None:
    queues = filled(client, "peek-on")
    answer = seen(rocketmq, "peek-on", messages=1)
    assert values(seen(rocketmq, "peek-on", AtPlaces(answer.next))) == []
    for number in range(10, 13):
        client.send(queues[number % 2], Message(str(number).encode()))
    client.barrier(queues[0].broker)
    found: list[str | None] = []
    while more := values(answer := seen(rocketmq, "peek-on", AtPlaces(answer.next), messages=1)):
        found += more
    assert sorted(map(str, found)) == ["10", "11", "12"]


def test_messages_are_shown_from_an_offset_a_time_and_of_one_queue(rocketmq: RocketMQ, client: Client) -> None:
    queues = filled(client, "peek-from")
    assert values(seen(rocketmq, "peek-from", AtOffset(3), queue="1")) == ["7", "9"]
    assert values(seen(rocketmq, "peek-from", AtOffset(99))) == []
    stored = {record.record.value: record.stored_ms for record in seen(rocketmq, "peek-from").records if record.record}
    client.send(queues[0], Message(b"late"))
    client.barrier(queues[0].broker)
    assert values(seen(rocketmq, "peek-from", AtTime(stored["9"] + 1)))[-1] == "late"
    assert len(values(seen(rocketmq, "peek-from", AtTime(0), messages=100))) == 11
    (problem,) = seen(rocketmq, "peek-from", queue="7").problems
    assert problem.key == "queue"
    assert "peek-from" in problem.fix


def test_messages_with_a_key_are_found_by_rocketmqs_index_of_all_queues_or_one_since_a_time(
    rocketmq: RocketMQ, client: Client
) -> None:
    queues = filled(client, "peek-keys", count=4)
    # "Aa" and "BB" have one hash in Java, and only one of them is asked for.
    sent = (("first", "Aa"), ("other", "BB"), ("second", "Aa"), ("words", "x Aa y Aa"), ("whole", "two words"))
    for number, (value, keys) in enumerate(sent):
        time.sleep(0.01)
        client.send(queues[number % 2], Message(value.encode(), keys=keys))
    client.barrier(queues[0].broker)
    deadline = time.monotonic() + 60
    while values(answer := seen(rocketmq, "peek-keys", key="Aa")) != ["first", "second", "words"]:
        # The index is written behind the queues.
        assert time.monotonic() < deadline, values(answer)
    assert values(seen(rocketmq, "peek-keys", key="k2")) == ["2"]
    assert values(seen(rocketmq, "peek-keys", key="two words")) == ["whole"]
    assert values(seen(rocketmq, "peek-keys", key="Aa", messages=1)) == ["words"]
    assert values(seen(rocketmq, "peek-keys", key="Aa", queue="1")) == ["words"]
    (_, second, _) = answer.records
    assert values(seen(rocketmq, "peek-keys", AtTime(second.stored_ms), key="Aa")) == ["second", "words"]
    assert values(seen(rocketmq, "peek-keys", key="nobody")) == []


def test_messages_are_converted_and_those_that_can_not_be_are_shown_with_the_reason(rocketmq: RocketMQ, client: Client) -> None:
    (queue,) = filled(client, "peek-json", queues=1, count=0)
    client.send(queue, Message(b'{"id": 1}', properties={"connect-ext-h": "1", "RCPOS": "uid-1|3|orders.csv|0|17.4"}))
    client.send(queue, Message(b"no json"))
    client.send(queue, Message(b"\xff\x00"))
    client.barrier(queue.broker)
    good, bad, worse = seen(rocketmq, "peek-json", value__converter="json", value__converter__schemas__enable="false").records
    assert good.record is not None
    assert json.loads(good.record.value or "") == {"id": 1}
    assert (good.record.headers["h"], good.properties["connect-ext-h"]) == ("1", "1")
    assert good.source == ("uid-1", 3, "orders.csv", 0, [17, 4])
    assert bad.record is None
    assert (bad.body, bad.source) == ("no json", None)
    assert "JSON" in bad.problem
    assert worse.body == "base64:/wA="
    assert values(seen(rocketmq, "peek-json")) == ['{"id": 1}', "no json", "base64:/wA="]


def test_packed_messages_are_shown_row_by_row_without_a_converter(rocketmq: RocketMQ, client: Client) -> None:
    (queue,) = filled(client, "peek-packed", queues=1, count=0)
    schema = struct([("id", Schema(Type.INT64))])
    packed = Rows(*array_of([{"id": 1}, {"id": 2}], schema), offsets_of([(0,), (1,)])).pack()
    for body in (b"plain", packed, packed[: len(packed) // 2], b"\xff\xff\xff\xff"):
        client.send(queue, Message(body))
    client.barrier(queue.broker)
    answer = seen(rocketmq, "peek-packed")
    plain, one, two, broken, short = values(answer)
    assert (plain, json.loads(one or ""), json.loads(two or "")) == ("plain", {"id": 1}, {"id": 2})
    assert [(record.offset, record.row, record.rows) for record in answer.records[:3]] == [(0, 0, 0), (1, 0, 2), (1, 1, 2)]
    assert [str(each)[:7] for each in (broken, short)] == ["base64:", "base64:"]
    assert str(values(seen(rocketmq, "peek-packed", AtOffset(1), messages=1, value__converter="bytes"))[0]).startswith("base64:")


def test_all_that_is_wrong_with_the_converters_is_told_and_secrets_are_references(rocketmq: RocketMQ) -> None:
    answer = seen(rocketmq, "peek-json", value__converter="jsn", rocketmq__secret__key="literal", rocketmq__access__key="u", x="1")
    assert {problem.key for problem in answer.problems} == {"value.converter", "rocketmq.secret.key", "x"}
    assert "'literal'" not in str(answer)


def test_a_topic_that_is_not_there_is_not_there(rocketmq: RocketMQ) -> None:
    assert seen(rocketmq, "peek-nobody").is_missing
