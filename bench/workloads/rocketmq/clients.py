"""Our client beside librocketmq of rocketmq-client-python: the same messages sent and read, each way in a process of its own."""

import multiprocessing
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.measuring.instance import LIMIT_SECONDS, folder
from bench.systems.moved import Content
from bench.workload import BenchFailed, Options, Sample, Workload
from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketmq_remoting import Client, Message, PullStream, encode_batch

ROWS = 20_000
BATCH = 500
THREADS = 8
SIZE = 100
_WARMING = 200
"""So many messages go before what is measured: the first ones connect."""
_WARM = b"warming"


@dataclass(frozen=True, slots=True)
class Took:
    """What a way took: seconds by the clock, seconds of its process, and what it read, where it reads."""

    seconds: float
    cpu_seconds: float
    first_seconds: float = 0.0
    content: Content | None = None


def run(options: Options) -> Iterator[Sample]:
    """Every way, in turns."""
    rows = options.rows or ROWS
    with folder() as place, _rocketmq(place) as name_server, Client(name_server, timeout=LIMIT_SECONDS) as client:
        wanted = Content.of(_bodies(rows))
        for _ in range(options.repeats):
            for case, way in SENDING.items():
                topic = _topic(client)
                took = _apart(place, way, name_server, topic, rows)
                _compare(case, Content.of(_read(client, topic, rows)), wanted)
                yield Sample(case, _figures(took, rows))
            for case, way in READING.items():
                topic = _topic(client)
                _fill(client, topic, rows)
                took = _apart(place, way, name_server, topic, rows)
                _compare(case, took.content, wanted)
                yield Sample(case, {**_figures(took, rows), "first_ms": took.first_seconds * 1e3})


def _ours_sends(name_server: str, topic: str, rows: int) -> Took:
    with Client(name_server, timeout=LIMIT_SECONDS) as client:
        (queue,) = client.queues(topic, writable=True)
        return _timed(lambda body: client.send(queue, Message(body)), rows)


def _ours_sends_batches(name_server: str, topic: str, rows: int) -> Took:
    with Client(name_server, timeout=LIMIT_SECONDS) as client:
        (queue,) = client.queues(topic, writable=True)
        client.send_batch(queue, encode_batch(list(_warming())))
        began, cpu = time.perf_counter(), time.process_time()
        for bodies in _in_batches(rows):
            client.send_batch(queue, encode_batch(bodies))
        return Took(time.perf_counter() - began, time.process_time() - cpu)


def _native_sends(name_server: str, topic: str, rows: int) -> Took:
    from rocketmq_native import Producer

    with Producer(name_server, timeout=LIMIT_SECONDS) as producer:
        return _timed(lambda body: producer.send(topic, Message(body)), rows)


def _ours_reads(name_server: str, topic: str, rows: int) -> Took:
    with Client(name_server, timeout=LIMIT_SECONDS) as client:
        began, cpu, found, first = time.perf_counter(), time.process_time(), list[bytes](), 0.0
        for body in _read(client, topic, rows):
            first = first or time.perf_counter()
            found.append(body)
        return Took(time.perf_counter() - first, time.process_time() - cpu, first - began, Content.of(found))


def _native_reads(name_server: str, topic: str, rows: int) -> Took:
    from rocketmq_native import PushConsumer, Received

    found, times, done = list[bytes](), list[float](), threading.Event()

    def handle(message: Received) -> None:
        times.append(time.perf_counter())
        found.append(message.body)
        if len(found) == rows:
            done.set()

    began, cpu = time.perf_counter(), time.process_time()
    with PushConsumer(name_server, f"g_{topic}", topic, handle, threads=THREADS):
        if not done.wait(LIMIT_SECONDS):
            msg = f"librocketmq has given {len(found):,} messages of {rows:,}"
            raise BenchFailed(msg)
        used = time.process_time() - cpu
    # What came again since is part of it.
    return Took(max(times) - min(times), used, min(times) - began, Content.of(found))


_Way = Callable[[str, str, int], Took]
SENDING: Mapping[str, _Way] = {
    "ours sends one by one": _ours_sends,
    "librocketmq sends one by one": _native_sends,
    f"ours sends {BATCH} at once": _ours_sends_batches,
}
READING: Mapping[str, _Way] = {
    "ours reads": _ours_reads,
    f"librocketmq pushes to {THREADS} threads": _native_reads,
}


def _apart(home: Path, way: _Way, name_server: str, topic: str, rows: int) -> Took:
    """In a process of its own: librocketmq has logs at home, and threads."""
    with multiprocessing.get_context("spawn").Pool(1, _live_at, (home,)) as pool:
        return pool.apply(way, (name_server, topic, rows))


def _live_at(home: Path) -> None:
    os.environ["HOME"] = str(home)


def _timed(send: Callable[[bytes], object], rows: int) -> Took:
    for body in _warming():
        send(body)
    began, cpu = time.perf_counter(), time.process_time()
    for body in _bodies(rows):
        send(body)
    return Took(time.perf_counter() - began, time.process_time() - cpu)


def _bodies(rows: int) -> Iterator[bytes]:
    # With a zero byte: nothing of it may be cut.
    return (b"%010d\0" % number + b"x" * (SIZE - 11) for number in range(rows))


def _warming() -> Iterator[bytes]:
    return (_WARM for _ in range(_WARMING))


def _in_batches(rows: int) -> Iterator[Sequence[bytes]]:
    bodies = list(_bodies(rows))
    return (bodies[start : start + BATCH] for start in range(0, rows, BATCH))


def _topic(client: Client) -> str:
    topic = f"clients_{uuid.uuid4().hex[:12]}"
    client.create_topic(topic, queues=1)
    return topic


def _fill(client: Client, topic: str, rows: int) -> None:
    (queue,) = client.queues(topic, writable=True)
    for bodies in _in_batches(rows):
        client.send_batch(queue, encode_batch(bodies))
    client.barrier(queue.broker, LIMIT_SECONDS)


def _read(client: Client, topic: str, rows: int) -> Iterator[bytes]:
    """What a topic has but for what was sent to warm up, read until its end and at least so many."""
    (queue,) = client.queues(topic)
    client.barrier(queue.broker, LIMIT_SECONDS)
    end, deadline = client.max_offset(queue), time.monotonic() + LIMIT_SECONDS
    with PullStream(client, queue, 0) as stream:
        while stream.position < end:
            if time.monotonic() > deadline:
                msg = f"{topic} was read up to {stream.position:,} of {end:,} messages; {rows:,} were wanted"
                raise BenchFailed(msg)
            batch = stream.next(1.0)
            yield from (bytes(body) for body in (batch.bodies if batch is not None else ()) if body != _WARM)


def _compare(case: str, found: Content | None, wanted: Content) -> None:
    if found != wanted:
        msg = f"{case}: {found} and not {wanted}"
        raise BenchFailed(msg)


def _figures(took: Took, rows: int) -> Mapping[str, float]:
    return {"messages_per_s": rows / took.seconds, "cpu_us": took.cpu_seconds / rows * 1e6}


@contextmanager
def _rocketmq(place: Path) -> Iterator[str]:
    server = EmbeddedRocketMQ(place / "rocketmq")
    server.start()
    try:
        yield server.name_server
    finally:
        server.kill()


WORKLOAD = Workload(
    f"Messages of {SIZE} bytes by our client and by librocketmq of rocketmq-client-python, one queue",
    run,
    ("messages_per_s", "cpu_us", "first_ms"),
    ("messages_per_s",),
    usual=False,
)
