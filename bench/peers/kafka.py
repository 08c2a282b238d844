"""Kafka Connect on a single Kafka node, from its jars, with the heaps and flags of Kafka's own start scripts."""

import base64
import subprocess
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench.peers.kafka_jars import KAFKA
from bench.workload import BenchFailed
from rocketconnect_cli.embedded import ports, probe
from rocketconnect_kit.java import jars
from rocketconnect_kit.java.find import find_java
from rocketconnect_kit.tethered import tethered

START_SECONDS = 300.0
POLL_SECONDS = 0.1
_G1 = ["-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35", "-Djava.awt.headless=true"]
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_BROKER_HEAP = ["-Xmx1G", "-Xms1G"]
_WORKER_HEAP = ["-Xms256M", "-Xmx2G"]
_FILES = "org.apache.kafka.connect.file.FileStream"


@dataclass(frozen=True, slots=True)
class KafkaConnect:
    """A running worker and its broker.

    Attributes:
        rest: Its REST API.
        roots: The processes of both.
    """

    rest: httpx.Client
    roots: Collection[int]

    def create(self, name: str, config: Mapping[str, str]) -> None:
        """Creates a connector with one task."""
        self.rest.post("/connectors", json={"name": name, "config": {"name": name, "tasks.max": "1", **config}}).raise_for_status()

    def create_running(self, name: str, config: Mapping[str, str]) -> None:
        """Creates a connector and waits until its task runs.

        Raises:
            BenchFailed: it does not.
        """
        self.create(name, config)
        _until(lambda: self._runs(name), f"{name} does not run: {self.rest.get(f'/connectors/{name}/status').text}")

    def delete(self, *names: str) -> None:
        """Deletes connectors."""
        for name in names:
            self.rest.delete(f"/connectors/{name}").raise_for_status()

    def _runs(self, name: str) -> bool:
        answer = self.rest.get(f"/connectors/{name}/status")
        return answer.is_success and [task["state"] for task in answer.json()["tasks"]] == ["RUNNING"]


def source_config(file: Path, topic: str) -> dict[str, str]:
    """Lines of a file to a topic."""
    return {"connector.class": f"{_FILES}SourceConnector", "file": str(file), "topic": topic}


def sink_config(file: Path, topic: str) -> dict[str, str]:
    """A topic to lines of a file, from the topic's beginning."""
    return {"connector.class": f"{_FILES}SinkConnector", "file": str(file), "topics": topic}


@contextmanager
def kafka_connect(folder: Path) -> Iterator[KafkaConnect]:
    """A broker with one partition a topic and a standalone worker, both with their defaults, until the end of the block.

    Raises:
        BenchFailed: one of them does not start.
        JarsUnavailable: the jars could not be downloaded.
    """
    kafka = jars.jars_of(KAFKA)
    broker, controller, rest = (ports.choose() for _ in range(3))
    server = _write(folder / "server.properties", _server(broker, controller, folder / "kafka"))
    worker = _write(folder / "worker.properties", _worker(broker, rest, folder / "connect.offsets"))
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    command = _java(kafka, _BROKER_HEAP, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(server))
    done = subprocess.run(command, capture_output=True, text=True, timeout=START_SECONDS, check=False)
    if done.returncode:
        msg = f"Kafka's storage could not be formatted: {done.stdout}{done.stderr}"
        raise BenchFailed(msg)
    with (
        _running(
            _java(kafka, _BROKER_HEAP, "kafka.Kafka", str(server)), folder / "kafka.log", lambda: probe.listens(broker, 1.0)
        ) as first,
        _running(
            _java(kafka, _WORKER_HEAP, "org.apache.kafka.connect.cli.ConnectStandalone", str(worker)),
            folder / "connect.log",
            lambda: _answers(rest),
        ) as second,
        httpx.Client(base_url=f"http://127.0.0.1:{rest}", timeout=30.0) as client,
    ):
        yield KafkaConnect(client, (first, second))


def _server(port: int, controller: int, data: Path) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "log.dirs": str(data),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
    }


def _worker(broker: int, rest: int, offsets: Path) -> dict[str, str]:
    converter = "org.apache.kafka.connect.storage.StringConverter"
    return {
        "bootstrap.servers": f"127.0.0.1:{broker}",
        "listeners": f"http://127.0.0.1:{rest}",
        "key.converter": converter,
        "value.converter": converter,
        "offset.storage.file.filename": str(offsets),
    }


def _java(kafka: Path, heap: list[str], main: str, *arguments: str) -> list[str]:
    return [str(find_java()), *heap, *_G1, _QUIET, "-cp", f"{kafka}/*", main, *arguments]


def _write(path: Path, properties: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")
    return path


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/", timeout=1.0).is_success
    except httpx.TransportError:
        return False


@contextmanager
def _running(command: list[str], log: Path, ready: Callable[[], bool]) -> Iterator[int]:
    with log.open("wb") as output, subprocess.Popen(tethered(command), stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            _until(lambda: process.poll() is not None or ready(), f"{log.name}: no answer within {START_SECONDS:g} s")
            if process.poll() is not None:
                msg = f"{log.name}: it ended: {log.read_text(errors='replace')[-2000:]}"
                raise BenchFailed(msg)
            yield process.pid
        finally:
            process.kill()


def _until(done: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not done():
        if time.monotonic() > deadline:
            raise BenchFailed(otherwise)
        time.sleep(POLL_SECONDS)
