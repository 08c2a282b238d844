"""The broker is killed and comes back, and the client goes on: what was confirmed is there, in order."""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketmq_remoting import (
    Client,
    ConnectionLost,
    OutcomeUnknown,
    PullStream,
    RequestRejected,
    RetriableError,
    encode_batch,
)

pytestmark = pytest.mark.rocketmq


def test_a_killed_broker_that_comes_back_costs_no_confirmed_message(
    rocketmq_factory: Callable[[Mapping[str, str]], EmbeddedRocketMQ],
) -> None:
    server = rocketmq_factory({})
    enough = threading.Event()
    unknown: set[int] = set()
    errors: list[Exception] = []
    with Client(server.name_server, timeout=5) as client:
        client.create_topic("restarted", queues=1)
        (queue,) = client.queues("restarted", writable=True)
        sent = 0

        def send() -> None:
            nonlocal sent
            while not enough.is_set():
                batch = encode_batch([b"%d" % number for number in range(sent, sent + 50)])
                try:
                    client.send_batch(queue, batch, 2)
                except RequestRejected as error:
                    errors.append(error)
                    time.sleep(0.1)
                except OutcomeUnknown as error:
                    unknown.update(range(sent, sent + 50))
                    errors.append(error)
                else:
                    sent += 50

        found: list[int] = []

        def read(stream: PullStream) -> None:
            try:
                batch = stream.next(1)
            except RetriableError as error:
                errors.append(error)
                time.sleep(0.1)
            else:
                found.extend(map(int, batch.bodies) if batch is not None else ())

        sender = threading.Thread(target=send)
        sender.start()
        with PullStream(client, queue, 0) as stream:
            while len(found) < 2000:
                read(stream)
            server.processes["broker"].kill()
            for _ in range(3):
                read(stream)
            server.stop()
            server.start()
            before = sent
            deadline = time.monotonic() + 60
            while sent < before + 2000 and time.monotonic() < deadline:
                read(stream)
            enough.set()
            sender.join()
            client.barrier(queue.broker, 10)
            while stream.position < client.max_offset(queue):
                read(stream)
    assert sent >= before + 2000
    assert any(isinstance(error, ConnectionLost) for error in errors)
    once = [number for index, number in enumerate(found) if number not in found[max(0, index - 100) : index]]
    assert once == list(range(len(once)))
    assert len(once) >= sent
    assert {number for number in found if found.count(number) > 1 and number > 0} <= unknown


@pytest.mark.slow
def test_a_refused_send_is_tried_again_until_the_broker_is_back(
    rocketmq_factory: Callable[[Mapping[str, str]], EmbeddedRocketMQ],
) -> None:
    server = rocketmq_factory({})
    with Client(server.name_server, timeout=5) as client:
        client.create_topic("refused", queues=1)
        (queue,) = client.queues("refused", writable=True)
        server.stop()
        began = time.monotonic()
        with pytest.raises(RequestRejected):
            client.send_batch(queue, encode_batch([b"a"]), 1)
        assert time.monotonic() - began > 0.3
        # A broker that is starting may also take a request and then drop the connection: hence `retry`.
        with ThreadPoolExecutor(1) as thread:
            sending = thread.submit(client.send_batch, queue, encode_batch([b"b"]), 60, retry=True)
            server.start()
            receipt = sending.result()
        assert client.pull(queue, receipt.queue_offset, suspend=5).batch.bodies[0] == b"b"
        assert set(client.pull(queue, 0).batch.bodies) == {b"b"}
