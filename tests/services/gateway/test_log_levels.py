"""The gateway asks and tells all processes what they log, and says who has not answered."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import grpc.aio
import httpx
import pytest
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.logging.v1 import logging_service_pb2 as pb
from rocketconnect.logging.v1.logging_service_pb2_grpc import LoggingServiceServicer, add_LoggingServiceServicer_to_server

from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import line
from rocketconnect_kit.testing import server_for_test
from services.gateway.settings import GatewaySettings

Serving = Callable[[GatewaySettings], AbstractAsyncContextManager[httpx.AsyncClient]]


class Process(LoggingServiceServicer):
    """One that keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[pb.SetLogLevelRequest] = []
        self.address = ""

    async def SetLogLevel(self, request: pb.SetLogLevelRequest, context: Any) -> pb.SetLogLevelResponse:
        self.told.append(request)
        level = pb.LoggerLevel(logger=request.logger, level=request.level)
        return pb.SetLogLevelResponse(processes=[pb.ProcessLevels(levels=[level])])

    async def GetLogLevels(self, request: pb.GetLogLevelsRequest, context: Any) -> pb.GetLogLevelsResponse:
        return pb.GetLogLevelsResponse(processes=[pb.ProcessLevels(levels=[pb.LoggerLevel(logger="root")])])


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    made = Process()

    def add(server: grpc.aio.Server) -> None:
        add_LoggingServiceServicer_to_server(made, server)

    async with server_for_test(add) as made.address:
        yield made


async def put(rest: httpx.AsyncClient, logger: str = "a.b", **body: str) -> httpx.Response:
    return await rest.put(f"/v1/loggers/{logger}", json=body)


def who(answer: httpx.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 200, answer.text
    return [(each["service"], each.get("workerId", "")) for each in answer.json()["processes"]]


async def test_every_replica_and_executor_is_told_and_the_gateway_too(system: Any, serving: Serving, process: Process) -> None:
    port = process.address.rpartition(":")[2]
    system.workers.workers[:] = [
        cluster.Worker(worker_id="w", alive=True, address=process.address),
        cluster.Worker(worker_id="gone"),
    ]
    addresses = {"config_address": f"127.0.0.1:{port},127.0.0.1:{port}", "position_address": process.address}
    settings = system.settings(**{**system.addresses, **addresses})
    async with serving(settings) as rest:
        answer = await put(rest, level="LOG_LEVEL_DEBUG", lasts="60s")
        told = [(each.logger, each.level, each.lasts.seconds) for each in process.told]
        listed = await rest.get("/v1/loggers", params={"service": "gateway"})
        await put(rest)
    services = ["config", "config", "position", "state", "cluster", "gateway"]
    assert who(answer) == [*((name, "") for name in services), ("executor", "w")]
    assert told == [("a.b", pb.LOG_LEVEL_DEBUG, 60)] * 4
    problems = {each["service"]: each["problem"] for each in answer.json()["processes"] if each.get("problem")}
    assert problems.keys() == {"state", "cluster"}
    assert "knows no levels" in problems["state"]
    levels = {each["logger"]: each["level"] for each in listed.json()["processes"][0]["levels"]}
    assert levels["a.b"] == "LOG_LEVEL_DEBUG"


async def test_a_worker_or_a_connector_means_executors_alone(system: Any, rest: httpx.AsyncClient, process: Process) -> None:
    system.workers.workers[:] = [cluster.Worker(worker_id=name, alive=True, address=process.address) for name in ("v", "w")]
    assert who(await put(rest, level="LOG_LEVEL_DEBUG", workerId="w")) == [("executor", "w")]
    assert who(await put(rest, level="LOG_LEVEL_DEBUG", connector="c")) == [("executor", "v"), ("executor", "w")]
    assert who(await rest.get("/v1/loggers", params={"workerId": "v"})) == [("executor", "v")]


async def test_who_is_away_is_told_of_with_the_reason(system: Any, rest: httpx.AsyncClient) -> None:
    system.workers.workers[:] = [cluster.Worker(worker_id="w", alive=True, address="127.0.0.1:1")]
    (told,) = (await put(rest, level="LOG_LEVEL_DEBUG", workerId="w")).json()["processes"]
    assert told["problem"]
    assert told["address"] == "127.0.0.1:1"


@pytest.mark.parametrize(
    ("logger", "body", "status", "reason"),
    [
        ("a..b", {}, 400, "LEVEL_INVALID"),
        ("a", {"lasts": "0.5s"}, 400, "LEVEL_INVALID"),
        ("a", {"service": "exporter"}, 400, "SERVICE_UNKNOWN"),
        ("a", {"workerId": "nobody"}, 404, "WORKER_NOT_FOUND"),
        ("a", {"level": "TRACE"}, 400, None),
    ],
)
async def test_what_is_wrong_is_refused_before_anybody_is_told(
    rest: httpx.AsyncClient, logger: str, body: dict[str, str], status: int, reason: str | None
) -> None:
    answer = await put(rest, logger, **body)
    assert answer.status_code == status, answer.text
    assert reason in (None, answer.json()["reason"])


async def test_who_reads_may_look_and_not_set(system: Any, serving: Serving, tmp_path: Path) -> None:
    callers = tmp_path / "callers"
    callers.write_text(line("bob", Role.READ, "of-bob"))
    async with serving(system.settings(tokens_files=str(callers))) as rest:
        rest.headers["Authorization"] = "Bearer of-bob"
        assert (await rest.get("/v1/loggers", params={"service": "gateway"})).status_code == 200
        assert (await put(rest, level="LOG_LEVEL_DEBUG")).status_code == 403
