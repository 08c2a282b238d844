"""Sends, pulls and offsets against the real broker."""

import socket
import time
from collections.abc import Callable

import pytest

from rocketmq_remoting import (
    MAX_BATCH_BYTES,
    MAX_BATCH_MESSAGES,
    Client,
    ClientClosed,
    Compression,
    DeadlinePassed,
    InvalidFilter,
    InvalidMessage,
    InvalidRequest,
    Message,
    MessageQueue,
    MessageTooLarge,
    NameServersUnavailable,
    NoPermission,
    Permission,
    PullStatus,
    RequestRejected,
    SqlFilter,
    TagFilter,
    TopicNotFound,
    encode_batch,
    encode_properties,
)
from rocketmq_remoting.connections.clock import boot_seconds
from tests.shared_rocketmq import RocketMQ

pytestmark = pytest.mark.rocketmq

TopicMaker = Callable[..., list[MessageQueue]]


def test_a_message_comes_back_with_everything_it_had(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    before = time.time_ns() // 1_000_000
    sent = Message("größe".encode(), tags="A", keys="k1 k2", properties={"own": "wert ß", "empty-ish": " "})
    receipt = client.send(queue, sent)
    assert (receipt.queue, receipt.queue_offset, receipt.count) == (queue, 0, 1)
    (message,) = client.pull(queue, 0, suspend=5).messages
    assert (message.body, message.tags, message.keys) == (sent.body, "A", "k1 k2")
    assert sent.properties.items() <= message.properties.items()
    assert (message.queue, message.queue_offset, message.reconsume_times) == (queue, 0, 0)
    assert message.message_id == receipt.message_ids[0]
    assert before <= message.born_timestamp_ms <= message.store_timestamp_ms <= time.time_ns() // 1_000_000


@pytest.mark.parametrize("topic_type", ["normal", "batch"])
def test_a_message_without_a_body_is_stored_with_its_tags_and_properties(
    client: Client, new_topic: TopicMaker, topic_type: str
) -> None:
    (queue,) = new_topic(topic_type=topic_type)
    receipt = client.send(queue, Message(b"", tags="A", keys="k", properties={"own": "v"}, compression=Compression.ZLIB))
    assert (receipt.queue, receipt.queue_offset, receipt.count) == (queue, 0, 1)
    (message,) = client.pull(queue, 0, suspend=5).messages
    assert (message.body, message.tags, message.keys, message.properties["own"]) == (b"", "A", "k", "v")
    assert len(message.properties["UNIQ_KEY"]) == 32


def test_what_no_broker_takes_is_refused_in_words_before_it_is_sent(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    for delayed in (Message(b"", delay_level=1), Message(b"", deliver_at_ms=time.time_ns() // 1_000_000 + 60_000)):
        with pytest.raises(InvalidMessage, match="a delayed message without a body"):
            client.send(queue, delayed)
    for name in ("", "a b", "x" * 128):
        with pytest.raises(InvalidRequest, match="use 1 to 127 of the characters"):
            client.send(queue._replace(topic=name), Message(b"x"))
        with pytest.raises(InvalidRequest, match="use 1 to 127 of the characters"):
            client.send_batch(queue._replace(topic=name), [Message(b"x")])
    with pytest.raises(MessageTooLarge, match="RocketMQ ends the connection at requests of 16 MiB"):
        client.send(queue, Message(bytes(16 << 20)))
    with pytest.raises(MessageTooLarge, match="RocketMQ ends the connection at requests of 16 MiB"):
        client.send_batch(queue, encode_batch([bytes(16 << 20)], max_bytes=32 << 20))
    # The connection goes on.
    assert client.send(queue, Message(b"x")).queue_offset == 0


@pytest.mark.parametrize("topic_type", ["normal", "batch"])
def test_a_batch_keeps_its_order_and_its_properties(client: Client, new_topic: TopicMaker, topic_type: str) -> None:
    (queue,) = new_topic(topic_type=topic_type)
    messages = [Message(b"%d" % number, properties={"n": str(number)}) for number in range(100)]
    assert client.send_batch(queue, messages).queue_offset == 0
    receipt = client.send_batch(queue, messages)
    assert (receipt.queue_offset, receipt.count) == (100, 100)
    assert len(receipt.message_ids) == (100 if topic_type == "normal" else 1)
    client.barrier(queue.broker)
    batch = client.pull(queue, 0).batch
    assert batch.bodies == [message.body for message in messages] * 2
    assert batch.offsets == list(range(200))
    assert [message.properties["n"] for message in batch] == [str(number) for number in range(100)] * 2


def test_a_pull_into_the_middle_of_a_unit_begins_at_the_offset_asked_for(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic(topic_type="batch")
    client.send_batch(queue, encode_batch([b"%d" % number for number in range(100)]))
    client.barrier(queue.broker)
    result = client.pull(queue, 37)
    assert (result.batch.offsets, result.batch.bodies[0]) == (list(range(37, 100)), b"37")
    assert (result.next_offset, result.max_offset) == (100, 100)


@pytest.mark.parametrize("topic_type", ["normal", "batch"])
def test_the_largest_batches_are_stored(client: Client, new_topic: TopicMaker, topic_type: str) -> None:
    (queue,) = new_topic(topic_type=topic_type)
    most = encode_batch([b"x"] * MAX_BATCH_MESSAGES)
    assert client.send_batch(queue, most).queue_offset == 0
    large = encode_batch([bytes(MAX_BATCH_BYTES - 22)])
    assert len(large.payload) == MAX_BATCH_BYTES
    assert client.send_batch(queue, large).queue_offset == MAX_BATCH_MESSAGES
    client.barrier(queue.broker)
    assert client.pull(queue, MAX_BATCH_MESSAGES).batch.bodies == [bytes(MAX_BATCH_BYTES - 22)]
    first = client.pull(queue, 0, max_messages=MAX_BATCH_MESSAGES).batch
    assert set(first.bodies) == {b"x"}
    assert first.offsets[0] == 0


def test_a_batch_that_the_broker_finds_too_large_is_refused_for_good(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    too_large = encode_batch([bytes(MAX_BATCH_BYTES)], max_bytes=MAX_BATCH_BYTES * 2)
    with pytest.raises(MessageTooLarge, match="maxMessageSize"):
        client.send_batch(queue, too_large)
    with pytest.raises(MessageTooLarge, match="maxMessageSize"):
        client.send(queue, Message(bytes(MAX_BATCH_BYTES + 1)))


@pytest.mark.parametrize("compression", Compression)
def test_compressed_bodies_come_back_plain(client: Client, new_topic: TopicMaker, compression: Compression) -> None:
    (queue,) = new_topic()
    client.send(queue, Message(b"large " * 1000, compression=compression))
    client.send(queue, Message(b"x", compression=compression))
    client.send_batch(queue, [Message(b"batched " * 100, compression=compression)] * 2)
    client.barrier(queue.broker)
    batch = client.pull(queue, 0).batch
    assert batch.bodies == [b"large " * 1000, b"x", b"batched " * 100, b"batched " * 100]
    assert [message.sys_flag & 1 for message in batch] == [1, 0, 1, 1]


def test_sends_to_many_queues_are_under_way_at_once(client: Client, new_topic: TopicMaker) -> None:
    queues = new_topic(queues=4)
    pending = [client.send_batch_async(queue, encode_batch([b"a", b"b"])) for queue in queues for _ in range(3)]
    receipts = [one.result() for one in pending]
    assert {receipt.queue for receipt in receipts} == set(queues)
    assert all(sorted(receipt.queue_offset for receipt in receipts if receipt.queue == queue) == [0, 2, 4] for queue in queues)


def test_a_send_after_its_time_stores_nothing(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    client.send(queue, Message(b"first"))
    with pytest.raises(DeadlinePassed):
        client.send_batch(queue, [Message(b"late")], not_after=boot_seconds() - 1)
    client.barrier(queue.broker)
    assert client.max_offset(queue) == 1


def test_a_long_poll_answers_when_a_message_comes(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    pending = client.pull_async(queue, 0, suspend=20)
    time.sleep(0.3)
    assert not pending.done()
    client.send(queue, Message(b"new"))
    began = time.monotonic()
    assert pending.result().batch.bodies == [b"new"]
    assert time.monotonic() - began < 15


def test_a_pull_at_the_end_says_that_there_is_nothing_new(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    client.send(queue, Message(b"only"))
    client.barrier(queue.broker)
    result = client.pull(queue, 1)
    assert (result.status, result.next_offset, len(result.batch)) == (PullStatus.NO_NEW, 1, 0)


def test_a_pull_beyond_the_end_says_so(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    client.send(queue, Message(b"only"))
    client.barrier(queue.broker)
    result = client.pull(queue, 100)
    assert (result.status, result.min_offset, result.max_offset) == (PullStatus.OFFSET_ILLEGAL, 0, 1)


def test_a_tag_filter_delivers_the_wanted_tags_only(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    # The Java hash codes of "Aa" and "BB" are equal, and the broker compares those.
    client.send_batch(queue, [Message(tag.encode(), tags=tag) for tag in ("Aa", "BB", "C", "Aa")])
    client.barrier(queue.broker)
    assert client.pull(queue, 0, message_filter=TagFilter.of("Aa")).batch.bodies == [b"Aa", b"Aa"]
    assert client.pull(queue, 0, message_filter=TagFilter.of("C", "BB")).batch.bodies == [b"BB", b"C"]
    result = client.pull(queue, 0, message_filter=TagFilter.of("other"))
    assert (result.status, result.next_offset) == (PullStatus.NO_MATCHED, 4)


def test_an_sql_filter_delivers_what_fits_its_expression(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    client.send_batch(queue, [Message(b"%d" % n, properties={"n": str(n), "s": "x"}) for n in range(10)])
    client.barrier(queue.broker)
    wanted = SqlFilter("n BETWEEN 3 AND 5 OR n = 9 AND s = 'x'")
    assert client.pull(queue, 0, message_filter=wanted).batch.bodies == [b"3", b"4", b"5", b"9"]


def test_a_wrong_sql_expression_is_told(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    with pytest.raises(InvalidFilter, match="filter expression is wrong"):
        client.pull(queue, 0, message_filter=SqlFilter("n >>> 3"))


def test_offsets_are_found_by_time(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    client.send(queue, Message(b"before"))
    time.sleep(0.05)
    between = time.time_ns() // 1_000_000
    time.sleep(0.05)
    client.send_batch(queue, [Message(b"after"), Message(b"after too")])
    client.barrier(queue.broker)
    assert (client.min_offset(queue), client.max_offset(queue)) == (0, 3)
    assert client.offset_by_time(queue, 0) == 0
    assert client.offset_by_time(queue, between) == 1


def test_a_groups_offset_is_none_until_it_is_committed(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    client.send_batch(queue, [Message(b"x")] * 5)
    group = f"group_{queue.topic}"
    assert client.committed_offset(group, queue) is None
    client.commit_offset(group, queue, 3)
    assert client.committed_offset(group, queue) == 3
    client.commit_offset(group, queue, 1)
    assert client.committed_offset(group, queue) == 1


def test_a_topic_that_does_not_exist_is_told_and_not_created(client: Client) -> None:
    with pytest.raises(TopicNotFound, match="no_such_topic is not known"):
        client.queues("no_such_topic")
    broker = client.route("TBW102").queues[0].broker if client.topic_exists("TBW102") else "broker-0"
    with pytest.raises(TopicNotFound):
        client.send(MessageQueue("no_such_topic", broker, 0), Message(b"x"))
    assert not client.topic_exists("no_such_topic")


def test_a_queue_that_does_not_exist_is_told(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    with pytest.raises(InvalidRequest, match=r"queueId\[7\] is illegal"):
        client.send(queue._replace(queue_id=7), Message(b"x"))
    with pytest.raises(InvalidRequest, match=r"queueId\[7\] is illegal"):
        client.pull(queue._replace(queue_id=7), 0)


def test_a_topic_that_can_only_be_written_refuses_pulls(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    client.create_topic(queue.topic, queues=1, permission=Permission.WRITE)
    with pytest.raises(NoPermission, match="check the topic's permission"):
        client.pull(queue, 0)
    assert client.queues(queue.topic) == []
    assert client.queues(queue.topic, writable=True) == [queue]


def test_raw_properties_are_sent_as_they_are(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    raw = encode_properties({"uid": "c1", "offset": "17"})
    client.send_batch(queue, encode_batch([b"a", b"b"], raw))
    client.barrier(queue.broker)
    assert client.pull(queue, 0).messages[1].properties.items() >= {"uid": "c1", "offset": "17"}.items()


def test_the_first_name_server_may_be_down(rocketmq: RocketMQ) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"127.0.0.1:{listener.getsockname()[1]}"
    with Client(f"{closed};{rocketmq.name_server}") as client:
        assert "TBW102" in client.topics() or client.topics()
        assert client._routes.servers == [rocketmq.name_server, closed]


def test_without_any_name_server_the_error_names_each() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"127.0.0.1:{listener.getsockname()[1]}"
    with Client([closed, "127.0.0.1:1"], timeout=1) as client, pytest.raises(NameServersUnavailable, match=closed) as caught:
        client.topics()
    assert "127.0.0.1:1" in str(caught.value)
    assert isinstance(caught.value, RequestRejected)


@pytest.mark.parametrize("address", ["", ";", "host", "host:", "host:99999", ":9876"])
def test_a_malformed_name_server_is_refused(address: str) -> None:
    with pytest.raises(InvalidRequest, match="write host:port"):
        Client(address)


def test_an_access_key_needs_its_secret() -> None:
    with pytest.raises(InvalidRequest, match="belong together"):
        Client("127.0.0.1:9876", access_key="key")


def test_a_closed_client_says_so(rocketmq: RocketMQ) -> None:
    client = Client(rocketmq.name_server)
    client.topics()
    client.close()
    with pytest.raises(ClientClosed):
        client.topics()
