"""The real config, cluster and state services as processes, and workers on paper: the whole control plane but for positions."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import grpc.aio
import pytest
from rocketconnect.cluster.v1 import cluster_service_pb2 as pb
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1 import config_service_pb2 as config_pb
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.state.v1 import state_service_pb2 as state_pb
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub

from rocketconnect_kit.serving.status import decode
from tests.services.cluster.processes import Config, config_service, service_process
from tests.services.cluster.worker import PaperWorker, until

RUNNING = connector_pb2.STATE_RUNNING
TIMING = ("--lease-seconds", "3", "--heartbeat-seconds", "0.5", "--send-deadline-seconds", "0.5")


class Plane:
    """The three services on fixed ports, each of which can be killed and started again."""

    def __init__(self, folder: Path, free_port: Callable[[], int]) -> None:
        self.folder = folder
        self.ports = {name: str(free_port()) for name in ("config", "cluster", "state")}
        self.services = {name: AsyncExitStack() for name in self.ports}
        self.config: Config
        self.channels = AsyncExitStack()

    def address(self, name: str) -> str:
        return f"127.0.0.1:{self.ports[name]}"

    async def start(self, name: str) -> None:
        if name == "config":
            url = f"sqlite:///{self.folder}/config.db"
            self.config = await self.services[name].enter_async_context(config_service(url, "--port", self.ports[name]))
            return
        flags = ["--data-dir", str(self.folder), "--port", self.ports[name], "--config-address", self.address("config")]
        flags += TIMING if name == "cluster" else ("--lease-seconds", "3", "--cluster-address", self.address("cluster"))
        await self.services[name].enter_async_context(service_process(name, *flags))

    async def kill(self, name: str) -> None:
        """End a service as kill -9 does."""
        await self.services[name].aclose()

    async def channel(self, name: str) -> grpc.aio.Channel:
        channel = grpc.aio.insecure_channel(self.address(name), options=[("grpc.max_reconnect_backoff_ms", 300)])
        return await self.channels.enter_async_context(channel)

    async def worker(self, worker_id: str) -> PaperWorker:
        return PaperWorker(worker_id, await self.channel("cluster"), await self.channel("state"))

    async def state(self, connector: str) -> state_pb.ConnectorState:
        stub = StateServiceStub(await self.channel("state"))
        return (
            await stub.GetConnectorState(state_pb.GetConnectorStateRequest(connector=connector), timeout=60, wait_for_ready=True)
        ).state

    async def epochs(self) -> dict[int, int]:
        stub = ClusterServiceStub(await self.channel("cluster"))
        answer = await stub.ListAssignments(pb.ListAssignmentsRequest(), timeout=60, wait_for_ready=True)
        return {one.task: one.epoch for one in answer.assignments}

    async def until_running(self, connector: str, workers: dict[int, str], revision: int = 1) -> None:
        async def check() -> None:
            state = await self.state(connector)
            assert (state.state, state.revision) == (RUNNING, revision), state.trace
            assert {task.task: task.worker_id for task in state.tasks} == workers

        await until(check)


@pytest.fixture
async def plane(tmp_path: Path, free_port: Callable[[], int]) -> AsyncIterator[Plane]:
    made = Plane(tmp_path, free_port)
    for name in made.ports:
        await made.start(name)
    yield made
    await made.channels.aclose()
    for name in reversed(made.ports):
        await made.kill(name)


async def test_a_connector_lives_from_its_creation_to_its_deletion(plane: Plane) -> None:
    created = await plane.config.create("orders", max_tasks="2")

    async def waits() -> None:
        state = await plane.state("orders")
        assert state.state == connector_pb2.STATE_UNASSIGNED
        assert state.trace.startswith("planning: no executor is registered: start one")
        assert state.connector_uid == created.uid

    await until(waits)
    worker = await plane.worker("w1")
    async with worker.running():
        await plane.until_running("orders", {0: "w1", 1: "w1"})
        assert [dict(task.config) for task in (await plane.state("orders")).tasks] == [{"part": "0"}, {"part": "1"}]
        await plane.config.update("orders", max_tasks="3")
        await plane.until_running("orders", {0: "w1", 1: "w1", 2: "w1"}, revision=2)
        await plane.config.stub.PauseConnector(config_pb.PauseConnectorRequest(name="orders"))

        async def is_paused() -> None:
            assert (await plane.state("orders")).state == connector_pb2.STATE_PAUSED

        await until(is_paused)
        before = await plane.epochs()
        await plane.config.stub.RestartConnector(config_pb.RestartConnectorRequest(name="orders"))

        async def was_restarted() -> None:
            epochs = await plane.epochs()
            assert epochs.keys() == before.keys()
            assert min(epochs.values()) > max(before.values())

        await until(was_restarted)
        await plane.config.stub.StopConnector(config_pb.StopConnectorRequest(name="orders"))

        async def is_stopped() -> None:
            state = await plane.state("orders")
            assert (state.state, len(state.tasks)) == (connector_pb2.STATE_STOPPED, 0)

        await until(is_stopped)
        await plane.config.stub.DeleteConnector(config_pb.DeleteConnectorRequest(name="orders"))

        async def is_gone() -> None:
            assert await said_of("orders") == "Connector[orders] does not exist"

        async def said_of(name: str) -> str:
            try:
                return (await plane.state(name)).trace
            except grpc.RpcError as error:
                return decode(error).message

        await until(is_gone)
        assert await plane.epochs() == {}


@pytest.mark.slow
async def test_the_tasks_of_a_dead_worker_are_never_shown_as_running_and_go_on_elsewhere(plane: Plane) -> None:
    await plane.config.create("orders", max_tasks="4")
    first, second = await plane.worker("w1"), await plane.worker("w2")
    async with second.running():
        async with first.running():
            await until_spread(plane)
            before = await plane.epochs()
            kept = {task.task for task in (await plane.state("orders")).tasks if task.worker_id == "w2"}

        async def shows_the_loss() -> None:
            state = await plane.state("orders")
            assert state.state == connector_pb2.STATE_UNASSIGNED
            assert "worker w1 has not reported for" in state.trace

        await until(shows_the_loss)
        await plane.until_running("orders", dict.fromkeys(range(4), "w2"))
        after = await plane.epochs()
        assert {task for task in before if after[task] == before[task]} == kept, "only the tasks of the lost worker have moved"
        # The lost one wakes up and still believes in what it held.
        late = [
            state_pb.TaskReport(connector_uid=one.connector_uid, task=one.task, epoch=one.epoch, state=RUNNING)
            for one in first.held.values()
        ]
        stub = StateServiceStub(await plane.channel("state"))
        answer = await stub.ReportTasks(state_pb.ReportTasksRequest(worker_id="w1", reports=late), timeout=60)
        assert {one.task for one in answer.refused} == set(range(4)) - kept
        await plane.until_running("orders", dict.fromkeys(range(4), "w2"))


async def until_spread(plane: Plane) -> None:
    async def check() -> None:
        state = await plane.state("orders")
        assert state.state == RUNNING
        assert sorted(task.worker_id for task in state.tasks) == ["w1", "w1", "w2", "w2"]

    await until(check)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["config", "cluster", "state"])
async def test_each_service_can_be_killed_and_started_again_without_a_task_moving(plane: Plane, name: str) -> None:
    await plane.config.create("orders", max_tasks="2")
    worker = await plane.worker("w1")
    async with worker.running():
        await plane.until_running("orders", {0: "w1", 1: "w1"})
        before, session = await plane.epochs(), worker.session
        await plane.kill(name)
        await asyncio.sleep(0.5)
        await plane.start(name)
        await plane.until_running("orders", {0: "w1", 1: "w1"})
        assert (await plane.epochs(), worker.session) == (before, session)
        await plane.config.update("orders", max_tasks="3")
        await plane.until_running("orders", {0: "w1", 1: "w1", 2: "w1"}, revision=2)
