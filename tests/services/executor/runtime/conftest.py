"""A real position service, and tasks: in this process, or in one of their own that can be killed."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from rocketconnect.position.v1 import position_service_pb2 as wire
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub

from rocketconnect_kit.clock import boot_seconds
from rocketconnect_kit.tethered import tethered
from rocketconnect_sdk.plugins.loader import catalogue
from rocketmq_remoting.client import Client
from rocketmq_remoting.model import Message, MessageQueue
from rocketmq_remoting.pulls.stream import PullStream
from services.executor.contract.endpoints import Endpoints, RocketMQAccess
from services.executor.contract.metrics import TaskMetrics
from services.executor.contract.spans import Span
from services.executor.contract.stop_limits import EXECUTOR_SECONDS, StopLimits
from services.executor.contract.task import Kind, Outcome, State, TaskSpec
from services.executor.runtime.run import run_task
from services.executor.runtime.sink.buffered import loop as buffered
from services.executor.runtime.sink.spark.session import make_session
from services.executor.runtime.task import meter
from services.executor.runtime.task.control import TaskControl
from services.executor.runtime.task.lease import Lease
from tests import free_ports, stores
from tests.shared_rocketmq import RocketMQ

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
PLUGINS = HERE / "plugins"
OPEN = RocketMQAccess()


class PositionProcess:
    """The position service as a process on one store; can be stopped and started again on the same port."""

    def __init__(self, store: Path, port: int) -> None:
        self.store = store
        stores.prepare(store.parent)
        self._port = port
        self.address = f"127.0.0.1:{port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Unless it runs."""
        if self._process is not None:
            return
        read, write = os.pipe()
        words = ["--store-url", f"sqlite:///{self.store}", "--port", str(self._port), "--announce-fd", str(write)]
        self._process = subprocess.Popen(
            tethered([sys.executable, "-m", "services.position", *words]), pass_fds=[write], stderr=subprocess.DEVNULL
        )
        os.close(write)
        with os.fdopen(read) as pipe:
            assert json.loads(pipe.readline())["address"] == self.address

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def offsets(self, uid: str) -> dict[str, list[Any]]:
        """What it has stored of a connector, by partition."""
        import sqlite3

        with contextlib.closing(sqlite3.connect(self.store, timeout=60)) as store:
            rows = store.execute('SELECT partition, "offset" FROM position_positions WHERE connector_uid = ?', (uid,))
            return {partition: json.loads(offset) for partition, offset in rows}


@pytest.fixture(scope="session")
def position_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PositionProcess]:
    process = PositionProcess(tmp_path_factory.mktemp("position") / "position.db", free_ports.choose())
    yield process
    process.stop()


@pytest.fixture
def positions(position_process: PositionProcess) -> PositionProcess:
    """One for all, whose connectors have names of their own; it runs, whatever a test before has done."""
    position_process.start()
    return position_process


class RecordingReporter:
    """Keeps what a task says."""

    def __init__(self) -> None:
        self.metrics = TaskMetrics()
        self.states: list[tuple[State, str]] = []
        self.done: list[str] = []
        """What it did to begin."""
        self.logs: list[tuple[str, str]] = []
        self.spans: list[Span] = []
        self.has_work = False
        self.plans_asked = 0
        self._changed = threading.Condition()

    def state(self, state: State, trace: str = "") -> None:
        with self._changed:
            if not self.states or self.states[-1] != (state, trace):
                self.states.append((state, trace))
            self._changed.notify_all()

    def doing(self, what: str) -> None:
        self.done.append(what)

    def progress(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def work(self, has_work: bool) -> None:
        self.has_work = has_work

    def ask_for_plan(self) -> None:
        with self._changed:
            self.plans_asked += 1
            self._changed.notify_all()

    def log(self, level: str, message: str) -> None:
        self.logs.append((level, message))

    def span(self, span: Span) -> None:
        with self._changed:
            self.spans.append(span)
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[], object], seconds: float = 180.0) -> None:
        deadline = time.monotonic() + seconds
        with self._changed:
            while not condition():
                assert time.monotonic() < deadline, f"waited {seconds} s; {self.states[-5:]}, {self.metrics}, {self.logs[-5:]}"
                self._changed.wait(0.05)

    def wait_for_out(self, records: int, seconds: float = 180.0) -> None:
        self.wait_for(lambda: self.metrics.records_out >= records, seconds)

    def wait_for_state(self, state: State, seconds: float = 180.0) -> str:
        self.wait_for(lambda: self.states and self.states[-1][0] is state, seconds)
        return self.states[-1][1]


@dataclass
class Running:
    """A task that runs in a thread."""

    control: TaskControl
    lease: Lease
    reporter: RecordingReporter
    thread: threading.Thread
    outcomes: list[Outcome] = field(default_factory=list)

    def stop(self, seconds: float = 180.0) -> Outcome:
        self.control.stop()
        return self.end(seconds)

    def end(self, seconds: float = 180.0) -> Outcome:
        self.thread.join(seconds)
        assert not self.thread.is_alive(), f"still runs: {self.reporter.states[-3:]}"
        return self.outcomes[0]


@dataclass(frozen=True)
class Driver:
    """A Spark driver that has its session, or makes it when it is asked."""

    make: Callable[[], "SparkSession"]
    doing: str = "starting Spark"

    def session(self) -> "SparkSession":
        return self.make()


class Tasks:
    """Starts tasks of one test: topic, uids and names are its own."""

    def __init__(
        self, name_servers: str, position: str, tmp_path: Path, rocketmq: RocketMQAccess = OPEN, topic_type: str = "normal"
    ) -> None:
        self.name_servers = name_servers
        self.topic_type = topic_type
        self.rocketmq = rocketmq
        self.position = position
        self.path = tmp_path
        self.unique = uuid.uuid4().hex[:8]
        self.topic = f"t-{self.unique}"
        self.client = Client(
            name_servers, access_key=rocketmq.access_key or None, secret_key=rocketmq.secret_key or None, timeout=10
        )
        self._running: list[Running] = []
        self._processes: list[subprocess.Popen[bytes]] = []

    def create_topic(self, queues: int) -> None:
        """Makes the topic, of the type that the test is about."""
        self.client.create_topic(self.topic, queues=queues, topic_type=self.topic_type)

    def spec(
        self,
        kind: Kind,
        config: Mapping[str, str],
        epoch: int,
        task: int,
        tasks: int,
        name: str,
        generation: int,
        revision: int = 1,
    ) -> TaskSpec:
        kinds = {
            Kind.SOURCE: {"topic": self.topic, "topic.type": self.topic_type},
            Kind.SINK: {"topics": self.topic, "topic.type": self.topic_type, "engine": "native"},
            Kind.DIRECT: {},
        }
        name = name or kind.name.lower()
        uid = f"{name}-{self.unique}"
        return TaskSpec(kind, name, uid, revision, generation, task, epoch, tasks, {**kinds[kind], **config}, {})

    def start(
        self,
        kind: Kind,
        config: Mapping[str, str],
        *,
        epoch: int = 1,
        task: int = 0,
        tasks: int = 1,
        name: str = "",
        generation: int = 1,
        revision: int = 1,
        lease_seconds: float = 600.0,
        spark: "Callable[[], SparkSession] | None" = None,
        task_config: Mapping[str, str] | None = None,
        settled: bool = False,
        send_deadline: float = 0.2,
        stop_seconds: float = EXECUTOR_SECONDS,
        trace_records: float = 0.0,
    ) -> Running:
        spec = replace(self.spec(kind, config, epoch, task, tasks, name, generation, revision), settled=settled)
        if task_config:
            spec.task_config.update(task_config)  # type: ignore[attr-defined]
        control, lease, reporter = TaskControl(), Lease(), RecordingReporter()
        lease.renew(boot_seconds() + lease_seconds)
        outcomes: list[Outcome] = []
        endpoints = Endpoints(
            self.name_servers,
            self.position,
            send_deadline=send_deadline,
            rocketmq=self.rocketmq,
            limits=StopLimits.within(stop_seconds),
            trace_records=trace_records,
        )

        def run() -> None:
            outcomes.append(run_task(spec, control, lease, reporter, endpoints, spark=None if spark is None else Driver(spark)))

        thread = threading.Thread(target=run, daemon=True)
        running = Running(control, lease, reporter, thread, outcomes)
        self._running.append(running)
        thread.start()
        return running

    def confirm(self, kind: Kind, *, epoch: int, seconds: float) -> None:
        """As a worker does for its tasks while the cluster service is away."""
        fence = wire.TaskFence(connector_uid=f"{kind.name.lower()}-{self.unique}", task=0, generation=1, epoch=epoch)
        request = wire.ConfirmEpochsRequest(fences=[fence])
        request.lease.FromNanoseconds(int(seconds * 1e9))
        with grpc.insecure_channel(self.position) as channel:
            assert not PositionServiceStub(channel).ConfirmEpochs(request, timeout=60).fenced

    def spawn(
        self, kind: Kind, config: Mapping[str, str], *, epoch: int, task_config: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        spec = self.spec(kind, config, epoch, 0, 1, "", 1)
        order = {
            "kind": kind.name,
            "name": spec.connector,
            "uid": spec.connector_uid,
            "generation": spec.generation,
            "task": spec.task,
            "epoch": spec.epoch,
            "tasks": spec.tasks,
            "config": spec.config,
            "task_config": task_config or spec.task_config,
            "name_servers": self.name_servers,
            "position": self.position,
        }
        with (self.path / f"{kind.name}.log").open("ab") as log:
            process = subprocess.Popen(
                tethered([sys.executable, str(HERE / "tasks.py"), json.dumps(order)]),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PLUGINS), os.environ.get("PYTHONPATH", "")])},
            )
        self._processes.append(process)
        return process

    def file(self, name: str, lines: Sequence[str]) -> Path:
        path = self.path / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def messages(self, topic: str = "") -> list[tuple[int, str, dict[str, str]]]:
        """All of the topic: (queue, body, properties), in the order of each queue."""
        found = []
        for queue in self.client.queues(topic or self.topic):
            self.client.barrier(queue.broker)
            end = self.client.max_offset(queue)
            with PullStream(self.client, queue, self.client.min_offset(queue)) as stream:
                while stream.position < end:
                    for message in stream.next(5) or ():
                        found.append((queue.queue_id, message.body.decode(), dict(message.properties)))
        return found

    def bodies(self, topic: str = "") -> list[str]:
        return [body for _, body, _ in self.messages(topic)]

    def close(self) -> None:
        for running in self._running:
            running.control.fence()
        for running in self._running:
            running.thread.join(20)
        for process in self._processes:
            with contextlib.suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
            process.kill()
            process.wait()
        self.client.close()


@pytest.fixture(autouse=True)
def soon_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that has come to rest says so soon: by itself it waits for three seconds, which hundreds of tests would wait, too.

    A buffered sink is asked often what is durable.
    """
    monkeypatch.setattr(meter, "_MOVED_LATELY", 0.3)
    monkeypatch.setattr(buffered, "_SECONDS", 0.1)


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The connectors of these tests, found as those of other packages are; a process reads what there is only once."""
    monkeypatch.syspath_prepend(str(PLUGINS))
    catalogue.cache_clear()
    yield
    catalogue.cache_clear()


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """One for all: after a session has ended PySpark does not find the folder of the next one in the same process."""
    from pyspark.sql import SparkSession

    others = SparkSession.getActiveSession()
    session = make_session({"spark.master": "local[2]"})
    yield session
    if others is None:
        session.stop()


TOPIC_TYPES = pytest.mark.parametrize("tasks", ["normal", pytest.param("batch", marks=pytest.mark.slow)], indirect=True)
"""For tests about what the messages of both types of topics have to do alike."""

BATCH_TOPIC = pytest.mark.parametrize("tasks", ["batch", pytest.param("normal", marks=pytest.mark.slow)], indirect=True)
"""For tests about what is more on a topic of batches."""


@pytest.fixture
def tasks(
    rocketmq: RocketMQ, positions: PositionProcess, tmp_path: Path, plugins: None, request: pytest.FixtureRequest
) -> Iterator[Tasks]:
    made = Tasks(rocketmq.name_server, positions.address, tmp_path, topic_type=getattr(request, "param", "normal"))
    yield made
    made.close()


def rows(path: Path) -> list[Any]:
    """The values in an SQLite file of the test sink, in the order in which they were written."""
    import sqlite3

    if not path.exists():
        return []
    with contextlib.closing(sqlite3.connect(path, timeout=20)) as db:
        try:
            return [value for (value,) in db.execute("SELECT value FROM rows ORDER BY id")]
        except sqlite3.OperationalError:
            return []


def produce(tasks: Tasks, bodies: Sequence[str], queue: int = 0, properties: dict[str, str] | None = None) -> MessageQueue:
    """Messages of a producer that is no connector."""
    if not tasks.client.topic_exists(tasks.topic):
        tasks.create_topic(2)
    target = tasks.client.queues(tasks.topic)[queue]
    tasks.client.send_batch(target, [Message(body.encode(), properties=properties or {}) for body in bodies], 10)
    return target


def values(count: int, start: int = 0) -> list[str]:
    return [f"value {number}" for number in range(start, start + count)]


def notes(file: Path, kind: str) -> list[str]:
    """What the test source has noted beside a file: see Lines."""
    path = file.with_suffix(f".{kind}")
    return path.read_text().splitlines() if path.exists() else []
