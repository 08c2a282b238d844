import asyncio
import os
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.config.v1 import config_service_pb2_grpc as rpc
from rocketconnect.connector.v1 import connector_pb2

from rocketconnect_kit import errors
from rocketconnect_kit.calls import channel as channel_module
from rocketconnect_kit.calls.channel import channel, sync_channel, target
from rocketconnect_kit.serving.caller import caller
from rocketconnect_kit.serving.server import CallLimits, make_server, server_credentials
from rocketconnect_kit.serving.status import remote_errors
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_kit.testing import server_for_test


class Service(rpc.ConfigServiceServicer):
    def __init__(self, name: str = "one") -> None:
        self.name = name
        self.calls = 0
        self.remaining: float | None = None

    async def GetConnector(self, request: pb.GetConnectorRequest, context: Any) -> pb.GetConnectorResponse:
        self.calls += 1
        if request.name == "slow":
            self.remaining = context.time_remaining()
            await asyncio.sleep(30)
        if request.name == "away":
            raise errors.Unavailable("NO_CAPABLE_EXECUTOR", "start one")
        if request.name == "dropped" and self.calls == 1:
            await context.abort(grpc.StatusCode.CANCELLED)
        answer = pb.GetConnectorResponse()
        answer.connector.name = self.name
        return answer


def add(service: Service) -> Any:
    return lambda server: rpc.add_ConfigServiceServicer_to_server(service, server)


async def test_call_without_a_timeout_gets_the_default_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_module, "DEADLINE_SECONDS", 0.3)
    service = Service()
    async with server_for_test(add(service)) as address, channel(address, ServiceSettings()) as opened:
        with pytest.raises(errors.DeadlineExceeded), remote_errors():
            await rpc.ConfigServiceStub(opened).GetConnector(pb.GetConnectorRequest(name="slow"))
    # The caller's: a server ends calls after a while by itself.
    assert service.remaining is not None
    # On its way it is rounded up to a whole millisecond.
    assert service.remaining <= 0.301


async def test_blocking_channel_works_from_a_thread_and_has_the_default_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_module, "DEADLINE_SECONDS", 0.3)

    def calls(address: str) -> str:
        with sync_channel(address, ServiceSettings()) as opened:
            stub: Any = rpc.ConfigServiceStub(opened)
            with pytest.raises(errors.DeadlineExceeded), remote_errors():
                stub.GetConnector(pb.GetConnectorRequest(name="slow"))
            name: str = stub.GetConnector(pb.GetConnectorRequest(name="x"), timeout=60).connector.name
            return name

    service = Service()
    async with server_for_test(add(service)) as address:
        assert await asyncio.to_thread(calls, address) == "one"
    assert service.remaining is not None
    # On its way it is rounded up to a whole millisecond.
    assert service.remaining <= 0.301


async def test_a_call_outlives_a_restart_of_the_service_within_its_deadline() -> None:
    async with server_for_test(add(Service())) as address:
        opened = channel(address, ServiceSettings())
        stub = rpc.ConfigServiceStub(opened)
        await stub.GetConnector(pb.GetConnectorRequest(name="x"))
    call = asyncio.ensure_future(stub.GetConnector(pb.GetConnectorRequest(name="x"), timeout=60))
    await asyncio.sleep(0.15)
    async with server_for_test(add(Service("two")), port=int(address.rpartition(":")[2])):
        assert (await call).connector.name == "two"
    await opened.close()


async def test_unavailable_that_a_service_answered_itself_is_not_repeated() -> None:
    service = Service()
    async with server_for_test(add(service)) as address, channel(address, ServiceSettings()) as opened:
        with pytest.raises(errors.Unavailable) as caught, remote_errors():
            await rpc.ConfigServiceStub(opened).GetConnector(pb.GetConnectorRequest(name="away"))
    assert caught.value.reason == "NO_CAPABLE_EXECUTOR"
    assert service.calls == 1


async def test_a_call_that_a_draining_server_drops_is_repeated_and_one_that_is_cancelled_here_is_not() -> None:
    service = Service()
    async with server_for_test(add(service)) as address, channel(address, ServiceSettings()) as opened:
        stub = rpc.ConfigServiceStub(opened)
        assert (await stub.GetConnector(pb.GetConnectorRequest(name="dropped"), timeout=60)).connector.name == "one"
        assert service.calls == 2
        call = asyncio.ensure_future(stub.GetConnector(pb.GetConnectorRequest(name="slow"), timeout=60))
        while service.calls < 3:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.sleep(0.5)
        assert service.calls == 3


async def test_replicas_take_turns_and_one_that_is_away_is_left_out() -> None:
    async with server_for_test(add(Service("a"))) as first, server_for_test(add(Service("b"))) as second:
        async with server_for_test(add(Service("gone"))) as third:
            pass
        async with channel(f"{first},{second},{third}", ServiceSettings()) as opened:
            stub = rpc.ConfigServiceStub(opened)
            names = set()
            for _ in range(40):
                names.add((await stub.GetConnector(pb.GetConnectorRequest(name="x"))).connector.name)
                await asyncio.sleep(0.01)
    assert names == {"a", "b"}


ASKS_BY_NAME = """
import asyncio, sys
from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub
from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.settings import ServiceSettings

async def main():
    async with channel(sys.argv[1], ServiceSettings()) as opened:
        stub = ConfigServiceStub(opened)
        for _ in sys.stdin:
            names = set()
            for _ in range(40):
                names.add((await stub.GetConnector(pb.GetConnectorRequest(name="x"), timeout=60)).connector.name)
                await asyncio.sleep(0.01)
            print(*sorted(names), flush=True)

asyncio.run(main())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace needs root")
async def test_a_name_with_several_addresses_leads_to_all_replicas_and_past_one_that_is_gone(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 replicas.test\n127.0.0.2 replicas.test\n")
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(server_for_test(add(Service("a"))))
        port = int(first.rpartition(":")[2])
        second = make_server(CallLimits(30))
        add(Service("b"))(second)
        second.add_insecure_port(f"127.0.0.2:{port}")
        await second.start()
        command = f"mount --bind {hosts} /etc/hosts && exec {sys.executable} -c '{ASKS_BY_NAME}' replicas.test:{port}"
        client = await asyncio.create_subprocess_exec(
            *("unshare", "--mount", "sh", "-c", command), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert client.stdin is not None
        assert client.stdout is not None
        try:
            for expected in ("a b", "a"):
                client.stdin.write(b"\n")
                assert (await asyncio.wait_for(client.stdout.readline(), 60)).decode().strip() == expected
                await second.stop(0)
        finally:
            client.kill()
            await client.wait()


def test_targets() -> None:
    assert target("config.local:8090") == "dns:///config.local:8090"
    assert target("10.0.0.1:1,10.0.0.2:2") == "ipv4:10.0.0.1:1,10.0.0.2:2"
    with pytest.raises(ValueError, match="empty"):
        target("")


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    ca = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=ca"]
    openssl("req", *ca, "-keyout", f"{tmp_path}/ca.key", "-out", f"{tmp_path}/ca.pem")
    (tmp_path / "san").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=s", "-keyout", f"{tmp_path}/s.key", "-out", f"{tmp_path}/s.csr")
    signing = ["-CA", f"{tmp_path}/ca.pem", "-CAkey", f"{tmp_path}/ca.key", "-CAcreateserial", "-days", "2"]
    openssl("x509", "-req", "-in", f"{tmp_path}/s.csr", *signing, "-extfile", f"{tmp_path}/san", "-out", f"{tmp_path}/s.pem")
    return tmp_path


class SaysWhoCalls(Service):
    async def GetConnector(self, request: pb.GetConnectorRequest, context: Any) -> pb.GetConnectorResponse:
        there = caller(context)
        return pb.GetConnectorResponse(connector=connector_pb2.Connector(name=there.proved, uid=there.address))


async def test_a_caller_is_known_by_its_certificate_and_its_address(certificates: Path) -> None:
    own = {"tls_cert": certificates / "s.pem", "tls_key": certificates / "s.key", "tls_ca": certificates / "ca.pem"}
    secure = ServiceSettings(**own)  # type: ignore[arg-type]
    plain = ServiceSettings()
    for settings, host, expected in ((secure, "127.0.0.1", "s"), (plain, "127.0.0.1", ""), (plain, "[::1]", "")):
        server = make_server(CallLimits(30))
        add(SaysWhoCalls())(server)
        credentials = server_credentials(settings)
        port = server.add_secure_port(f"{host}:0", credentials) if credentials else server.add_insecure_port(f"{host}:0")
        await server.start()
        try:
            async with channel(f"{host}:{port}", settings) as opened:
                said = (await rpc.ConfigServiceStub(opened).GetConnector(pb.GetConnectorRequest(name="x"))).connector
        finally:
            await server.stop(0)
        assert (said.name, said.uid) == (expected, host.strip("[]"))


async def test_mutual_tls_lets_in_who_shows_a_certificate_and_nobody_else(certificates: Path) -> None:
    own = {"tls_cert": certificates / "s.pem", "tls_key": certificates / "s.key", "tls_ca": certificates / "ca.pem"}
    settings = ServiceSettings(**own)  # type: ignore[arg-type]
    credentials = server_credentials(settings)
    assert credentials is not None
    server = make_server(CallLimits(30))
    add(Service())(server)
    address = f"127.0.0.1:{server.add_secure_port('127.0.0.1:0', credentials)}"
    await server.start()
    try:
        async with channel(address, settings) as opened:
            assert (await rpc.ConfigServiceStub(opened).GetConnector(pb.GetConnectorRequest(name="x"))).connector.name == "one"
        for stranger in (ServiceSettings(), ServiceSettings(tls_ca=certificates / "ca.pem")):
            async with channel(address, stranger) as opened:
                with pytest.raises(grpc.RpcError):
                    await rpc.ConfigServiceStub(opened).GetConnector(pb.GetConnectorRequest(name="x"), timeout=60)
    finally:
        await server.stop(0)
