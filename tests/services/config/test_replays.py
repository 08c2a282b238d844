"""Replays: people order them, and only the worker that holds the task of one ends it."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceServicer, add_ClusterServiceServicer_to_server
from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.config.v1 import config_service_pb2_grpc as rpc
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as letters
from rocketconnect.executor.v1 import executor_service_pb2 as executor_pb
from rocketconnect.executor.v1 import executor_service_pb2_grpc as executor_rpc
from rocketconnect.state.v1 import state_service_pb2 as states
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceServicer, add_StateServiceServicer_to_server

from rocketconnect_kit.access.gate import Gate
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import Tokens, line
from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.errors import NotFound, ServiceError
from rocketconnect_kit.serving.server import CallLimits, make_server
from rocketconnect_kit.serving.status import remote_errors
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_kit.store import database
from rocketconnect_kit.testing import server_for_test
from services.config.feed import ChangeFeed
from services.config.predecessors.warning import GrpcPositions, Predecessors
from services.config.replays.others import GrpcOthers
from services.config.service import ConfigService
from services.config.store import ConfigStore
from services.config.validation.executors import GrpcExecutors
from tests.services.config.conftest import Clock

CALLERS = {"one": Role.WORKER, "two": Role.WORKER, "alice": Role.WRITE, "bob": Role.READ, "services": Role.SERVICE}
CLASSES = ("file_lines", "file_source", "dead_letter_source")
SINK = {
    "connector.class": "file_lines",
    "errors.deadletterqueue.topic.name": "out-dlq",
    "worker.labels": "zone=a",
    "filename": "/data/out",
}


class Executor(executor_rpc.ExecutorServiceServicer):
    """Finds nothing wrong."""

    async def ValidateConnector(self, request: executor_pb.ValidateConnectorRequest, context: Any) -> Any:
        kind = connector_pb2.CONNECTOR_TYPE_SINK if "filename" in request.config else connector_pb2.CONNECTOR_TYPE_SOURCE
        return executor_pb.ValidateConnectorResponse(plugin=request.config["connector.class"], type=kind)


class Cluster(ClusterServiceServicer):
    """Knows who holds what."""

    def __init__(self) -> None:
        self.held: list[cluster.Assignment] = []

    async def GetAssignment(self, request: cluster.GetAssignmentRequest, context: Any) -> cluster.GetAssignmentResponse:
        for each in self.held:
            if (each.connector_uid, each.task) == (request.key.connector_uid, request.key.task):
                return cluster.GetAssignmentResponse(assignment=each)
        raise NotFound("ASSIGNMENT_NOT_FOUND", "there is none")


class Log(StateServiceServicer):
    """Keeps the lines that connectors got."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    async def ReportTasks(self, request: states.ReportTasksRequest, context: Any) -> states.ReportTasksResponse:
        self.lines += [(each.connector_uid, each.line.message) for each in request.logs]
        return states.ReportTasksResponse()


class Guarded:
    """The config service as each of its callers sees it: one that asks who calls, and `open`, one that does not."""

    def __init__(self, stubs: dict[str, Any], cluster_service: Cluster, log: Log) -> None:
        self.stubs = stubs
        self.cluster = cluster_service
        self.log = log

    async def create(self, name: str, config: dict[str, str]) -> str:
        answer = await self.stubs["alice"].CreateConnector(pb.CreateConnectorRequest(name=name, config=config))
        return str(answer.connector.uid)

    async def names(self) -> set[str]:
        answer = await self.stubs["alice"].ListConnectors(pb.ListConnectorsRequest())
        return {each.name for each in answer.connectors}

    async def finish(self, who: str, name: str, uid: str, *, worker: str = "one", epoch: int = 1) -> str:
        request = pb.FinishReplayRequest(worker_id=worker, connector=name, connector_uid=uid, task=0, generation=1, epoch=epoch)
        return await reason(self.stubs[who].FinishReplay(request))

    def holds(self, worker: str, uid: str, unit: cluster.Unit.ValueType = cluster.UNIT_TASK) -> None:
        held = cluster.Assignment(connector_uid=uid, task=0, unit=unit, generation=1, epoch=1, worker_id=worker)
        self.cluster.held = [*(each for each in self.cluster.held if each.connector_uid != uid), held]


async def reason(call: Awaitable[object]) -> str:
    """With which reason it is refused; "": it is not."""
    try:
        with remote_errors():
            await call
    except ServiceError as error:
        return error.reason
    return ""


def ordered(name: str = "out", **more: Any) -> pb.CreateReplayRequest:
    told = {"request_id": "r1", "all": True, "author": "alice", **more}
    order = letters.ReplayDeadLettersRequest(connector=name, **told)
    return pb.CreateReplayRequest(order=order, letters=["b:0:0-3"], ends=["b:0:0-4"], count=3)


@pytest.fixture(params=[True])
def knows_cluster(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
async def guarded(tmp_path: Path, knows_cluster: bool) -> AsyncIterator[Guarded]:
    engine = database.engine(f"sqlite:///{tmp_path}/config.db")
    database.migrate(engine, "config")
    callers = tmp_path / "callers"
    callers.write_text("".join(line(name, role, f"token-of-{name}") for name, role in CALLERS.items()))
    known, log = Cluster(), Log()
    async with AsyncExitStack() as stack:

        async def served(add: Any, servicer: Any) -> str:
            return await stack.enter_async_context(server_for_test(lambda server: add(servicer, server)))

        settings = ServiceSettings(
            cluster_address=await served(add_ClusterServiceServicer_to_server, known) if knows_cluster else "",
            state_address=await served(add_StateServiceServicer_to_server, log),
        )
        store, executors, others = ConfigStore(engine, Clock()), GrpcExecutors(settings), GrpcOthers(settings)
        stack.push_async_callback(executors.close)
        stack.push_async_callback(others.close)
        predecessors = Predecessors(store, GrpcPositions(settings), executors)
        service = ConfigService(store, executors, ChangeFeed(None), predecessors, others)
        limits = CallLimits(30)
        server = make_server(limits, gates=[Gate(Tokens([callers]))])
        rpc.add_ConfigServiceServicer_to_server(service, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        places = {name: (f"127.0.0.1:{port}", ServiceSettings(token_file=tmp_path / f"{name}.token")) for name in _tokens(tmp_path)}
        places["open"] = await served(rpc.add_ConfigServiceServicer_to_server, service), ServiceSettings()
        stubs = {
            name: rpc.ConfigServiceStub(await stack.enter_async_context(channel(address, own)))
            for name, (address, own) in places.items()
        }
        plugins = [connector_pb2.Plugin(name=name) for name in CLASSES]
        where = await served(executor_rpc.add_ExecutorServiceServicer_to_server, Executor())
        await stubs["one"].ReportPlugins(pb.ReportPluginsRequest(worker_id="one", address=where, plugins=plugins))
        yield Guarded(stubs, known, log)
        limits.end_streams()
        await server.stop(1)
    engine.dispose()


def _tokens(folder: Path) -> list[str]:
    for name in CALLERS:
        (folder / f"{name}.token").write_text(f"token-of-{name}")
    return list(CALLERS)


async def test_a_replay_is_made_of_the_connector_that_failed_for_who_may_order_one(guarded: Guarded) -> None:
    uid = await guarded.create("out", SINK)
    request = ordered(task=2, stage=letters.STAGE_CONVERT, error="ValueError", if_newer=True)
    # Whatever a worker wants to be sent again, and of whichever connector.
    for worker in ("one", "two", "bob"):
        assert await reason(guarded.stubs[worker].CreateReplay(request)) == "NOT_ALLOWED"
    assert await guarded.names() == {"out"}
    name = (await guarded.stubs["services"].CreateReplay(request)).replay
    made = (await guarded.stubs["alice"].GetConnector(pb.GetConnectorRequest(name=name))).connector
    assert dict(made.config) == {
        "connector.class": "dead_letter_source",
        "topic": f"RCREPLAY_{uid}",
        "topic.auto.create": "true",
        "topic.queues": "1",
        "key.converter": "bytes",
        "value.converter": "bytes",
        "replay.connector": "out",
        "replay.topic": "out-dlq",
        "replay.letters": "b:0:0-3",
        "replay.ends": "b:0:0-4",
        "replay.to": f"RCREPLAY_{uid}",
        "replay.task": "2",
        "replay.stage": "convert",
        "replay.error": "ValueError",
        "replay.own.topics": "false",
        "replay.if.newer": "true",
        "worker.labels": "zone=a",
    }
    assert guarded.log.lines == [(uid, f"replay of 3 dead letters to RCREPLAY_{uid} by alice: {name}")]
    # The same request is the same replay, also when there are more letters by now.
    more = ordered(task=2)
    more.letters.append("b:1:0-3")
    assert [(await guarded.stubs["alice"].CreateReplay(each)).replay for each in (request, more)] == [name, name]
    assert (len(await guarded.names()), len(guarded.log.lines)) == (2, 1)


async def test_an_order_that_can_be_no_replay_creates_nothing(guarded: Guarded) -> None:
    await guarded.create("out", SINK)
    await guarded.create("plain", {"connector.class": "file_lines", "filename": "/data/x"})
    wrong = ordered()
    # What would be another option of the replay, if it were believed.
    wrong.letters[0] = "b:0:0-3,x"
    unknown = ordered()
    unknown.order.stage = 99  # type: ignore[assignment]
    stub = guarded.stubs["services"]
    for request, why in (
        (ordered("missing"), "CONNECTOR_NOT_FOUND"),
        (ordered("plain"), "NO_DEAD_LETTER_TOPIC"),
        (wrong, "CONFIG_INVALID"),
        (unknown, "CONFIG_INVALID"),
        (ordered(request_id=""), "CONFIG_INVALID"),
        (pb.CreateReplayRequest(order=ordered().order), "CONFIG_INVALID"),
    ):
        assert await reason(stub.CreateReplay(request)) == why
    assert (await guarded.names(), guarded.log.lines) == ({"out", "plain"}, [])


async def test_a_replay_is_ended_by_the_worker_alone_that_holds_its_task(guarded: Guarded) -> None:
    await guarded.create("out", SINK)
    name = (await guarded.stubs["services"].CreateReplay(ordered())).replay
    uid = (await guarded.stubs["alice"].GetConnector(pb.GetConnectorRequest(name=name))).connector.uid
    assert await guarded.finish("one", name, uid) == "NOT_ASSIGNED", "nobody holds it"
    guarded.holds("one", uid, cluster.UNIT_PLAN)
    assert await guarded.finish("one", name, uid) == "NOT_ASSIGNED", "it has only planned it"
    guarded.holds("one", uid)
    for who, worker, epoch, why in (
        ("two", "two", 1, "NOT_ASSIGNED"),
        ("two", "one", 1, "NOT_ALLOWED"),
        ("two", "", 1, "NOT_ALLOWED"),
        ("one", "one", 2, "NOT_ASSIGNED"),
        ("bob", "one", 1, "NOT_ALLOWED"),
        ("alice", "one", 1, "NOT_ALLOWED"),
    ):
        assert await guarded.finish(who, name, uid, worker=worker, epoch=epoch) == why, (who, worker, epoch)
    assert await guarded.finish("one", name, "made-up") == "NOT_ASSIGNED"
    assert name in await guarded.names()
    assert await guarded.finish("one", name, uid) == ""
    assert await guarded.names() == {"out"}
    assert await guarded.finish("one", name, uid) == "CONNECTOR_NOT_FOUND"
    changes = (await guarded.stubs["alice"].ListChanges(pb.ListChangesRequest(name=name))).changes
    assert (changes[0].author, changes[0].reason) == ("rocketconnect", "the replay is done")


async def test_a_worker_deletes_no_connector_but_a_replay_though_it_runs_it(guarded: Guarded) -> None:
    uid = await guarded.create("in", {"connector.class": "file_source"})
    guarded.holds("one", uid)
    assert await guarded.finish("one", "in", uid) == "NOT_A_REPLAY"
    # Nor another one under the uid of its replay.
    await guarded.create("out", SINK)
    replay = (await guarded.stubs["services"].CreateReplay(ordered())).replay
    other = (await guarded.stubs["services"].CreateReplay(ordered(request_id="r2"))).replay
    own = (await guarded.stubs["alice"].GetConnector(pb.GetConnectorRequest(name=replay))).connector.uid
    guarded.holds("one", own)
    for name in ("in", "out", other):
        assert await guarded.finish("one", name, own) == "CONNECTOR_NOT_FOUND"
    assert await guarded.names() == {"in", "out", replay, other}


@pytest.mark.parametrize("knows_cluster", [False], indirect=True)
async def test_where_nobody_is_asked_who_calls_any_executor_ends_a_replay_and_nothing_else(guarded: Guarded) -> None:
    await guarded.create("out", SINK)
    name = (await guarded.stubs["open"].CreateReplay(ordered())).replay
    found = {each.name: each.uid for each in (await guarded.stubs["open"].ListConnectors(pb.ListConnectorsRequest())).connectors}
    assert await guarded.finish("one", name, found[name]) == "HOLDER_NOT_KNOWN"
    assert await guarded.finish("open", "out", found["out"]) == "NOT_A_REPLAY"
    assert await guarded.finish("open", name, found[name]) == ""
    assert await guarded.names() == {"out"}
