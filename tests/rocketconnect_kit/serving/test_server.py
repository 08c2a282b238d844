import asyncio
import json
import os
import re
import signal
import socket
import sys
import textwrap
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.config.v1 import config_service_pb2_grpc as rpc

from rocketconnect_kit.serving.status import decode

PROGRAM = textwrap.dedent(
    """
    import asyncio, os, sys
    from pathlib import Path
    from rocketconnect.config.v1 import config_service_pb2 as pb, config_service_pb2_grpc as rpc
    from rocketconnect_kit.serving.server import serve
    from rocketconnect_kit.settings import ServiceSettings, load

    class Service(rpc.ConfigServiceServicer):
        async def GetConnector(self, request, context):
            await asyncio.sleep(float(request.name))
            return pb.GetConnectorResponse()

        async def WatchConnectors(self, request, context):
            yield pb.WatchConnectorsResponse(snapshot=True)
            await asyncio.Event().wait()

    async def dependency():
        if Path(os.environ["BROKEN"]).exists():
            raise ConnectionError("the store db://u:hunter2@h is away")

    async def stopped():
        print("stop hook ran", file=sys.stderr)

    sys.exit(asyncio.run(serve(
        "config", lambda server: rpc.add_ConfigServiceServicer_to_server(Service(), server),
        load(ServiceSettings, sys.argv[1:]), health={"store": dependency}, on_stop=[stopped])))
    """
)


# Their published types describe only synchronous channels.
health_stub: Any = health_pb2_grpc.HealthStub
reflection_stub: Any = reflection_pb2_grpc.ServerReflectionStub
reflection: Any = reflection_pb2


@dataclass
class Running:
    process: asyncio.subprocess.Process
    address: str
    metrics: str

    async def end(self) -> tuple[int, str]:
        _out, err = await asyncio.wait_for(self.process.communicate(), 15)
        assert _out == b""
        return self.process.returncode or 0, err.decode()


@asynccontextmanager
async def running(*flags: str, broken: str = "/nonexistent") -> AsyncIterator[Running]:
    read, write = os.pipe()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM,
        "--announce-fd",
        str(write),
        *flags,
        pass_fds=[write],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "BROKEN": broken},
    )
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            line = await asyncio.wait_for(asyncio.to_thread(pipe.readline), 240)
        said = json.loads(line)
        assert said["service"] == "config"
        yield Running(process, said["address"], said["metrics"])
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def services_told_by(channel: grpc.aio.Channel) -> list[str]:
    async def ask() -> AsyncIterator[Any]:
        yield reflection.ServerReflectionRequest(list_services="")

    answers = reflection_stub(channel).ServerReflectionInfo(ask(), timeout=5)
    return [service.name async for answer in answers for service in answer.list_services_response.service]


async def test_announces_its_addresses_and_serves_health_reflection_and_metrics() -> None:
    async with running() as service, grpc.aio.insecure_channel(service.address) as channel:
        health = await health_stub(channel).Check(
            health_pb2.HealthCheckRequest(service="rocketconnect.config.v1.ConfigService"), timeout=5
        )
        assert health.status == health_pb2.HealthCheckResponse.SERVING
        await rpc.ConfigServiceStub(channel).GetConnector(pb.GetConnectorRequest(name="0"), timeout=60)
        assert "rocketconnect.config.v1.ConfigService" in await services_told_by(channel)
        text = await asyncio.to_thread(
            lambda: urllib.request.urlopen(f"http://{service.metrics}/metrics", timeout=5).read().decode()
        )
        assert 'rocketconnect_rpc_calls_total{code="OK",method="/rocketconnect.config.v1.ConfigService/GetConnector"} 1.0' in text
        assert re.search(r"^rocketconnect_memory_limit_bytes \d", text, re.MULTILINE)
        service.process.terminate()
        code, err = await service.end()
    assert code == 0
    assert "stop hook ran" in err


async def test_which_calls_there_are_is_not_told_when_that_is_switched_off() -> None:
    async with running("--reflection", "false") as service, grpc.aio.insecure_channel(service.address) as channel:
        # One message and one answer: of a stream that is refused while it is written gRPC tells of the write, now and then.
        method = f"/{reflection.DESCRIPTOR.services_by_name['ServerReflection'].full_name}/ServerReflectionInfo"
        request = reflection.ServerReflectionRequest(list_services="").SerializeToString()
        with pytest.raises(grpc.aio.AioRpcError) as told:
            await channel.unary_unary(method)(request, timeout=5)
    assert told.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def probed(port: str, *words: str) -> tuple[int | None, str]:
    """What the health check of a container says: its exit code, and what it writes."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rocketconnect_kit.serving.probe", *words),
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "ROCKETCONNECT_METRICS_PORT": port},
    )
    _out, err = await asyncio.wait_for(process.communicate(), 30)
    return process.returncode, err.decode()


async def test_health_follows_the_dependency_and_shows_no_password(tmp_path: object) -> None:
    broken = f"{tmp_path}/broken"
    open(broken, "w").close()  # noqa: PTH123, ASYNC230
    async with running(broken=broken) as service, grpc.aio.insecure_channel(service.address) as channel:
        stub = health_stub(channel)
        port = service.metrics.rpartition(":")[2]
        assert (await stub.Check(health_pb2.HealthCheckRequest(), timeout=60)).status == health_pb2.HealthCheckResponse.NOT_SERVING
        assert await probed(port) == (1, "store: the store db://u:***@h is away\n")
        os.unlink(broken)  # noqa: PTH108
        async with asyncio.timeout(8):
            while (await stub.Check(health_pb2.HealthCheckRequest(), timeout=60)).status != health_pb2.HealthCheckResponse.SERVING:
                await asyncio.sleep(0.1)
        assert await probed(port) == (0, "")
        assert await probed("", port) == (0, "")
        service.process.terminate()
        _code, err = await service.end()
    assert "hunter2" not in err
    assert "dependency answers again" in err
    assert "does not answer" in (await probed(port))[1]
    assert (await probed(""))[0] == 1


async def test_first_signal_lets_running_calls_end_and_ends_watches_with_unavailable() -> None:
    async with running() as service, grpc.aio.insecure_channel(service.address) as channel:
        stub = rpc.ConfigServiceStub(channel)
        watch = stub.WatchConnectors(pb.WatchConnectorsRequest())
        assert (await anext(aiter(watch))).snapshot
        call = asyncio.ensure_future(stub.GetConnector(pb.GetConnectorRequest(name="1"), timeout=60))
        await asyncio.sleep(0.3)
        service.process.send_signal(signal.SIGINT)
        with pytest.raises(grpc.RpcError) as caught:
            await anext(aiter(watch))
        assert decode(caught.value).reason == "DRAINING"
        assert await call == pb.GetConnectorResponse()
        code, _err = await service.end()
    assert code == 0


async def test_second_signal_ends_at_once() -> None:
    async with running("--drain-seconds", "30") as service, grpc.aio.insecure_channel(service.address) as channel:
        call = asyncio.ensure_future(rpc.ConfigServiceStub(channel).GetConnector(pb.GetConnectorRequest(name="25"), timeout=60))
        await asyncio.sleep(0.3)
        service.process.terminate()
        await asyncio.sleep(0.3)
        service.process.terminate()
        code, _err = await service.end()
        with pytest.raises(grpc.RpcError):
            await call
    assert code == 128 + signal.SIGTERM


async def test_call_without_a_deadline_gets_the_one_of_the_service() -> None:
    async with running("--call-seconds", "0.3") as service, grpc.aio.insecure_channel(service.address) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            await rpc.ConfigServiceStub(channel).GetConnector(pb.GetConnectorRequest(name="25"))
        assert decode(caught.value).reason == "CALL_TIMEOUT"


async def test_port_in_use_ends_with_1_and_says_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, "--port", str(port), stderr=asyncio.subprocess.PIPE, env={**os.environ, "BROKEN": "/no"}
        )
        _out, err = await asyncio.wait_for(process.communicate(), 15)
    assert process.returncode == 1
    assert f"127.0.0.1:{port}" in err.decode()
    assert "choose another --port" in err.decode()
    assert "Traceback" not in err.decode()


async def test_traces_go_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    async with running() as service, grpc.aio.insecure_channel(service.address) as channel:
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        await rpc.ConfigServiceStub(channel).GetConnector(
            pb.GetConnectorRequest(name="0"), metadata=(("traceparent", parent),), timeout=5
        )
        service.process.terminate()
        _code, err = await service.end()
    assert '"name": "rocketconnect.config.v1.ConfigService/GetConnector"' in err
    assert "0x0af7651916cd43dd8448eb211c80319c" in err
