"""The library of rocketmq-client-python in a process, told what to do."""

import base64
import json
import os
import queue
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rocketmq_remoting import Client, MessageQueue
from tests.shared_rocketmq import RocketMQ

ROOT = Path(__file__).parents[2]
_SECONDS = 60.0


class Peer:
    """The process.

    Args:
        process: Of `tests.rocketmq_native.peer`.
        log: What it writes to its standard error.
    """

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def ask(self, **command: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self.next()

    def send(self, topic: str, body: bytes, *, sharding_key: str | None = None, **message: Any) -> dict[str, Any]:
        message["body"] = base64.b64encode(body).decode()
        return self.ask(do="send", topic=topic, sharding_key=sharding_key, message=message)

    def next(self) -> dict[str, Any]:
        try:
            return self._answers.get(timeout=_SECONDS)
        except queue.Empty:
            pytest.fail(f"it says nothing; its log: {self.log}")

    def received(self, count: int) -> list[dict[str, Any]]:
        found = [self.next() for _ in range(count)]
        for each in found:
            each["body"] = base64.b64decode(each["body"])
        return found

    def wait(self) -> None:
        self._process.wait(_SECONDS)

    def end(self) -> int:
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait(_SECONDS)

    def leave(self) -> None:
        """Nothing of it is left; it was killed, or has ended."""
        self._reader.join(_SECONDS)
        # Closes its pipes.
        with self._process:
            pass

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(json.loads(line))


@contextmanager
def peer_of(name_server: str, folder: Path, *user: str, ends: int = 0) -> Iterator[Peer]:
    """A peer of a cluster, ended with the block; how is looked at."""
    log = folder / "log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.rocketmq_native.peer", name_server, *user],
            cwd=ROOT,
            env={**os.environ, "HOME": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    peer = Peer(process, log)
    try:
        yield peer
        assert peer.end() == ends, peer.log
    finally:
        process.kill()
        peer.leave()


@pytest.fixture(scope="module")
def peer(rocketmq: RocketMQ, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """One of the session's broker."""
    with peer_of(rocketmq.name_server, tmp_path_factory.mktemp("native")) as made:
        yield made


@pytest.fixture(scope="session")
def client(rocketmq: RocketMQ) -> Iterator[Client]:
    """Our own client of the session's broker."""
    with Client(rocketmq.name_server, timeout=10) as made:
        yield made


TopicMaker = Callable[..., Sequence[MessageQueue]]


@pytest.fixture
def new_topic(client: Client) -> TopicMaker:
    """Create a topic of this test's own; returns its queues."""

    def make(queues: int = 1, topic_type: str = "normal") -> Sequence[MessageQueue]:
        topic = f"native_{uuid.uuid4().hex}"
        client.create_topic(topic, queues=queues, topic_type=topic_type)
        return client.queues(topic, writable=True)

    return make
