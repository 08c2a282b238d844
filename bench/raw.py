"""How fast can this broker be: bare send and pull of the same messages at once, with nothing else in the way.

Two processes, one that sends (one batch under way for each queue, as order demands) and one that pulls. With any broker:
`python -m bench.raw --name-server HOST:PORT`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import uuid
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocketmq_remoting import Client, EncodedBatch, MessageQueue, PullStream, encode_batch

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier

BATCH_MESSAGES = 500
QUEUES = 4
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class RawLimit:
    """What was measured.

    Attributes:
        messages: how many were sent and pulled.
        size: bytes in the body of each.
        topic_type: `normal` or `batch`.
        sent_per_second: messages confirmed, by the sender's clock.
        pulled_per_second: messages decoded, from the common start to the last one.
        sender_cpu_us: processor time of the sending process for each message, microseconds.
        puller_cpu_us: the same for the pulling process.
    """

    messages: int
    size: int
    topic_type: str
    sent_per_second: float
    pulled_per_second: float
    sender_cpu_us: float
    puller_cpu_us: float

    def __str__(self) -> str:
        """Return one line for people."""
        return (
            f"{self.topic_type} topic, {self.messages:,} messages of {self.size} bytes, sent and pulled at once: "
            f"{self.sent_per_second:,.0f}/s sent ({self.sender_cpu_us:.2f} us of CPU each), "
            f"{self.pulled_per_second:,.0f}/s pulled ({self.puller_cpu_us:.2f} us of CPU each)"
        )


def raw_limit(
    name_server: str,
    *,
    messages: int,
    size: int,
    topic_type: str,
    queues: int = QUEUES,
    batch_messages: int = BATCH_MESSAGES,
) -> RawLimit:
    """Send and pull so many messages at once on a topic made for it (and deleted after), and measure both.

    Args:
        name_server: `host:port`.
        messages: how many; rounded down to whole batches.
        size: bytes in the body of each.
        topic_type: `normal` or `batch`.
        queues: how many queues, so many batches are under way.
        batch_messages: messages in a batch.

    Raises:
        RuntimeError: one of the processes failed; its own output says why.
    """
    batches = messages // batch_messages
    messages = batches * batch_messages
    topic = f"raw_limit_{uuid.uuid4().hex[:12]}"
    context = multiprocessing.get_context("spawn")
    with Client(name_server) as client, context.Pool(2) as pool, context.Manager() as manager:
        client.create_topic(topic, queues=queues, topic_type=topic_type)
        try:
            start = manager.Barrier(2)
            sending = pool.apply_async(_send, (name_server, topic, start, batches, batch_messages, size))
            pulling = pool.apply_async(_pull, (name_server, topic, start, messages))
            sent_seconds, sender_cpu = sending.get()
            pulled_seconds, puller_cpu = pulling.get()
        finally:
            client.delete_topic(topic)
    return RawLimit(
        messages=messages,
        size=size,
        topic_type=topic_type,
        sent_per_second=messages / sent_seconds,
        pulled_per_second=messages / pulled_seconds,
        sender_cpu_us=sender_cpu / messages * 1e6,
        puller_cpu_us=puller_cpu / messages * 1e6,
    )


def _send(name_server: str, topic: str, start: Barrier, batches: int, batch_messages: int, size: int) -> tuple[float, float]:
    bodies = [f"{number:0{size}d}".encode()[:size] for number in range(batch_messages)]
    with Client(name_server, timeout=_PATIENCE) as client:
        queues = client.queues(topic, writable=True)
        start.wait(_PATIENCE)
        began, cpu = time.perf_counter(), time.process_time()
        under_way = deque((queue, client.send_batch_async(queue, _batch(bodies))) for queue in queues[:batches])
        for _ in range(batches - len(under_way)):
            queue, receipt = under_way.popleft()
            batch = _batch(bodies)
            receipt.result()
            under_way.append((queue, client.send_batch_async(queue, batch)))
        for _queue, receipt in under_way:
            receipt.result()
        return time.perf_counter() - began, time.process_time() - cpu


def _batch(bodies: list[bytes]) -> EncodedBatch:
    """Encode anew for each send: that is part of what sending costs."""
    return encode_batch(bodies, b"k\x01v\x02")


def _pull(name_server: str, topic: str, start: Barrier, messages: int) -> tuple[float, float]:
    with Client(name_server) as client, ExitStack() as open_streams:
        queues: list[MessageQueue] = client.queues(topic)
        streams = [open_streams.enter_context(PullStream(client, queue, 0)) for queue in queues]
        start.wait(_PATIENCE)
        began, cpu = time.perf_counter(), time.process_time()
        left = messages
        deadline = time.monotonic() + _PATIENCE
        while left:
            if time.monotonic() > deadline:
                message = f"{left} of {messages} messages did not come within {_PATIENCE} s"
                raise RuntimeError(message)
            for stream in streams:
                batch = stream.next(0.01)
                left -= 0 if batch is None else len(batch)
        return time.perf_counter() - began, time.process_time() - cpu


def main() -> None:
    """Measure an ordinary topic and a batch topic and print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name-server", required=True, help="host:port")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=100, help="bytes in a body")
    parser.add_argument("--topic-type", choices=("normal", "batch", "both"), default="both")
    parser.add_argument("--batch-messages", type=int, default=BATCH_MESSAGES)
    options = parser.parse_args()
    for topic_type in ("normal", "batch") if options.topic_type == "both" else (options.topic_type,):
        print(
            raw_limit(
                options.name_server,
                messages=options.messages,
                size=options.size,
                topic_type=topic_type,
                batch_messages=options.batch_messages,
            )
        )


if __name__ == "__main__":
    main()
