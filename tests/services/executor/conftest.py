"""A control plane that tests can order about, and executors as real processes against it.

The plane answers over real gRPC, in this process: tests say which assignment the executor gets and when, take its session away, or
fall silent. What the real services do with an executor is tested in test_system.py.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from google.protobuf.duration_pb2 import Duration
from grpc_status import rpc_status
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1 import cluster_service_pb2_grpc as cluster_rpc
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.config.v1 import config_service_pb2_grpc as config_rpc
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.executor.v1 import executor_service_pb2_grpc as executor_rpc
from rocketconnect.position.v1 import position_service_pb2 as positions
from rocketconnect.position.v1 import position_service_pb2_grpc as position_rpc
from rocketconnect.state.v1 import state_service_pb2 as states
from rocketconnect.state.v1 import state_service_pb2_grpc as state_rpc

from rocketconnect_kit.errors import FailedPrecondition
from rocketconnect_kit.serving.status import encode
from rocketconnect_kit.tethered import tethered
from tests.services.executor.system import STORES, System

PLUGINS = Path(__file__).parent / "plugins"
Context = grpc.ServicerContext


class Plane(
    cluster_rpc.ClusterServiceServicer,
    position_rpc.PositionServiceServicer,
    state_rpc.StateServiceServicer,
    config_rpc.ConfigServiceServicer,
):
    """Cluster, position, state and config service in one, as far as an executor speaks to them."""

    def __init__(self, lease: float) -> None:
        self.lease = lease
        self.session = 0
        self.silent = threading.Event()
        self.deaf = threading.Event()
        self.registrations: list[cluster.RegisterWorkerRequest] = []
        self.offers: list[cluster.OfferPluginsRequest] = []
        self.heartbeats: list[float] = []
        self.answer_after = 0.0
        self.confirms = threading.Event()
        self.confirmed: list[positions.ConfirmEpochsRequest] = []
        self.fenced: set[tuple[str, int]] = set()
        self.opened_generation = 0
        self.left: list[int] = []
        self.releases: list[cluster.ReleaseAssignmentRequest] = []
        self.plans: list[cluster.ReportPlanRequest] = []
        self.plugin_reports: list[config.ReportPluginsRequest] = []
        self.connectors: dict[str, connectors.Connector] = {}
        self.reports: dict[tuple[str, int], states.TaskReport] = {}
        self.history: list[tuple[str, int, str]] = []
        self.logs: list[str] = []
        self.refused: set[tuple[str, int]] = set()
        self._assigned: dict[tuple[str, int], cluster.Assignment] = {}
        self._changes: list[cluster.WatchAssignmentsResponse] = []
        self._epoch = self._forgotten = 0
        self._changed = threading.Condition()

    # What tests order.

    def assign(
        self, uid: str, task: int = 0, *, paused: bool = False, task_config: Mapping[str, str] | None = None, **options: str
    ) -> int:
        """Give a unit of a monitorable_source to the worker; return its epoch. Options: `on_open="hang"` is on.open=hang."""
        self._epoch += 1
        given = {"connector.class": "monitorable_source", "topic": f"topic-{uid}"}
        given |= {key.replace("_", "."): value for key, value in options.items()}
        one = cluster.Assignment(
            unit=cluster.UNIT_PLAN if task < 0 else cluster.UNIT_TASK,
            connector_uid=uid,
            connector=f"name-{uid}",
            revision=1,
            generation=1,
            task=task,
            epoch=self._epoch,
            type=connectors.CONNECTOR_TYPE_SOURCE,
            config=given,
            task_config=task_config if task_config is not None else {"share": str(task), "tasks": "1"},
            paused=paused,
            worker_id="worker-1",
        )
        self._put(one)
        return self._epoch

    def change(self, uid: str, task: int = 0, *, paused: bool | None = None, revoked: bool | None = None) -> None:
        one = self._assigned[uid, task]
        one.paused = one.paused if paused is None else paused
        one.revoked = one.revoked if revoked is None else revoked
        self._put(one)

    def remove(self, uid: str, task: int = 0) -> None:
        with self._changed:
            self._assigned.pop((uid, task), None)
            gone = cluster.AssignmentKey(connector_uid=uid, task=task)
            self._changes.append(cluster.WatchAssignmentsResponse(removed=[gone]))
            self._changed.notify_all()

    def end_session(self) -> None:
        """The worker is judged dead: everything is taken from it."""
        with self._changed:
            self.session += 1
            self._assigned.clear()
            self._changed.notify_all()

    def state(self, uid: str, task: int = 0) -> str:
        report = self.reports.get((uid, task))
        return "" if report is None else connectors.State.Name(report.state).removeprefix("STATE_")

    def trace(self, uid: str, task: int = 0) -> str:
        report = self.reports.get((uid, task))
        return "" if report is None else report.trace

    def wait_for(self, condition: Callable[[], object], seconds: float = 180.0) -> None:
        deadline = time.monotonic() + seconds
        with self._changed:
            while not condition():
                left = deadline - time.monotonic()
                assert left > 0, f"waited {seconds} s; states: {self.history}, logs: {self.logs}"
                self._changed.wait(min(left, 0.05))

    def take_all(self) -> None:
        """Take all units from the worker."""
        for uid, task in list(self._assigned):
            self.remove(uid, task)

    def forget(self) -> None:
        """Forget what the worker has told of units that it has had so far, and what it may still tell of them."""
        with self._changed:
            self._forgotten = self._epoch
            self.releases.clear()
            self.plans.clear()
            self.reports.clear()
            self.history.clear()
            self.logs.clear()
            self.refused.clear()
            self.opened_generation = 0

    # What the executor calls.

    def RegisterWorker(self, request: cluster.RegisterWorkerRequest, context: Context) -> cluster.RegisterWorkerResponse:
        self._answer_or_not(context)
        with self._noting():
            self.session += 1
            self._assigned.clear()
            self.registrations.append(request)
            return cluster.RegisterWorkerResponse(
                session=self.session, lease=_duration(self.lease), heartbeat_interval=_duration(0.2)
            )

    def OfferPlugins(self, request: cluster.OfferPluginsRequest, context: Context) -> cluster.OfferPluginsResponse:
        self._check(request.session, context)
        with self._noting():
            self.offers.append(request)
            if self.deaf.is_set():
                context.abort(grpc.StatusCode.INTERNAL, "offers are not taken")  # which channels don't repeat
            return cluster.OfferPluginsResponse()

    def Heartbeat(self, request: cluster.HeartbeatRequest, context: Context) -> cluster.HeartbeatResponse:
        self._answer_or_not(context)
        self._check(request.session, context)
        if self.deaf.is_set():
            context.abort(grpc.StatusCode.UNAVAILABLE, "heartbeats are not taken")
        with self._noting():
            self.heartbeats.append(time.monotonic())
        time.sleep(self.answer_after)
        with self._noting():
            return cluster.HeartbeatResponse(lease=_duration(self.lease))

    def OpenTask(self, request: positions.OpenTaskRequest, context: Context) -> positions.OpenTaskResponse:
        if self.opened_generation:
            error = FailedPrecondition("FENCED", "is fenced", opened_generation=str(self.opened_generation))
            context.abort_with_status(rpc_status.to_status(encode(error)))
        context.abort(grpc.StatusCode.UNAVAILABLE, "no task gets beyond its start here")
        raise AssertionError

    def ListPositions(self, request: positions.ListPositionsRequest, context: Context) -> positions.ListPositionsResponse:
        return positions.ListPositionsResponse()

    def ConfirmEpochs(self, request: positions.ConfirmEpochsRequest, context: Context) -> positions.ConfirmEpochsResponse:
        if not self.confirms.is_set():
            context.abort(grpc.StatusCode.UNAVAILABLE, "away")
        with self._noting():
            self.confirmed.append(request)
            fenced = [fence for fence in request.fences if (fence.connector_uid, fence.task) in self.fenced]
            return positions.ConfirmEpochsResponse(fenced=fenced)

    def DeregisterWorker(self, request: cluster.DeregisterWorkerRequest, context: Context) -> cluster.DeregisterWorkerResponse:
        self._check(request.session, context)
        with self._noting():
            self.left.append(request.session)
            self._assigned.clear()
            return cluster.DeregisterWorkerResponse()

    def WatchAssignments(
        self, request: cluster.WatchAssignmentsRequest, context: Context
    ) -> Iterator[cluster.WatchAssignmentsResponse]:
        self._check(request.session, context)
        with self._changed:
            seen = len(self._changes)
            first = cluster.WatchAssignmentsResponse(snapshot=True, assignments=self._assigned.values())
        yield first
        while context.is_active() and request.session == self.session and not self.silent.is_set():
            with self._changed:
                self._changed.wait(0.1)
                new, seen = self._changes[seen:], len(self._changes)
            yield from new

    def ReleaseAssignment(self, request: cluster.ReleaseAssignmentRequest, context: Context) -> cluster.ReleaseAssignmentResponse:
        self._check(request.session, context)
        with self._noting():
            self.releases.append(request)
        self.remove(request.key.connector_uid, request.key.task)
        return cluster.ReleaseAssignmentResponse()

    def ReportPlan(self, request: cluster.ReportPlanRequest, context: Context) -> cluster.ReportPlanResponse:
        self._check(request.session, context)
        with self._noting():
            self.plans.append(request)
        self.remove(request.connector_uid, -1)
        return cluster.ReportPlanResponse(generation=1)

    def ReportTasks(self, request: states.ReportTasksRequest, context: Context) -> states.ReportTasksResponse:
        self._answer_or_not(context)
        response = states.ReportTasksResponse()
        with self._noting():
            for report in request.reports:
                if report.epoch <= self._forgotten:
                    continue
                key = (report.connector_uid, report.task)
                self.reports[key] = report
                self.logs += [log.message for log in report.logs]
                entry = (*key, connectors.State.Name(report.state).removeprefix("STATE_"))
                if entry not in self.history[-1:]:
                    self.history.append(entry)
                if key in self.refused:
                    response.refused.add(connector_uid=report.connector_uid, task=report.task, epoch=report.epoch)
        return response

    def GetConnector(self, request: config.GetConnectorRequest, context: Context) -> config.GetConnectorResponse:
        return config.GetConnectorResponse(connector=self.connectors[request.name])

    def ReportPlugins(self, request: config.ReportPluginsRequest, context: Context) -> config.ReportPluginsResponse:
        with self._noting():
            self.plugin_reports.append(request)
        return config.ReportPluginsResponse()

    def _put(self, one: cluster.Assignment) -> None:
        with self._changed:
            self._assigned[one.connector_uid, one.task] = one
            self._changes.append(cluster.WatchAssignmentsResponse(assignments=[one]))
            self._changed.notify_all()

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        with self._changed:
            yield
            self._changed.notify_all()

    def _check(self, session: int, context: Context) -> None:
        if session != self.session:
            error = FailedPrecondition("WORKER_FENCED", "the session has ended")
            context.abort_with_status(rpc_status.to_status(encode(error)))

    def _answer_or_not(self, context: Context) -> None:
        while self.silent.is_set() and context.is_active():
            time.sleep(0.02)


class Executor:
    """An executor process."""

    def __init__(self, plane_address: str, folder: Path, **settings: str) -> None:
        reading, writing = os.pipe()
        flags = {
            "worker_id": "worker-1",
            "name_server": "127.0.0.1:1",
            "announce_fd": str(writing),
            "drain_seconds": "10",
            **{f"{name}_address": plane_address for name in ("cluster", "state", "config", "position")},
            **settings,
        }
        command = [sys.executable, "-m", "services.executor"]
        command += [part for name, value in flags.items() for part in (f"--{name.replace('_', '-')}", value)]
        paths = os.pathsep.join([str(PLUGINS), os.environ.get("PYTHONPATH", "")])
        self.log_path = folder / "executor.log"
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                tethered(command),
                env={**os.environ, "PYTHONPATH": paths, "SECRET_FOR_TESTS": "s3cr3t-value"},
                pass_fds=[writing],
                stdout=log,
                stderr=log,
            )
        os.close(writing)
        with os.fdopen(reading) as pipe:
            self.address = json.loads(pipe.readline() or "{}").get("address", "")
        self.started = psutil.Process(self.process.pid)

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def stub(self) -> "executor_rpc.ExecutorServiceStub":
        return executor_rpc.ExecutorServiceStub(grpc.insecure_channel(self.address))

    def children(self) -> list[psutil.Process]:
        return self.started.children(recursive=True)

    def hosts_of(self, stub: Any, task: str) -> list[int]:
        from rocketconnect.executor.v1 import executor_service_pb2 as pb

        answer = stub.DescribeWorker(pb.DescribeWorkerRequest(), timeout=60)
        return [host.pid for host in answer.hosts if task in host.tasks]

    def end(self) -> None:
        children = self.children() if self.process.poll() is None else []
        for pid in [self.process.pid, *(child.pid for child in children)]:
            with contextlib.suppress(ProcessLookupError):  # it is gone: what was wanted
                os.kill(pid, signal.SIGKILL)
        self.process.wait(60)


@pytest.fixture
def system(tmp_path: Path, rocketmq: Any, free_port: Callable[[], int]) -> Iterator[System]:
    """The four services with a store, as processes; executors are started by the test."""
    made = System(tmp_path, rocketmq.name_server, free_port)
    try:
        for name in STORES:
            made.start(name)
        yield made
    finally:
        made.stop()


@contextlib.contextmanager
def served(plane: Plane) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(32))
    for add in (
        cluster_rpc.add_ClusterServiceServicer_to_server,
        position_rpc.add_PositionServiceServicer_to_server,
        state_rpc.add_StateServiceServicer_to_server,
        config_rpc.add_ConfigServiceServicer_to_server,
    ):
        add(plane, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    plane.silent.clear()
    plane.session = -1
    server.stop(0).wait(5)


@pytest.fixture
def plane_address(plane: Plane) -> Iterator[str]:
    with served(plane) as address:
        yield address


@pytest.fixture
def plane() -> Plane:
    return Plane(lease=2.0)


@pytest.fixture
def start_executor(plane_address: str, tmp_path: Path) -> Iterator[Callable[..., Executor]]:
    started: list[Executor] = []

    def start(**settings: str) -> Executor:
        executor = Executor(plane_address, tmp_path, **settings)
        started.append(executor)
        return executor

    yield start
    for executor in started:
        executor.end()


@pytest.fixture
def executor(start_executor: Callable[..., Executor], plane: Plane) -> Executor:
    """A registered executor."""
    executor = start_executor()
    plane.wait_for(lambda: plane.registrations)
    return executor


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    """A registered executor for tests that only ask it."""
    plane = Plane(lease=60.0)
    with served(plane) as address:
        executor = Executor(address, tmp_path_factory.mktemp("standing"))
        try:
            plane.wait_for(lambda: plane.registrations)
            yield executor
        finally:
            executor.end()


def _duration(seconds: float) -> Duration:
    value = Duration()
    value.FromNanoseconds(int(seconds * 1e9))
    return value
