"""The ordered stream of one queue: nothing left out, nothing twice, gaps told, memory bounded."""

import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress

import pytest

from rocketmq_remoting import (
    Client,
    ClientClosed,
    Compression,
    Message,
    MessageQueue,
    PullStream,
    QueueGap,
    RequestTimeout,
    SqlFilter,
    TagFilter,
    TopicNotFound,
    encode_batch,
)

pytestmark = pytest.mark.rocketmq

TopicMaker = Callable[..., list[MessageQueue]]
Filler = Callable[..., None]


def read(stream: PullStream, until: int) -> list[int]:
    """Return the numbers in the bodies up to an offset; each must stand at the offset of its number."""
    numbers: list[int] = []
    deadline = time.monotonic() + 60
    while stream.position < until:
        assert time.monotonic() < deadline
        batch = stream.next(5)
        assert batch is not None
        found = [int(body[-20:]) for body in batch.bodies]
        assert batch.offsets == found
        numbers += found
    return numbers


@pytest.mark.parametrize("topic_type", ["normal", "batch"])
@pytest.mark.parametrize(("per_batch", "start"), [(500, 0), (500, 123), (7, 3)])
def test_all_messages_come_once_and_in_order(
    client: Client, new_topic: TopicMaker, fill: Filler, topic_type: str, per_batch: int, start: int
) -> None:
    (queue,) = new_topic(topic_type=topic_type)
    fill(client, queue, 3000, per_batch=per_batch)
    with PullStream(client, queue, start, max_bytes_buffered=100_000) as stream:
        assert read(stream, 3000) == list(range(start, 3000))
        assert stream.next(0.1) is None


def test_messages_sent_meanwhile_come_too(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()

    def send() -> None:
        for first in range(0, 2000, 20):
            client.send_batch(queue, encode_batch([b"%d" % number for number in range(first, first + 20)]))

    sender = threading.Thread(target=send)
    with PullStream(client, queue, 0) as stream:
        sender.start()
        assert read(stream, 2000) == list(range(2000))
    sender.join()


def test_a_message_at_the_end_comes_at_once(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    with PullStream(client, queue, 0) as stream:
        for number in range(5):
            assert stream.next(0.05) is None
            client.send(queue, Message(b"%d" % number))
            began = time.monotonic()
            batch = stream.next(60)
            assert batch is not None
            assert batch.bodies == [b"%d" % number]
            assert time.monotonic() - began < 10


def held_by(stream: PullStream) -> int:
    return sum(len(window.pending.frame.body) for window in stream._windows if window.pending.frame is not None)


def test_reading_ahead_stops_at_the_memory_limit(client: Client, new_topic: TopicMaker, fill: Filler) -> None:
    (queue,) = new_topic()
    fill(client, queue, 20_000, per_batch=1000, size=1000)
    with PullStream(client, queue, 0, max_bytes_buffered=3_000_000) as stream:
        assert stream.next(5, max_bytes=1) is not None
        time.sleep(1)
        deadline = time.monotonic() + 60
        while not (held := held_by(stream)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert held <= 3_000_000
        assert stream._waiting_bytes == held
        assert read(stream, 20_000)[-1] == 19_999


def test_next_joins_what_has_arrived_up_to_its_limit(client: Client, new_topic: TopicMaker, fill: Filler) -> None:
    (queue,) = new_topic(topic_type="batch")
    fill(client, queue, 1000, per_batch=50)
    with PullStream(client, queue, 0, max_bytes_buffered=5000, pulls_in_flight=4) as stream:
        assert len(stream.next(5, max_bytes=1) or ()) < 1000


def test_a_position_beyond_the_end_is_a_gap_with_its_range(client: Client, new_topic: TopicMaker, fill: Filler) -> None:
    (queue,) = new_topic()
    fill(client, queue, 10)
    with PullStream(client, queue, 25) as stream:
        for _ in range(2):
            with pytest.raises(QueueGap, match="the queue ends before them") as caught:
                stream.next(5)
            gap = caught.value
            assert (gap.start, gap.end, gap.resume_at, gap.reason) == (10, 25, 10, "lost")
        fill(client, queue, 3, start=10)
        stream.seek(gap.resume_at)
        assert read(stream, 13) == [10, 11, 12]


def test_a_topic_created_anew_is_a_gap(client: Client, new_topic: TopicMaker, fill: Filler) -> None:
    (queue,) = new_topic()
    fill(client, queue, 10)
    with PullStream(client, queue, 0, suspend=0.5) as stream:
        assert read(stream, 10) == list(range(10))
        client.delete_topic(queue.topic)
        client.create_topic(queue.topic, queues=1)
        with pytest.raises(QueueGap) as caught:
            for _ in range(20):
                # A pull that was under way when the topic was deleted says so once, or is never answered.
                with suppress(TopicNotFound, RequestTimeout):
                    stream.next(1)
        assert (caught.value.start, caught.value.end, caught.value.reason) == (0, 10, "lost")


def test_compressed_messages_are_joined_and_buffered_as_what_they_become(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    # 40 answers' worth in one answer: 200 KiB each, some hundred bytes as they are stored.
    client.send_batch(queue, encode_batch([bytes(200 << 10)] * 60, compression=Compression.ZLIB))
    client.barrier(queue.broker)
    with PullStream(client, queue, 0, max_bytes_buffered=1 << 20) as stream:
        offsets: list[int] = []
        while len(offsets) < 60:
            batch = stream.next(60)
            assert batch is not None
            assert sum(map(len, batch.bodies)) <= 2 << 20
            assert not batch.damaged
            offsets += batch.offsets
        assert offsets == list(range(60))


def test_a_stream_with_a_filter_delivers_what_fits_and_passes_the_rest(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    for first in range(0, 3000, 500):
        client.send_batch(
            queue,
            [
                Message(b"%d" % number, tags="rare" if number % 997 == 5 else "often", properties={"n": str(number)})
                for number in range(first, first + 500)
            ],
        )
    client.barrier(queue.broker)
    for wanted in (TagFilter.of("rare"), SqlFilter("n IN ('5', '1002', '1999', '2996')")):
        group = f"group_{uuid.uuid4().hex}"
        with PullStream(client, queue, 0, message_filter=wanted, group=group) as stream:
            found: list[bytes] = []
            deadline = time.monotonic() + 20
            while stream.position < 3000 and time.monotonic() < deadline:
                batch = stream.next(1)
                found += batch.bodies if batch is not None else []
            assert found == [b"5", b"1002", b"1999", b"2996"]


def test_several_streams_share_a_connection(client: Client, new_topic: TopicMaker, fill: Filler) -> None:
    queues = new_topic(queues=4)
    for queue in queues:
        fill(client, queue, 500)
    streams = [PullStream(client, queue, 0) for queue in queues]
    for stream in streams:
        assert read(stream, 500) == list(range(500))
        stream.close()


def test_a_closed_stream_says_so(client: Client, new_topic: TopicMaker) -> None:
    (queue,) = new_topic()
    stream = PullStream(client, queue, 0)
    stream.close()
    with pytest.raises(ClientClosed):
        stream.next(1)


def test_what_has_come_is_given_out_before_a_broker_that_answers_no_more_is_told(
    client: Client, new_topic: TopicMaker, fill: Filler, monkeypatch: pytest.MonkeyPatch
) -> None:
    (queue,) = new_topic()
    fill(client, queue, 100)
    with PullStream(client, queue, 0) as stream:
        really, asked = stream._head, 0

        def head() -> object:
            nonlocal asked
            asked += 1
            if asked > 1:
                msg = "no answer"
                raise RequestTimeout(msg)
            return really()

        monkeypatch.setattr(stream, "_head", head)
        batch = stream.next(60)
        assert batch is not None
        assert batch.offsets == list(range(stream.position))
        with pytest.raises(RequestTimeout):
            stream.next(60)
