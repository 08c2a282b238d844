"""The RPCs, over a real server, a real SQLite store and real time."""

import asyncio
import itertools
import statistics
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.config.v1 import config_service_pb2 as config_pb
from rocketconnect.config.v1.config_service_pb2_grpc import (
    ConfigServiceServicer,
    ConfigServiceStub,
    add_ConfigServiceServicer_to_server,
)
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.state.v1 import state_service_pb2 as pb
from rocketconnect.state.v1 import state_service_pb2_grpc as rpc

from rocketconnect_kit.errors import InvalidArgument, NotFound, Unavailable
from rocketconnect_kit.serving.interception import ServicerContext
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.store import database
from rocketconnect_kit.testing import serve_for_test
from services.state import keeper as keeping
from services.state import newcomers, wire
from services.state.core import AssignmentsTold, ConnectorsTold
from services.state.keeper import Keeper
from services.state.model import Key, Moment
from services.state.newcomers import Newcomers
from services.state.service import StateService
from services.state.store import StateStore
from tests.services.state.things import assignment, connector

LEASE = 1.0
RUNNING = connector_pb2.STATE_RUNNING


class Configs(ConfigServiceServicer):
    """What the config service has; it tells of it when the test does."""

    def __init__(self) -> None:
        self.uids: dict[str, str] = {}
        self.is_away = False
        self.asked = asyncio.Event()

    async def GetConnector(
        self, request: config_pb.GetConnectorRequest, context: ServicerContext
    ) -> config_pb.GetConnectorResponse:
        self.asked.set()
        if self.is_away:
            raise Unavailable("STORE_UNAVAILABLE", "no database")
        if request.name not in self.uids:
            raise NotFound("CONNECTOR_NOT_FOUND", "in other words", connector=request.name)
        return config_pb.GetConnectorResponse(connector=connector_pb2.Connector(name=request.name, uid=self.uids[request.name]))


class Client:
    """A stub whose errors come out as domain errors, and the keeper behind the service."""

    def __init__(self, stub: "rpc.StateServiceAsyncStub", keeper: Keeper, configs: "Configs") -> None:
        self.stub = stub
        self.keeper = keeper
        self.configs = configs

    async def call(self, method: str, request: Any) -> Any:
        try:
            return await getattr(self.stub, method)(request, timeout=60)
        except grpc.RpcError as error:
            raise decode(error) from error

    async def report(self, *reports: pb.TaskReport) -> pb.ReportTasksResponse:
        answer: pb.ReportTasksResponse = await self.call("ReportTasks", pb.ReportTasksRequest(worker_id="w1", reports=reports))
        return answer

    async def state(self, name: str = "name-u1") -> pb.ConnectorState:
        answer = await self.call("GetConnectorState", pb.GetConnectorStateRequest(connector=name))
        state: pb.ConnectorState = answer.state
        return state

    async def logs(self, size: int = 0, token: str = "", name: str = "name-u1") -> tuple[list[str], str]:
        answer = await self.call("ListTaskLogs", pb.ListTaskLogsRequest(connector=name, page_size=size, page_token=token))
        return [line.message for line in answer.logs], answer.next_page_token


def task_report(task: int = 0, **more: Any) -> pb.TaskReport:
    fields: dict[str, Any] = {"connector_uid": "u1", "generation": 1, "epoch": 10, "state": RUNNING}
    made = pb.TaskReport(task=task, **fields | more)
    made.since.GetCurrentTime()
    return made


def log(message: str) -> pb.TaskLog:
    made = pb.TaskLog(level="INFO", message=message)
    made.time.GetCurrentTime()
    return made


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    engine = database.engine(f"sqlite:///{tmp_path}/state.db")
    database.migrate(engine, "state")
    keeper = Keeper(StateStore(engine, 0), LEASE, lambda: Moment(time.monotonic(), time.time()))
    configs = Configs()
    async with (
        keeper.running(),
        serve_for_test(lambda s: add_ConfigServiceServicer_to_server(configs, s)) as to_config,
        serve_for_test(
            lambda s: rpc.add_StateServiceServicer_to_server(
                StateService(keeper, Newcomers(keeper, ConfigServiceStub(to_config))), s
            )
        ) as channel,
    ):
        keeper.tell(ConnectorsTold(snapshot=True, connectors=(connector(),)))
        keeper.tell(AssignmentsTold(snapshot=True, assignments=(assignment(0), assignment(1, epoch=11))))
        yield Client(rpc.StateServiceStub(channel), keeper, configs)
    engine.dispose()


async def test_how_a_connector_was_is_sampled_by_itself(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "STEP_SECONDS", keeping.WRITE_SECONDS)
    await client.report(task_report(0, metrics=pb.TaskMetrics(rate_out=7, errors=2)))
    samples: list[pb.ConnectorSample] = []
    while not samples:
        await asyncio.sleep(0.05)
        samples = list((await client.stub.GetConnectorSamples(pb.GetConnectorSamplesRequest(connector="name-u1"))).samples)
    assert (samples[0].rate_out, samples[0].errors, samples[0].HasField("lag")) == (7, 0, False)
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await client.stub.GetConnectorSamples(pb.GetConnectorSamplesRequest(connector="nobody"))
    assert error.value.code() is grpc.StatusCode.NOT_FOUND


async def test_a_connector_shows_what_its_worker_reports_and_what_the_plan_gave(client: Client) -> None:
    metrics = pb.TaskMetrics(records_in=7, lags=[pb.QueueLag(queue="t/b/0", messages=3)])
    answer = await client.report(task_report(0, metrics=metrics), task_report(1, epoch=3, state=connector_pb2.STATE_FAILED))
    assert [(one.task, one.epoch, one.current_epoch) for one in answer.refused] == [(1, 3, 11)]
    state = await client.state()
    assert (state.connector, state.connector_uid, state.state, state.revision) == ("name-u1", "u1", connector_pb2.STATE_STARTING, 1)
    first, second = state.tasks
    assert (first.state, first.metrics, dict(first.config), first.worker_id) == (RUNNING, metrics, {"part": "0"}, "w1")
    assert (second.state, second.HasField("last_progress")) == (connector_pb2.STATE_STARTING, False)


@pytest.mark.parametrize(
    ("named", "shown"),
    [({"connector.class": "file_lines"}, "file_lines"), ({}, ""), ({"connector.class": "x" * 200}, "x" * 127 + "…")],
)
async def test_a_connector_shows_the_plugin_that_its_configuration_names(client: Client, named: dict[str, str], shown: str) -> None:
    told = connector_pb2.Connector(uid="u1", name="name-u1", revision=1, config=named)
    client.keeper.tell(wire.connectors_told(config_pb.WatchConnectorsResponse(connectors=[told])))
    assert (await client.state()).plugin == shown


async def test_what_is_measured_while_a_task_runs_is_not_shown_of_one_that_does_not(client: Client) -> None:
    lags = [pb.QueueLag(queue="t/b/0", messages=3)]
    metrics = pb.TaskMetrics(records_in=7, rate_in=2.5, rate_out=2.0, buffered_bytes=9, source_remaining=4, lags=lags)
    metrics.source_remaining_known, metrics.source_remaining_unit = True, "bytes"
    metrics.open_batch.records = 5
    metrics.source_time_left.seconds = 9
    delivered = Timestamp(seconds=5)
    metrics.newest_record.CopyFrom(delivered)
    metrics.spark_ui = "http://127.0.0.1:4040"
    metrics.spark_driver.heap_used_bytes = 5
    for state in ("RUNNING", "IDLE", "WAITING", "STALLED", "PAUSED"):
        await client.report(task_report(0, metrics=metrics, state=connector_pb2.State.Value(f"STATE_{state}")))
        assert (await client.state()).tasks[0].metrics == metrics
    for state in ("STARTING", "UNASSIGNED", "RESTARTING", "FAILED", "STOPPED"):
        await client.report(task_report(0, metrics=metrics, state=connector_pb2.State.Value(f"STATE_{state}")))
        assert (await client.state()).tasks[0].metrics == pb.TaskMetrics(records_in=7, newest_record=delivered)
    await client.report(task_report(0, metrics=metrics))
    await asyncio.sleep(LEASE + 0.1)
    # What was delivered stays so.
    silent = pb.TaskMetrics(records_in=7, newest_record=delivered)
    assert (await client.state()).tasks[0].metrics == silent, "its worker is silent"


async def test_an_unknown_name_is_not_found_in_the_words_of_the_contract(client: Client) -> None:
    for method, request in (
        ("GetConnectorState", pb.GetConnectorStateRequest(connector="x")),
        ("ListTaskLogs", pb.ListTaskLogsRequest(connector="x")),
    ):
        with pytest.raises(NotFound) as missing:
            await client.call(method, request)
        assert (missing.value.reason, missing.value.message) == ("CONNECTOR_NOT_FOUND", "Connector[x] does not exist")


async def test_a_connector_that_was_created_a_moment_ago_is_shown_as_soon_as_it_is_told_of(client: Client) -> None:
    client.configs.uids["name-u7"] = "u7"
    asking = asyncio.create_task(client.state("name-u7"))
    await client.configs.asked.wait()
    client.keeper.tell(ConnectorsTold(snapshot=False, connectors=(connector("u8"),)))
    client.keeper.tell(ConnectorsTold(snapshot=False, connectors=(connector("u7"),)))
    assert (await asking).connector_uid == "u7"
    assert await client.logs(name="name-u8")


@pytest.mark.parametrize(("is_away", "why"), [(True, "does not answer"), (False, "does not tell of it")])
async def test_a_name_of_which_nothing_sure_is_known_is_not_called_unknown(
    client: Client, monkeypatch: pytest.MonkeyPatch, is_away: bool, why: str
) -> None:
    monkeypatch.setattr(newcomers, "SETTLE_SECONDS", 0.3)
    client.configs.uids["new"], client.configs.is_away = "u7", is_away
    with pytest.raises(Unavailable, match=why) as unknown:
        await client.state("new")
    assert unknown.value.reason == "CONFIG_UNAVAILABLE"
    client.keeper.tell(AssignmentsTold(snapshot=True))
    assert (await client.state()).connector_uid == "u1"


async def test_states_are_listed_by_name_a_page_at_a_time(client: Client) -> None:
    client.keeper.tell(ConnectorsTold(snapshot=False, connectors=tuple(connector(f"u{number}") for number in range(2, 6))))
    names: list[str] = []
    token = ""
    while True:
        page = await client.call("ListConnectorStates", pb.ListConnectorStatesRequest(page_size=2, page_token=token))
        names += [state.connector for state in page.states]
        token = page.next_page_token
        if not token:
            break
    assert names == [f"name-u{number}" for number in range(1, 6)]


async def test_a_watcher_is_told_of_changes_at_most_once_an_interval_and_of_silence(client: Client) -> None:
    request = pb.WatchConnectorStateRequest(connector="name-u1")
    request.interval.FromMilliseconds(200)
    seen: list[tuple[float, pb.ConnectorState]] = []

    async def watch() -> None:
        async for answer in client.stub.WatchConnectorState(request):
            seen.append((time.monotonic(), answer.state))

    watching = asyncio.create_task(watch())
    for number in range(50):
        await client.report(task_report(0, metrics=pb.TaskMetrics(records_in=number)), task_report(1, epoch=11))
        await asyncio.sleep(0.02)
    await asyncio.sleep(2.5)
    watching.cancel()
    assert sum(state.state == RUNNING for _, state in seen) >= 4
    gaps = [later - earlier for (earlier, _), (later, _) in itertools.pairwise(seen)]
    # One that comes late is near its next one.
    assert statistics.median(gaps) >= 0.19
    assert max(state.tasks[0].metrics.records_in for _, state in seen) == 49
    assert seen[-1][1].state == connector_pb2.STATE_UNASSIGNED
    assert "has not reported for" in seen[-1][1].trace


async def test_a_watch_of_a_connector_that_is_deleted_ends_with_not_found(client: Client) -> None:
    watch = client.stub.WatchConnectorState(pb.WatchConnectorStateRequest(connector="name-u1"))
    await watch.__aiter__().__anext__()
    client.keeper.tell(ConnectorsTold(snapshot=True))
    with pytest.raises(grpc.RpcError) as ended:
        async for _ in watch:
            pass
    assert decode(ended.value).reason == "CONNECTOR_NOT_FOUND"
    assert client.keeper._listeners == {}


async def test_log_lines_are_followed_without_a_gap(client: Client) -> None:
    assert await client.logs() == ([], (await client.logs())[1])
    await client.report(task_report(0, logs=[log(f"line {number}") for number in range(10)]))
    newest, token = await client.logs(3)
    assert newest == ["line 7", "line 8", "line 9"]
    assert await client.logs(3, token) == ([], token)
    await client.report(task_report(0, logs=[log(f"line {number}") for number in range(10, 15)]))
    first, token = await client.logs(3, token)
    second, token = await client.logs(3, token)
    assert first + second == [f"line {number}" for number in range(10, 15)]
    with pytest.raises(InvalidArgument, match="not a token"):
        await client.logs(3, "x" + token)


async def test_a_report_that_cannot_be_taken_names_all_that_is_wrong(client: Client) -> None:
    bad = pb.ReportTasksRequest(worker_id="w\x00", reports=[pb.TaskReport(task=-2, connector_uid="u" * 129), task_report(0)])
    with pytest.raises(InvalidArgument) as refused:
        await client.call("ReportTasks", bad)
    fields = [problem.field for problem in refused.value.problems]
    assert fields == ["worker_id", "reports[0].connector_uid", "reports[0].task", "reports[0].state"]
    with pytest.raises(InvalidArgument, match="out of range"):
        watch = pb.WatchConnectorStateRequest(connector="name-u1")
        watch.interval.FromSeconds(-1)
        try:
            await client.stub.WatchConnectorState(watch).__aiter__().__anext__()
        except grpc.RpcError as error:
            raise decode(error) from error


async def test_texts_and_times_that_no_store_and_no_clock_can_hold_do_no_harm(client: Client) -> None:
    hostile = task_report(0, trace="x\x00" * 20_000, logs=[log("y" * 100_000)])
    hostile.logs[0].worker_id = "w" * 1000
    hostile.since.seconds = 10**17
    hostile.last_progress.seconds = -(10**17)
    await client.report(hostile)
    state = await client.state()
    assert len(state.tasks[0].trace) == 16_000
    [line], _ = await client.logs()
    assert len(line) == 4_000


async def test_a_connector_whose_tasks_were_all_taken_away_is_no_longer_running(client: Client) -> None:
    await client.report(task_report(0), task_report(1, epoch=11))
    assert (await client.state()).state == RUNNING
    client.keeper.tell(AssignmentsTold(snapshot=False, removed=(Key("u1", 0), Key("u1", 1))))
    assert (await client.state()).state == connector_pb2.STATE_UNASSIGNED
    assert len((await client.report(task_report(0))).refused) == 1
