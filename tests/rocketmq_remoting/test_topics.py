"""Topics: created, described, changed, listed, deleted."""

import uuid
from collections.abc import Callable

import pytest

from rocketmq_remoting import Client, InvalidRequest, MessageQueue, Permission, TopicNotFound

pytestmark = pytest.mark.rocketmq

TopicMaker = Callable[..., list[MessageQueue]]


def _name() -> str:
    return f"test_{uuid.uuid4().hex}"


@pytest.mark.parametrize("topic_type", ["normal", "batch"])
def test_a_created_topic_has_what_was_asked_for(client: Client, topic_type: str) -> None:
    topic = _name()
    client.create_topic(topic, queues=3, topic_type=topic_type)
    config = client.topic_config(topic)
    assert (config.read_queues, config.write_queues, config.topic_type) == (3, 3, topic_type)
    assert config.permission == Permission.READ | Permission.WRITE
    broker = client.queues(topic)[0].broker
    assert client.queues(topic) == [MessageQueue(topic, broker, number) for number in range(3)]
    assert topic in client.topics()
    assert client.topic_exists(topic)


def test_a_topic_can_have_other_queues_to_read_than_to_write(client: Client) -> None:
    topic = _name()
    client.create_topic(topic, queues=2, read_queues=4)
    config = client.topic_config(topic)
    assert (config.read_queues, config.write_queues) == (4, 2)
    assert (len(client.queues(topic)), len(client.queues(topic, writable=True))) == (4, 2)
    with pytest.raises(InvalidRequest, match="0 queues"):
        client.create_topic(topic, queues=2, read_queues=0)


@pytest.mark.parametrize("topic_type", ["normal", "batch"])
def test_creating_a_topic_again_changes_its_queues(client: Client, topic_type: str) -> None:
    topic = _name()
    for queues in (1, 1, 5):
        client.create_topic(topic, queues=queues, topic_type=topic_type)
        assert len(client.queues(topic)) == queues


def test_the_type_of_a_topic_can_not_be_changed(client: Client) -> None:
    topic = _name()
    client.create_topic(topic, queues=1)
    with pytest.raises(InvalidRequest, match="exists on broker broker-0 with type normal"):
        client.create_topic(topic, queues=1, topic_type="batch")


def test_a_topic_that_is_to_be_kept_stays_as_it_is(client: Client) -> None:
    topic = _name()
    client.create_topic(topic, queues=1, keep=True)
    client.create_topic(topic, queues=5, topic_type="batch", attributes={"message.type": "FIFO"}, keep=True)
    made = client.topic_config(topic)
    assert (len(client.queues(topic)), made.topic_type, made.attributes.get("message.type")) == (1, "normal", None)


def test_attributes_are_set(client: Client) -> None:
    topic = _name()
    client.create_topic(topic, queues=1, attributes={"message.type": "FIFO"})
    assert client.topic_config(topic).attributes["message.type"] == "FIFO"


def test_a_deleted_topic_is_gone_and_can_be_deleted_again(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    client.delete_topic(queue.topic)
    assert not client.topic_exists(queue.topic)
    with pytest.raises(TopicNotFound):
        client.topic_config(queue.topic)
    client.delete_topic(queue.topic)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ä", "x" * 128, "a.b"])
def test_a_name_that_rocketmq_does_not_take_is_refused(client: Client, name: str) -> None:
    with pytest.raises(InvalidRequest, match="use 1 to 127 of the characters"):
        client.create_topic(name)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"topic_type": "fast"}, "choose one of batch, normal"),
        ({"queues": 0}, "at least 1"),
        ({"brokers": ["nobody"]}, "unknown brokers nobody; there are broker-0"),
    ],
)
def test_a_wrong_value_is_told_before_anything_is_created(client: Client, wrong: dict[str, object], words: str) -> None:
    topic = _name()
    with pytest.raises(InvalidRequest, match=words):
        client.create_topic(topic, **wrong)  # type: ignore[arg-type]
    assert not client.topic_exists(topic)
