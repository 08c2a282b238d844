"""One client for all requests of a service."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from rocketmq_remoting.client import Client
from services.executor.runtime.rocketmq.shared_client import SharedClient


def test_first_requests_that_come_together_open_one_client() -> None:
    opened: list[Client] = []
    together = threading.Barrier(8, timeout=60)

    def connect() -> Client:
        # Long enough for all the others to be here as well.
        time.sleep(0.05)
        opened.append(Client("127.0.0.1:1"))
        return opened[-1]

    shared = SharedClient(connect)

    def ask() -> Client:
        together.wait()
        return shared.get()

    with ThreadPoolExecutor(8) as threads:
        got = list(threads.map(lambda _: ask(), range(8)))
    shared.close()
    assert len(opened) == 1
    assert got == opened * 8


def test_where_connecting_failed_the_next_request_connects() -> None:
    answers: list[OSError | Client] = [OSError("away"), Client("127.0.0.1:1")]

    def connect() -> Client:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    shared = SharedClient(connect)
    with pytest.raises(OSError, match="away"):
        shared.get()
    assert isinstance(shared.get(), Client)
    shared.close()
    SharedClient(connect).close()
