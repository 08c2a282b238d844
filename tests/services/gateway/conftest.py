"""The real gateway on a real port, in front of the real config service and of states, workers and positions written by hand.

Only what an executor would say is scripted: which plugins there are, and what is wrong with a configuration.
"""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc.aio
import httpx
import pytest
from grpc_health.v1 import health as grpc_health
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceServicer, add_ClusterServiceServicer_to_server
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub, add_ConfigServiceServicer_to_server
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.executor.v1 import executor_service_pb2 as executor
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceServicer, add_ExecutorServiceServicer_to_server
from rocketconnect.keystore.v1.keystore_service_pb2_grpc import add_KeystoreServiceServicer_to_server
from rocketconnect.position.v1 import position_service_pb2 as position
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceServicer, add_PositionServiceServicer_to_server
from rocketconnect.record.v1.record_pb2 import Position
from rocketconnect.state.v1 import state_service_pb2 as state
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceServicer, add_StateServiceServicer_to_server

from rocketconnect_kit.calls.channel import channel, full_name
from rocketconnect_kit.errors import FailedPrecondition, NotFound
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_kit.store import database
from rocketconnect_kit.testing import server_for_test
from services.config.feed import ChangeFeed
from services.config.keystore.service import KeystoreService
from services.config.keystore.store import SecretStore
from services.config.predecessors.warning import GrpcPositions, Predecessors
from services.config.replays.others import GrpcOthers
from services.config.service import ConfigService
from services.config.store import ConfigStore
from services.config.validation.executors import GrpcExecutors
from services.gateway.backends import Backends
from services.gateway.rpc.server import Rpc
from services.gateway.server import _configuration, _Server, gateway, opening
from services.gateway.settings import GatewaySettings

SOURCE = "org.apache.rocketmq.connect.file.FileSourceConnector"
SINK = "org.apache.rocketmq.connect.file.FileSinkConnector"


class Executor(ExecutorServiceServicer):
    """Says of a file connector what a plugin would."""

    async def ValidateConnector(
        self, request: executor.ValidateConnectorRequest, context: Any
    ) -> executor.ValidateConnectorResponse:
        source = request.config["connector.class"] in (SOURCE, "file_source")
        answer = executor.ValidateConnectorResponse(
            plugin="file_source" if source else "file_sink",
            type=connector_pb2.CONNECTOR_TYPE_SOURCE if source else connector_pb2.CONNECTOR_TYPE_SINK,
            secret_keys=["password"],
        )
        needed = ("filename", "connect.topicname" if source else "connect.topicnames")
        if request.config["connector.class"] == "http_sink":
            needed = ("url", "topics")
        for key in needed:
            if not request.config.get(key):
                answer.problems.add(key=key, reason="is missing", fix=f"set {key}")
        tasks = request.config.get("max.tasks", "1")
        if not tasks.isdecimal():
            answer.problems.add(key="max.tasks", value=tasks, reason="is not a number", fix="use 1 to 1000")
        if request.config.get("errors.tolerance") == "all":
            answer.warnings.add(key="errors.tolerance", value="all", reason="drops records", fix="keep them")
        return answer

    async def ReloadPlugins(self, request: executor.ReloadPluginsRequest, context: Any) -> executor.ReloadPluginsResponse:
        return executor.ReloadPluginsResponse()


@dataclass
class States(StateServiceServicer):
    """Shows what a test says."""

    by_name: dict[str, state.ConnectorState] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    watching: int = 0
    floods: bool = False
    told: int = 0
    """How many answers watches have given."""

    def say(self, name: str, said: state.ConnectorState) -> None:
        self.by_name[name] = said
        self.changed.set()
        self.changed = asyncio.Event()

    async def GetConnectorState(self, request: state.GetConnectorStateRequest, context: Any) -> state.GetConnectorStateResponse:
        return state.GetConnectorStateResponse(state=self._of(request.connector))

    async def ListConnectorStates(
        self, request: state.ListConnectorStatesRequest, context: Any
    ) -> state.ListConnectorStatesResponse:
        # One a page, so that whoever wants all must ask again.
        names = [name for name in sorted(self.by_name) if name > request.page_token]
        return state.ListConnectorStatesResponse(
            states=[self.by_name[name] for name in names[:1]], next_page_token=names[0] if len(names) > 1 else ""
        )

    async def WatchConnectorState(
        self, request: state.WatchConnectorStateRequest, context: Any
    ) -> AsyncIterator[state.WatchConnectorStateResponse]:
        self.watching += 1
        try:
            while True:
                changed = self.changed
                yield state.WatchConnectorStateResponse(state=self._of(request.connector))
                self.told += 1
                if not self.floods:
                    await changed.wait()
        finally:
            self.watching -= 1

    async def ListTaskLogs(self, request: state.ListTaskLogsRequest, context: Any) -> state.ListTaskLogsResponse:
        self._of(request.connector)
        return state.ListTaskLogsResponse(logs=[state.TaskLog(level="INFO", message="started", task=0)], next_page_token="1")

    def _of(self, name: str) -> state.ConnectorState:
        if name not in self.by_name:
            raise NotFound("CONNECTOR_NOT_FOUND", f"there is no connector {name!r}", connector=name)
        return self.by_name[name]


@dataclass
class Workers(ClusterServiceServicer):
    """Shows what a test says."""

    workers: list[cluster.Worker] = field(default_factory=list)
    delay: float = 0
    shown: dict[str, str] = field(default_factory=dict)
    """What the metadata of the last call said."""

    async def ListWorkers(self, request: cluster.ListWorkersRequest, context: Any) -> cluster.ListWorkersResponse:
        self.shown = dict(context.invocation_metadata())
        await asyncio.sleep(self.delay)
        start = int(request.page_token or 0)
        more = start + 1 < len(self.workers)
        return cluster.ListWorkersResponse(workers=self.workers[start : start + 1], next_page_token=str(start + 1) if more else "")

    async def ListAssignments(self, request: cluster.ListAssignmentsRequest, context: Any) -> cluster.ListAssignmentsResponse:
        message = "a defect"
        raise ZeroDivisionError(message)


@dataclass
class Positions(PositionServiceServicer):
    """Refuses as the position service does while a connector runs."""

    by_name: dict[str, list[Position]] = field(default_factory=dict)
    moved: list[Any] = field(default_factory=list)
    """The requests that moved positions."""

    async def ResetPositions(self, request: position.ResetPositionsRequest, context: Any) -> position.ResetPositionsResponse:
        raise FailedPrecondition("NOT_STOPPED", "stop the connector first", connector=request.connector)

    async def AlterPositions(self, request: position.AlterPositionsRequest, context: Any) -> position.AlterPositionsResponse:
        self.moved.append(request)
        return position.AlterPositionsResponse(positions=request.positions)

    async def ImportPositions(self, request: position.ImportPositionsRequest, context: Any) -> position.ImportPositionsResponse:
        self.moved.append(request)
        return position.ImportPositionsResponse(positions=request.positions)

    async def ListPositions(self, request: position.ListPositionsRequest, context: Any) -> position.ListPositionsResponse:
        return position.ListPositionsResponse(positions=self.by_name.get(request.connector, []))


@dataclass
class System:
    """What a test can reach behind the gateway."""

    states: States
    workers: Workers
    positions: Positions
    addresses: dict[str, str]
    keystore: KeystoreService
    secrets: SecretStore
    url: str = ""

    async def nobody_checks(self) -> None:
        """From now on the one executor that offers plugins does not answer, as after a kill."""
        async with channel(self.addresses["config_address"], ServiceSettings()) as opened:
            report = config.ReportPluginsRequest(worker_id="worker-1", address="127.0.0.1:1", plugins=plugins())
            await ConfigServiceStub(opened).ReportPlugins(report, timeout=60)

    def settings(self, **flags: Any) -> GatewaySettings:
        return GatewaySettings(**{"port": 0, "drain_seconds": 1, **self.addresses, **flags})


@pytest.fixture
async def executor_service() -> AsyncIterator[tuple[str, list[connector_pb2.Plugin]]]:
    """Where an executor checks configurations, and the plugins that it offers."""
    async with server_for_test(lambda server: add_ExecutorServiceServicer_to_server(Executor(), server)) as address:
        yield address, plugins()


@pytest.fixture
async def system(tmp_path: Path, executor_service: tuple[str, list[connector_pb2.Plugin]]) -> AsyncIterator[System]:
    """The services behind the gateway; one executor offers file_source and file_sink."""
    engine = database.engine(f"sqlite:///{tmp_path}/config.db")
    database.migrate(engine, "config")
    executors = GrpcExecutors(ServiceSettings())
    store = ConfigStore(engine, lambda: time.time_ns() // 1000)
    predecessors = Predecessors(store, GrpcPositions(ServiceSettings()), executors)
    service = ConfigService(store, executors, ChangeFeed(None), predecessors, GrpcOthers(ServiceSettings()))
    secrets = SecretStore(engine, lambda: time.time_ns() // 1000)
    keystore = KeystoreService(secrets, None, ConfigStore(engine, lambda: time.time_ns() // 1000), executors)

    def add_config(server: grpc.aio.Server) -> None:
        add_ConfigServiceServicer_to_server(service, server)
        add_KeystoreServiceServicer_to_server(keystore, server)

    positions = Positions()
    states, workers = States(), Workers([cluster.Worker(worker_id=f"worker-{n}", alive=n != 2) for n in (1, 2, 3)])
    adders = {
        "config": add_config,
        "position": lambda server: add_PositionServiceServicer_to_server(positions, server),
        "state": lambda server: add_StateServiceServicer_to_server(states, server),
        "cluster": lambda server: add_ClusterServiceServicer_to_server(workers, server),
    }
    async with AsyncExitStack() as stack:
        addresses = {}
        for name, add in adders.items():
            addresses[f"{name}_address"] = await stack.enter_async_context(server_for_test(await _healthy(name, add)))
        async with channel(addresses["config_address"], ServiceSettings()) as opened:
            report = config.ReportPluginsRequest(worker_id="worker-1", address=executor_service[0], plugins=executor_service[1])
            await ConfigServiceStub(opened).ReportPlugins(report, timeout=60)
        yield System(states, workers, positions, addresses, keystore, secrets)
    await executors.close()
    engine.dispose()


async def _healthy(name: str, add: Any) -> Any:
    servicer = grpc_health.aio.HealthServicer()
    for service in ("", full_name(name)):
        await servicer.set(service, health_pb2.HealthCheckResponse.SERVING)

    def both(server: grpc.aio.Server) -> None:
        add(server)
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)

    return both


def plugins() -> list[connector_pb2.Plugin]:
    return [
        connector_pb2.Plugin(name="file_sink", aliases=[SINK], type=connector_pb2.PLUGIN_TYPE_SINK, version="1.0"),
        connector_pb2.Plugin(name="http_sink", type=connector_pb2.PLUGIN_TYPE_SINK, version="1.0"),
        connector_pb2.Plugin(
            name="file_source",
            aliases=[SOURCE],
            type=connector_pb2.PLUGIN_TYPE_SOURCE,
            version="1.0",
            options=[
                connector_pb2.Option(key="filename", type="string", required=True),
                connector_pb2.Option(key="password", type="string", secret=True),
            ],
        ),
        connector_pb2.Plugin(name="json", type=connector_pb2.PLUGIN_TYPE_CONVERTER, version="1.0"),
        connector_pb2.Plugin(name="mask", type=connector_pb2.PLUGIN_TYPE_TRANSFORM, version="1.0"),
    ]


@pytest.fixture
def serving() -> Callable[[GatewaySettings], AbstractAsyncContextManager[httpx.AsyncClient]]:
    """Runs the gateway with other settings."""
    return _serving


@asynccontextmanager
async def _serving(settings: GatewaySettings) -> AsyncIterator[httpx.AsyncClient]:
    """Run the gateway with these settings; give a client of it."""
    backends = Backends(settings, read_seconds=settings.read_seconds, write_seconds=settings.call_seconds, mask=settings.mask)
    listener = socket.create_server((settings.host, 0))
    opens = opening(settings, backends)
    rpc = Rpc(settings, backends, opens)
    await rpc.start()
    server = _Server(_configuration(gateway(settings, backends, opens), settings, rpc))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    url = f"http://{settings.host}:{listener.getsockname()[1]}"
    try:
        async with httpx.AsyncClient(base_url=url, timeout=20) as client:
            yield client
    finally:
        server.end()
        rpc.end_watches()
        backends.end_watches()
        await rpc.stop(1)
        with suppress(asyncio.CancelledError):
            await task
        await backends.close()


@pytest.fixture
async def rest(system: System) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway with default settings."""
    async with _serving(system.settings(read_seconds=2, call_seconds=10)) as client:
        yield client
