"""What executors may not do themselves the gateway does, in the name of who orders it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceServicer, add_ClusterServiceServicer_to_server
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceServicer, add_ConfigServiceServicer_to_server
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as letters
from rocketconnect.deadletter.v1.deadletter_service_pb2_grpc import (
    DeadletterServiceServicer,
    add_DeadletterServiceServicer_to_server,
)
from rocketconnect.executor.v1 import executor_service_pb2 as executor
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceServicer, add_ExecutorServiceServicer_to_server
from rocketconnect.state.v1 import state_service_pb2 as states
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceServicer, add_StateServiceServicer_to_server

from rocketconnect_kit.errors import FailedPrecondition, ServiceError
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_kit.testing import server_for_test
from services.gateway.backends import Backends

_LETTERS = letters.DESCRIPTOR.services_by_name["DeadletterService"].methods_by_name
_EXECUTOR = executor.DESCRIPTOR.services_by_name["ExecutorService"].methods_by_name


@dataclass
class Executor(ExecutorServiceServicer, DeadletterServiceServicer):
    """One that may call nobody: it chooses letters, and tells its own tasks."""

    name: str
    count: int = 2
    told: list[int] = field(default_factory=list)

    async def ChooseReplay(self, request: letters.ChooseReplayRequest, context: Any) -> letters.ChooseReplayResponse:
        answer = letters.ReplayDeadLettersResponse(topic="RCREPLAY_u", count=self.count, replayed=1, replay="said by an executor")
        return letters.ChooseReplayResponse(answer=answer, letters=["b:0:0-2"], ends=["b:0:0-3"])

    async def ReplayDeadLetters(self, request: letters.ReplayDeadLettersRequest, context: Any) -> Any:
        assert request.dry_run, "it could create no replay"
        return letters.ReplayDeadLettersResponse(count=self.count)

    async def SignalTask(self, request: executor.SignalTaskRequest, context: Any) -> executor.SignalTaskResponse:
        if request.signal == "fail":
            raise FailedPrecondition("SIGNAL_REFUSED", "gave up")
        self.told.append(request.task)
        return executor.SignalTaskResponse(text=f"{request.signal} {dict(request.arguments)} on {self.name}")


@dataclass
class Plane(ConfigServiceServicer, StateServiceServicer, ClusterServiceServicer):
    """Config, state and cluster."""

    runs: dict[int, str]
    workers: list[cluster.Worker] = field(default_factory=list)
    created: list[config.CreateReplayRequest] = field(default_factory=list)

    async def CreateReplay(self, request: config.CreateReplayRequest, context: Any) -> config.CreateReplayResponse:
        self.created.append(request)
        return config.CreateReplayResponse(replay=f"{request.order.connector}-replay-1")

    async def GetConnectorState(self, request: states.GetConnectorStateRequest, context: Any) -> states.GetConnectorStateResponse:
        answer = states.GetConnectorStateResponse()
        answer.state.state = connectors.STATE_RUNNING if self.runs else connectors.STATE_STOPPED
        for task, worker in self.runs.items():
            answer.state.tasks.add(task=task, worker_id=worker)
        return answer

    async def ListWorkers(self, request: cluster.ListWorkersRequest, context: Any) -> cluster.ListWorkersResponse:
        return cluster.ListWorkersResponse(workers=self.workers)


@dataclass
class System:
    plane: Plane
    executors: list[Executor]
    backends: Backends

    async def signal(self, name: str) -> Any:
        request = executor.SignalConnectorRequest(connector="in", signal=name, arguments={"of": "t"})
        return await self.backends.unary(_EXECUTOR["SignalConnector"], request, reads=False)

    async def replay(self, **more: Any) -> Any:
        order = letters.ReplayDeadLettersRequest(connector="out", all=True, request_id="r", author="alice", **more)
        return await self.backends.unary(_LETTERS["ReplayDeadLetters"], order, reads=False)


@pytest.fixture
async def system() -> AsyncIterator[System]:
    plane, made = Plane({0: "worker-1", 1: "worker-2", 2: "worker-1"}), [Executor("worker-1"), Executor("worker-2")]

    def add_plane(server: Any) -> None:
        add_ConfigServiceServicer_to_server(plane, server)
        add_StateServiceServicer_to_server(plane, server)
        add_ClusterServiceServicer_to_server(plane, server)

    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(server_for_test(add_plane))
        for each in made:

            def add(server: Any, each: Executor = each) -> None:
                add_ExecutorServiceServicer_to_server(each, server)
                add_DeadletterServiceServicer_to_server(each, server)

            where = await stack.enter_async_context(server_for_test(add))
            plane.workers.append(cluster.Worker(worker_id=each.name, address=where, alive=True))
        settings = ServiceSettings(config_address=address, state_address=address, cluster_address=address, position_address=address)
        backends = Backends(settings, read_seconds=20, write_seconds=20)
        stack.push_async_callback(backends.close)
        yield System(plane, made, backends)


async def test_a_signal_reaches_the_tasks_of_every_executor_though_none_of_them_may_call_another(system: System) -> None:
    answer = await system.signal("more")
    assert [(each.task, each.text) for each in answer.answers] == [
        (0, "more {'of': 't'} on worker-1"),
        (1, "more {'of': 't'} on worker-2"),
        (2, "more {'of': 't'} on worker-1"),
    ]
    assert [sorted(each.told) for each in system.executors] == [[0, 2], [1]]


async def test_what_a_signal_meets_is_told_as_it_is(system: System) -> None:
    with pytest.raises(ServiceError) as refused:
        await system.signal("fail")
    assert (refused.value.reason, refused.value.message) == ("SIGNAL_REFUSED", "gave up")
    system.plane.runs = {}
    with pytest.raises(ServiceError) as nobody:
        await system.signal("more")
    assert nobody.value.reason == "NO_TASK_RUNS"


async def test_a_replay_is_chosen_by_an_executor_and_created_by_the_config_service(system: System) -> None:
    answer = await system.replay(if_newer=True, to="again-dlq")
    assert (answer.replay, answer.topic, answer.count, answer.replayed) == ("out-replay-1", "RCREPLAY_u", 2, 1)
    [created] = system.plane.created
    # What was ordered is what the user has said, whatever an executor says of it; the letters are chosen by the executor.
    order = created.order
    assert (order.connector, order.to, order.if_newer, order.author, order.request_id) == ("out", "again-dlq", True, "alice", "r")
    assert (list(created.letters), list(created.ends), created.count) == (["b:0:0-2"], ["b:0:0-3"], 2)


async def test_a_replay_of_no_letters_and_one_that_is_only_tried_create_nothing(system: System) -> None:
    assert (await system.replay(dry_run=True)).count == 2
    for each in system.executors:
        each.count = 0
    assert (await system.replay()).replay == ""
    assert system.plane.created == []
