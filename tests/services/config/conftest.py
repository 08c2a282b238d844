"""A store on SQLite and on PostgreSQL, and the whole service with a real executor stub behind it."""

import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.config.v1 import config_service_pb2_grpc as rpc
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.executor.v1 import executor_service_pb2 as executor_pb
from rocketconnect.executor.v1 import executor_service_pb2_grpc as executor_rpc
from rocketconnect.position.v1 import position_service_pb2 as position_pb
from rocketconnect.position.v1 import position_service_pb2_grpc as position_rpc

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_kit.store import database
from rocketconnect_kit.testing import server_for_test
from services.config.feed import ChangeFeed
from services.config.predecessors.warning import GrpcPositions, Predecessors
from services.config.replays.others import GrpcOthers
from services.config.service import ConfigService
from services.config.store import ConfigStore
from services.config.validation.executors import GrpcExecutors


class Clock:
    """Microseconds since 1970, moved by hand."""

    def __init__(self) -> None:
        self.microseconds = 1_700_000_000_000_000

    def __call__(self) -> int:
        self.microseconds += 1
        return self.microseconds

    def advance(self, seconds: float) -> None:
        self.microseconds += int(seconds * 1_000_000)


def fresh_database(server_url: str) -> str:
    """Return the URL of a new database on the PostgreSQL server."""
    name = f"t{uuid.uuid4().hex}"
    admin = sa.create_engine(server_url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    admin.dispose()
    return sa.make_url(server_url).set(database=name).render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/config.db"
    server_url: str = request.getfixturevalue("postgres")
    return fresh_database(server_url)


@pytest.fixture
def engine(store_url: str) -> Iterator[sa.Engine]:
    made = database.engine(store_url)
    database.migrate(made, "config")
    yield made
    made.dispose()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(engine: sa.Engine, clock: Clock) -> ConfigStore:
    return ConfigStore(engine, clock)


class StubExecutor(executor_rpc.ExecutorServiceServicer):
    """A real executor server with one plugin: `path` must be given, `password` is a secret."""

    def __init__(self) -> None:
        self.validated: list[str] = []
        self.around: list[tuple[str, bool]] = []
        self.former: tuple[dict[str, str], dict[str, str]] = {}, {}
        self.reloads = 0
        self.plugins = [PLUGIN]
        self.gone: set[str] = set()
        self.fails_with: ServiceError | None = None

    async def ValidateConnector(self, request: executor_pb.ValidateConnectorRequest, context: Any) -> Any:
        self.validated.append(request.name)
        self.former = dict(request.previous), {each.partition: each.offset for each in request.positions}
        self.around = [(each.name, each.reads) for each in request.neighbours]
        if self.fails_with is not None:
            raise self.fails_with
        answer = executor_pb.ValidateConnectorResponse(
            plugin="file_source", type=connector_pb2.CONNECTOR_TYPE_SOURCE, secret_keys=["password"]
        )
        if "owned" in request.config:
            answer.type = connector_pb2.CONNECTOR_TYPE_SINK
            answer.targets.targets.add(key="owned", name=f"file://{request.config['owned']}")
        if "keyless" in request.config:
            reason = f"has no key; {request.config.get('password', '')}"
            answer.warnings.add(key="keyless", value=request.config["keyless"], reason=reason, fix="Give it one.")
        answer.notes.extend(request.config.get("note", "").split())
        for name in request.config.get("reads", "").split():
            into = request.config["topics"]
            answer.origins.origins.add(key="reads", place="file:", name=name, is_pattern="*" in name, into=into)
            answer.origins.shared = "shared" in request.config
        if "path" not in request.config:
            answer.problems.add(key="path", reason="is missing", fix="Set it to a readable file.")
        if request.config.get("max.tasks", "1") == "0":
            answer.problems.add(key="max.tasks", value="0", reason="is below 1", fix="use 1 or more")
        if request.config.get("password") == "refused":
            answer.problems.add(key="url", value="db://u:refused@h", reason="server said: refused is wrong", fix="x")
        return answer

    async def CheckPositions(self, request: executor_pb.CheckPositionsRequest, context: Any) -> Any:
        answer = executor_pb.CheckPositionsResponse()
        for position in request.positions:
            if position.partition in self.gone:
                answer.problems.add(key=position.partition, reason="the file is not there any more")
            else:
                answer.bounds.add(partition=position.partition, earliest="[0]")
        return answer

    async def PreviewConnector(self, request: executor_pb.PreviewConnectorRequest, context: Any) -> Any:
        answer = executor_pb.PreviewConnectorResponse(plugin="file_source", trouble=f"{request.records} were asked for")
        of = f" of {dict(request.source)['path']}" if request.source else ""
        answer.records.add(position=f"{request.name} {dict(request.config)['path']}{of}").steps.add(name="read")
        return answer

    async def VerifyConnector(self, request: executor_pb.VerifyConnectorRequest, context: Any) -> Any:
        sinks = [f"{each.name} {dict(each.config)['path']}" for each in request.sinks]
        place = f"{'the table of ' if request.next_table else ''}behind {request.page_token}"
        answer = executor_pb.VerifyConnectorResponse(next_page_token=place, trouble=f"{sorted(sinks)}")
        answer.differences.add(
            table=f"{request.source.name} {dict(request.tables)}", key="".join(each.key for each in request.keys)
        )
        answer.tables.add(rows=3)
        answer.problems.add(key="k")
        return answer

    async def ReloadPlugins(self, request: executor_pb.ReloadPluginsRequest, context: Any) -> Any:
        if self.fails_with is not None:
            raise self.fails_with
        self.reloads += 1
        return executor_pb.ReloadPluginsResponse(plugins=self.plugins)


class StoredPositions(position_rpc.PositionServiceServicer):
    """A real position server: offsets by partition, by uid."""

    def __init__(self) -> None:
        self.of: dict[str, dict[str, str]] = {}
        self.newest: dict[str, int] = {}
        self.fails_with: ServiceError | None = None

    async def ListPositions(self, request: position_pb.ListPositionsRequest, context: Any) -> Any:
        if self.fails_with is not None:
            raise self.fails_with
        answer = position_pb.ListPositionsResponse(newest_revision=self.newest.get(request.connector_uid, 0))
        for partition, offset in self.of.get(request.connector_uid, {}).items():
            answer.positions.add(partition=partition, offset=offset)
        return answer


PLUGIN = connector_pb2.Plugin(
    name="file_source",
    aliases=["org.apache.rocketmq.connect.file.FileSourceConnector"],
    type=connector_pb2.PLUGIN_TYPE_SOURCE,
    summary="Reads files.",
    options=[
        connector_pb2.Option(key="connector.class", type="string", required=True),
        connector_pb2.Option(key="path", type="string", required=True, aliases=["filename"]),
        connector_pb2.Option(key="topics", type="list", required=True),
    ],
)
GOOD = {"connector.class": "file_source", "path": "/data/in.txt"}


class Running:
    """The config service on a real server, and a second one on demand."""

    def __init__(
        self,
        stub: "rpc.ConfigServiceAsyncStub",
        address: str,
        executor: StubExecutor,
        positions: StoredPositions,
        stack: AsyncExitStack,
    ) -> None:
        self.stub = stub
        self.address = address
        self.executor = executor
        self.positions = positions
        self.stack = stack

    async def create(self, name: str, config: dict[str, str] | None = None, **more: Any) -> connector_pb2.Connector:
        request = pb.CreateConnectorRequest(name=name, config=GOOD if config is None else config, **more)
        return (await self.stub.CreateConnector(request)).connector

    async def report(self, worker_id: str, address: str, *plugins: connector_pb2.Plugin) -> None:
        request = pb.ReportPluginsRequest(worker_id=worker_id, address=address, plugins=plugins or [PLUGIN])
        await self.stub.ReportPlugins(request)


@pytest.fixture
async def start(engine: sa.Engine, clock: Clock) -> AsyncIterator[Callable[[], Any]]:
    """Start a replica of the service over the store; the first executor has reported."""
    async with AsyncExitStack() as stack:

        async def one() -> Running:
            store = ConfigStore(engine, clock)
            executors = GrpcExecutors(ServiceSettings())
            stack.push_async_callback(executors.close)
            feed = ChangeFeed(store.sequence if engine.dialect.name == "postgresql" else None)
            await stack.enter_async_context(feed.running())
            stored = StoredPositions()
            place = await stack.enter_async_context(
                server_for_test(lambda server: position_rpc.add_PositionServiceServicer_to_server(stored, server))
            )
            positions = GrpcPositions(ServiceSettings(position_address=place))
            stack.push_async_callback(positions.close)
            others = GrpcOthers(ServiceSettings())
            service = ConfigService(store, executors, feed, Predecessors(store, positions, executors), others)
            address = await stack.enter_async_context(
                server_for_test(lambda server: rpc.add_ConfigServiceServicer_to_server(service, server))
            )
            opened = await stack.enter_async_context(channel(address, ServiceSettings()))
            executor = StubExecutor()
            where = await stack.enter_async_context(
                server_for_test(lambda server: executor_rpc.add_ExecutorServiceServicer_to_server(executor, server))
            )
            running = Running(rpc.ConfigServiceStub(opened), where, executor, stored, stack)
            await running.report("worker-1", where)
            return running

        yield one


@pytest.fixture
async def service(start: Callable[[], Any]) -> Running:
    running: Running = await start()
    return running
