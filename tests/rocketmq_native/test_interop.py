"""Crosswise with librocketmq of rocketmq-client-python: what one sends the other reads, or it is refused in words."""

import signal
import time
import uuid
from pathlib import Path

import pytest

from rocketmq_remoting import Client, Compression, Message, MessageQueue, PulledMessage, PullStream, encode_batch
from tests.rocketmq_native.conftest import Peer, TopicMaker, peer_of
from tests.shared_rocketmq import RocketMQ

pytestmark = pytest.mark.rocketmq

BODIES = ("größe 漢字 🚀".encode(), b"zero\0byte\0", b"\0", bytes(range(256)) * 4096)
"""A text, with zero bytes, nothing else, and a MiB that is compressed on its way."""
LIMIT_SECONDS = 120.0


def pulled(client: Client, queue: MessageQueue, count: int) -> list[PulledMessage]:
    client.barrier(queue.broker)
    messages: list[PulledMessage] = []
    with PullStream(client, queue, 0) as stream:
        while len(messages) < count:
            messages += (stream.next(LIMIT_SECONDS) or pytest.fail("there are no more")).messages()
    return messages


def test_what_the_library_sends_is_read_whole(client: Client, new_topic: TopicMaker, peer: Peer) -> None:
    (queue,) = new_topic()
    noise = b"".join(uuid.uuid4().bytes for _ in range(1 << 16))
    bodies = (*BODIES, noise)
    answers = [
        peer.send(
            queue.topic, body, tags=f"tag{number}", keys=f"key{number} other", properties={"own": f"wert ß {number}", "größe": "ä"}
        )
        for number, body in enumerate(bodies)
    ]
    assert [answer["queue_offset"] for answer in answers] == list(range(len(bodies)))
    found = pulled(client, queue, len(bodies))
    assert [message.body for message in found] == list(bodies)
    for number, message in enumerate(found):
        assert (message.tags, message.keys) == (f"tag{number}", f"key{number} other")
        assert (message.properties["own"], message.properties["größe"]) == (f"wert ß {number}", "ä")
        assert message.properties["UNIQ_KEY"] == answers[number]["message_id"]


def test_what_is_sent_the_library_reads_whole(client: Client, new_topic: TopicMaker, peer: Peer) -> None:
    (queue,) = new_topic()
    for number, body in enumerate(BODIES):
        sent = Message(body, tags=f"tag{number}", keys=f"key{number} other", properties={"own": f"wert ß {number}", "größe": "ä"})
        client.send(queue, sent)
    client.send(queue, Message(BODIES[-1], compression=Compression.ZLIB))
    client.send_batch(queue, encode_batch([b"", b"one", b"two\0"]))
    peer.ask(do="consume", topic=queue.topic, group=f"g_{queue.topic}")
    found = sorted(peer.received(len(BODIES) + 4), key=lambda message: message["queue_offset"])
    assert [message["queue_offset"] for message in found] == list(range(len(BODIES) + 4))
    assert [message["body"] for message in found] == [*BODIES, BODIES[-1], b"", b"one", b"two\0"]
    for number, message in enumerate(found[: len(BODIES)]):
        assert (message["topic"], message["queue_id"]) == (queue.topic, queue.queue_id)
        assert (message["tags"], message["keys"]) == (f"tag{number}", f"key{number} other")
        assert {name: message["properties"][name] for name in ("own", "größe")} == {"own": f"wert ß {number}", "größe": "ä"}


def test_a_delayed_message_comes_when_it_is_due(client: Client, new_topic: TopicMaker, peer: Peer) -> None:
    (queue,) = new_topic()
    began = time.time()
    peer.send(queue.topic, b"later", delay_level=1)
    (message,) = pulled(client, queue, 1)
    assert message.body == b"later"
    assert message.properties["DELAY"] == "1"
    assert message.store_timestamp_ms / 1000 - began > 0.9


def test_messages_with_one_sharding_key_keep_their_order_in_one_queue(client: Client, new_topic: TopicMaker, peer: Peer) -> None:
    queues = new_topic(queues=4)
    topic = queues[0].topic
    for number in range(6):
        for key in ("hello", "größe"):
            peer.send(topic, f"{key} {number}".encode(), sharding_key=key)
    # Where SelectMessageQueueByHash of RocketMQ's Java client sends them, by the hashes that these texts have in Java.
    for key, hashed in (("hello", 99162322), ("größe", 98762257)):
        found = [message.body.decode() for message in pulled(client, queues[hashed % len(queues)], 6)]
        assert [body for body in found if body.startswith(key)] == [f"{key} {number}" for number in range(6)]


def test_a_queue_is_handled_in_its_order(client: Client, new_topic: TopicMaker, peer: Peer) -> None:
    (queue,) = new_topic()
    client.send_batch(queue, encode_batch([b"%d" % number for number in range(100)]))
    peer.ask(do="consume", topic=queue.topic, group=f"g_{queue.topic}", ordered=True)
    assert [message["body"] for message in peer.received(100)] == [b"%d" % number for number in range(100)]


def test_only_messages_with_these_tags_are_handled(client: Client, new_topic: TopicMaker, peer: Peer) -> None:
    (queue,) = new_topic()
    for tag in ("a", "b", "c"):
        client.send(queue, Message(tag.encode(), tags=tag))
    peer.ask(do="consume", topic=queue.topic, group=f"g_{queue.topic}", tags="a || c")
    assert sorted(message["body"] for message in peer.received(2)) == [b"a", b"c"]


def test_what_the_library_can_not_send_is_refused_in_words(new_topic: TopicMaker, peer: Peer) -> None:
    (queue,) = new_topic()
    answers = [
        peer.send(queue.topic, b""),
        peer.send(queue.topic, b"x", properties={"own": "a\0b"}),
        peer.send(queue.topic, b"x", keys="a\0b"),
        peer.send(queue.topic, b"x", properties={"own": "a\x02b"}),
        peer.send(queue.topic, b"x", compression="LZ4"),
        peer.send(queue.topic, b"x" * (5 << 20)),
    ]
    assert [answer["error"] for answer in answers] == [
        "InvalidMessage",
        "InvalidRequest",
        "InvalidRequest",
        "InvalidMessage",
        "InvalidRequest",
        "MessageTooLarge",
    ]
    assert "has a zero byte, at which librocketmq would cut it" in answers[1]["text"]
    # Nothing of these is there.
    assert peer.send(queue.topic, b"x")["queue_offset"] == 0


def test_a_message_to_a_topic_that_is_not_there_is_not_confirmed(peer: Peer) -> None:
    answer = peer.send(f"absent_{uuid.uuid4().hex}", b"x")
    assert answer["error"] == "OutcomeUnknown"
    assert "why in its log, ~/logs/rocketmq-cpp" in answer["text"]


def test_a_batch_topic_is_not_consumed(new_topic: TopicMaker, peer: Peer) -> None:
    (queue,) = new_topic(topic_type="batch")
    answer = peer.ask(do="consume", topic=queue.topic, group=f"g_{queue.topic}")
    assert answer["error"] == "InvalidRequest"
    assert "is a batch topic, whose units librocketmq does not know: read it with rocketmq_remoting" in answer["text"]


@pytest.mark.slow
@pytest.mark.parametrize("compression", [Compression.LZ4, Compression.ZSTD])
def test_a_body_that_the_library_can_not_unpack_ends_the_process_with_a_word_and_is_not_lost(
    rocketmq: RocketMQ, client: Client, new_topic: TopicMaker, tmp_path: Path, compression: Compression
) -> None:
    (queue,) = new_topic()
    client.send(queue, Message(b"packed " * 1000, compression=compression))
    client.barrier(queue.broker)
    group = f"g_{queue.topic}"
    with peer_of(rocketmq.name_server, tmp_path, ends=-signal.SIGABRT) as peer:
        peer.ask(do="consume", topic=queue.topic, group=group)
        peer.wait()
        assert "compressed with LZ4 or Zstandard, and it knows zlib alone. The message is not done" in peer.log
    assert not client.committed_offset(group, queue)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["error", "exit"])
def test_a_message_whose_handler_fails_comes_again_with_all_of_its_answer(
    client: Client, new_topic: TopicMaker, peer: Peer, fault: str
) -> None:
    (queue,) = new_topic()
    client.send_batch(queue, [Message(b"again\0", tags="tag"), Message(b"other", tags="tag")])
    client.barrier(queue.broker)
    peer.ask(do="consume", topic=queue.topic, group=f"g_{queue.topic}", fail=[fault])
    first, *others = peer.received(3)
    assert (first["body"], first["reconsume_times"]) == (b"again\0", 0)
    assert sorted((each["body"], each["reconsume_times"]) for each in others) == [(b"again\0", 1), (b"other", 1)]
    assert {(each["topic"], each["tags"]) for each in others} == {(queue.topic, "tag")}
    assert "the handler failed; it comes again" in peer.log
