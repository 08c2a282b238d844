"""Requests come into a topic and go out of it through a real executor, while that is killed."""

import http.client
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests import free_ports
from tests.connectors.http.receiver import Receiver
from tests.connectors.http.sender import post
from tests.services.executor.system import System

pytestmark = [pytest.mark.rocketmq, pytest.mark.e2e, pytest.mark.slow]
_CLIENTS = 4


class Sender(threading.Thread):
    """A client that sends one text after the other, each until it is told that it is stored."""

    def __init__(self, name: str, ports: list[int]) -> None:
        super().__init__(daemon=True)
        self.client, self.ports = name, ports
        self.stored: list[str] = []
        self.again = 0
        self.ends = threading.Event()

    def run(self) -> None:
        while not self.ends.is_set():
            text = f"{self.client} {len(self.stored)}"
            while not self._send(text):
                self.again += 1
                time.sleep(0.05)
            self.stored.append(text)

    def _send(self, text: str) -> bool:
        # As a balancer finds the one that listens.
        for port in self.ports:
            try:
                if post(port, text.encode(), headers={"X-Client": self.client})[0] == 200:
                    return True
            except (OSError, http.client.HTTPException):
                continue
        return False


def test_what_was_answered_is_sent_on_though_hosts_and_executors_are_killed(system: System, tmp_path: Path) -> None:
    system.start("worker-1")
    topic, port = f"hooks-{os.getpid()}-{time.time_ns()}", free_ports.choose()
    form = {"value_converter": "string"}
    with Receiver().running() as receiver:

        def arrived() -> dict[str, list[str]]:
            """By client what came, in the order in which each came first."""
            found: dict[str, list[str]] = {}
            for text in dict.fromkeys(sent.body.decode() for sent in list(receiver.seen)):
                found.setdefault(text.partition(" ")[0], []).append(text)
            return found

        listen = {"listen": f"127.0.0.1:{port}", "value_format": "text", "key": "${header.X-Client}"}
        system.create("hooks", connector_class="webhook_source", topic=topic, **listen, **form)
        identity = {"idempotency_header": "X-Id", "content_type": "text/plain"}
        system.create("sends", connector_class="http_sink", topics=topic, url=f"{receiver.url}/in", **identity, **form)
        senders = [Sender(f"c{number}", [port]) for number in range(_CLIENTS)]
        for sender in senders:
            sender.start()
        system.until(lambda: len(receiver.seen) > 50)
        for task in ("hooks/0", "sends/0"):
            os.kill(system.host_of("worker-1", task), signal.SIGKILL)
            seen = len(receiver.seen)
            system.until(lambda seen=seen: len(receiver.seen) > seen + 50)  # type: ignore[misc]
        system.start("worker-2")
        system.kill("worker-1")
        seen = len(receiver.seen)
        system.until(lambda: len(receiver.seen) > seen + 50)
        for sender in senders:
            sender.ends.set()
        for sender in senders:
            sender.join(60)
            assert not sender.is_alive()
        system.until(lambda: all(len(arrived().get(each.client, ())) >= len(each.stored) for each in senders))
        assert arrived() == {sender.client: sender.stored for sender in senders}
        # A server that looks at the names of records has each of them once, but for what was sent again to us.
        by_name = {sent.headers["x-id"]: sent.body for sent in receiver.seen}
        assert len(by_name) <= sum(len(sender.stored) + sender.again for sender in senders)
        assert sum(sender.again for sender in senders) > 0
