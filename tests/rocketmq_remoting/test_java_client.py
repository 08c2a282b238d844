"""Crosswise with RocketMQ's own Java client: what one sends the other reads."""

import base64
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocketconnect_kit.java.find import find_javac
from rocketmq_remoting import Client, Compression, Message, MessageQueue, PullStream
from tests.shared_rocketmq import RocketMQ

pytestmark = pytest.mark.rocketmq

TopicMaker = Callable[..., list[MessageQueue]]
SOURCE = Path(__file__).parent / "java" / "JavaPeer.java"
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""It lives for seconds."""


@dataclass(frozen=True)
class JavaMessage:
    offset: int
    body: bytes
    tags: str
    keys: str
    own: str


@dataclass(frozen=True)
class JavaPeer:
    """The Java program, compiled, and the Java that runs it."""

    java: Path
    classes: Path
    rocketmq: RocketMQ

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [
                str(self.java),
                *QUICK,
                f"-Duser.home={self.classes}",
                "-Dfile.encoding=UTF-8",
                "-Drocketmq.client.logRoot=" + str(self.classes),
                "-cp",
                f"{self.classes}:{self.rocketmq.jars}/*",
                "JavaPeer",
                *arguments,
            ],
            env={**os.environ, "ROCKETMQ_HOME": str(self.classes)},
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def send(self, topic: str) -> None:
        self.run("send", self.rocketmq.name_server, topic)

    def receive(self, topic: str, count: int) -> list[JavaMessage]:
        lines = self.run("receive", self.rocketmq.name_server, topic, str(count)).splitlines()
        received = []
        for line in lines:
            if line.startswith("MESSAGE "):
                _, offset, *encoded = line.split(" ")
                body, tags, keys, own = (base64.b64decode(text[1:-1]) for text in encoded)
                received.append(JavaMessage(int(offset), body, tags.decode(), keys.decode(), own.decode()))
        return sorted(received, key=lambda message: message.offset)


@pytest.fixture(scope="session")
def java(rocketmq: RocketMQ, tmp_path_factory: pytest.TempPathFactory) -> JavaPeer:
    classes = tmp_path_factory.mktemp("java")
    javac = find_javac().resolve()
    subprocess.run(
        [str(javac), "-encoding", "UTF-8", "-cp", f"{rocketmq.jars}/*", "-d", str(classes), str(SOURCE)],
        check=True,
        timeout=120,
        capture_output=True,
    )
    # Of the same installation: an older one does not run what a newer one has compiled.
    return JavaPeer(javac.with_name("java"), classes, rocketmq)


@pytest.mark.slow
@pytest.mark.parametrize("topic_type", ["normal", "batch"])
def test_what_the_java_client_sends_is_read(client: Client, new_topic: TopicMaker, java: JavaPeer, topic_type: str) -> None:
    (queue,) = new_topic(topic_type=topic_type)
    java.send(queue.topic)
    client.barrier(queue.broker)
    messages = []
    with PullStream(client, queue, 0) as stream:
        while stream.position < 100:
            batch = stream.next(10)
            assert batch is not None
            messages += batch.messages()
    assert [message.queue_offset for message in messages] == list(range(100))
    assert messages[0].body.decode() == "größe"
    assert [message.body.decode() for message in messages[1:4]] == [f"long ä{n}" * 1000 for n in (1, 2, 3)]
    assert [message.body for message in messages[4:]] == [b"batched %d" % number for number in range(4, 100)]
    # The compressed ones did come compressed: one for each type.
    assert sorted((message.sys_flag >> 8) & 7 for message in messages[1:4]) == [1, 2, 3]
    for number, message in enumerate(messages):
        assert (message.tags, message.keys) == (f"tag{number}", f"key{number} other")
        assert message.properties["own"] == f"wert ß {number}"


@pytest.mark.parametrize("topic_type", ["normal", pytest.param("batch", marks=pytest.mark.slow)])
def test_what_is_sent_the_java_client_reads(client: Client, new_topic: TopicMaker, java: JavaPeer, topic_type: str) -> None:
    (queue,) = new_topic(topic_type=topic_type)

    def message(number: int, body: str, compression: Compression | None = None) -> Message:
        return Message(
            body.encode(),
            tags=f"tag{number}",
            keys=f"key{number} other",
            properties={"own": f"wert ß {number}", "own2": "x"},
            compression=compression,
        )

    sent = [message(0, "größe")]
    sent += [message(number, "long ä" * 1000, kind) for number, kind in enumerate(Compression, start=1)]
    batch = [message(number, f"batched {number}") for number in range(4, 600)]
    for one in sent:
        client.send(queue, one)
    client.send_batch(queue, batch)
    count = 600
    if topic_type == "normal":
        compressed = [message(number, "long ä" * 100, Compression.LZ4) for number in range(600, 610)]
        client.send_batch(queue, compressed)
        batch += compressed
        count = 610
    received = java.receive(queue.topic, count)
    assert received == [
        JavaMessage(
            number,
            one.body,
            f"tag{number}",
            f"key{number} other",
            f"own=wert ß {number}\nown2=x\n",
        )
        for number, one in enumerate(sent + batch)
    ]
