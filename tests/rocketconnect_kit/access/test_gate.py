"""Who may call what: the roles, and the gate of a real server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pool
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import (
    ClusterServiceServicer,
    ClusterServiceStub,
    add_ClusterServiceServicer_to_server,
)

from rocketconnect_kit.access.asking import ASKED_BY
from rocketconnect_kit.access.current import IDENTITY
from rocketconnect_kit.access.gate import Gate, check_worker, may_use_secrets
from rocketconnect_kit.access.roles import KNOWN, Role, may_call
from rocketconnect_kit.access.signing import public_key
from rocketconnect_kit.access.tokens import Tokens, key_line, line
from rocketconnect_kit.calls.channel import channel, sync_channel
from rocketconnect_kit.calls.in_turn import Channels
from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.serving.server import CallLimits, make_server
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.settings import ServiceSettings

SERVICES = ("access", "config", "executor", "keystore", "logging", "position", "topic", "state", "cluster", "deadletter")


def methods() -> set[str]:
    """All methods of all services of this repository, without the first part of their names."""
    found = set()
    for name in SERVICES:
        file = descriptor_pool.Default().FindFileByName(f"rocketconnect/{name}/v1/{name}_service.proto")
        for service in file.services_by_name.values():
            found |= {f"{service.full_name.removeprefix('rocketconnect.')}/{method.name}" for method in service.methods}
    return found


def test_the_role_for_every_method_was_thought_of() -> None:
    for name in SERVICES:
        __import__(f"rocketconnect.{name}.v1.{name}_service_pb2")
    assert methods() == KNOWN


@pytest.mark.parametrize(
    ("role", "method", "may"),
    [
        (Role.READ, "config.v1.ConfigService/GetConnector", True),
        (Role.READ, "config.v1.ConfigService/CreateConnector", False),
        (Role.READ, "config.v1.ConfigService/ValidateConnector", False),
        (Role.READ, "position.v1.PositionService/CommitPositions", False),
        (Role.WRITE, "config.v1.ConfigService/GetConnector", True),
        (Role.WRITE, "position.v1.PositionService/AlterPositions", True),
        (Role.WRITE, "position.v1.PositionService/OpenTask", False),
        (Role.WRITE, "keystore.v1.KeystoreService/ReadSealedSecret", False),
        (Role.WRITE, "executor.v1.ExecutorService/SignalTask", False),
        (Role.WRITE, "cluster.v1.ClusterService/RegisterWorker", False),
        (Role.WORKER, "cluster.v1.ClusterService/RegisterWorker", True),
        (Role.WORKER, "cluster.v1.ClusterService/RequestPlan", True),
        (Role.WRITE, "cluster.v1.ClusterService/RequestPlan", False),
        (Role.WORKER, "config.v1.ConfigService/CreateConnector", False),
        (Role.WORKER, "executor.v1.ExecutorService/SignalTask", False),
        (Role.WORKER, "topic.v1.TopicService/PeekTopic", False),
        (Role.SERVICE, "executor.v1.ExecutorService/SignalTask", True),
        (Role.WRITE, "config.v9.ConfigService/New", False),
    ],
)
def test_what_a_role_may_call(role: Role, method: str, may: bool) -> None:
    assert may_call(role, f"/rocketconnect.{method}") is may


class Cluster(ClusterServiceServicer):
    """Says who called."""

    async def RegisterWorker(self, request: cluster.RegisterWorkerRequest, context: Any) -> cluster.RegisterWorkerResponse:
        check_worker(request.worker_id)
        return cluster.RegisterWorkerResponse(session=7)

    async def ListWorkers(self, request: cluster.ListWorkersRequest, context: Any) -> cluster.ListWorkersResponse:
        who = IDENTITY.get()
        name = who.name if who else ""
        return cluster.ListWorkersResponse(next_page_token=name + (" with secrets" if may_use_secrets() else ""))

    async def WatchAssignments(
        self, request: cluster.WatchAssignmentsRequest, context: Any
    ) -> AsyncIterator[cluster.WatchAssignmentsResponse]:
        yield cluster.WatchAssignmentsResponse()
        if request.worker_id == "endless":
            await asyncio.Event().wait()


@asynccontextmanager
async def server(file: Path | None, *, takes_signed: bool = False) -> AsyncIterator[str]:
    limits = CallLimits(30)
    gate = Gate(Tokens([file]) if file is not None else None)
    made = make_server(limits, gates=[gate])
    add_ClusterServiceServicer_to_server(Cluster(), made)
    port = made.add_insecure_port("127.0.0.1:0")
    gate.address = f"127.0.0.1:{port}" if takes_signed else ""
    await made.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        limits.end_streams()
        await made.stop(1)


def settings(folder: Path, token: str | None) -> ServiceSettings:
    if token is None:
        return ServiceSettings()
    (folder / "token").write_text(token)
    return ServiceSettings(token_file=folder / "token")


async def refusal(call: Any) -> ServiceError:
    with pytest.raises(grpc.RpcError) as raised:
        await call
    return decode(raised.value)


async def test_who_shows_no_token_or_a_wrong_one_is_not_let_in(tmp_path: Path) -> None:
    callers = tmp_path / "callers"
    callers.write_text(line("alice", Role.READ, "right"))
    async with server(callers) as address:
        for shown in (None, "wrong"):
            async with channel(address, settings(tmp_path, shown)) as opened:
                said = await refusal(ClusterServiceStub(opened).ListWorkers(cluster.ListWorkersRequest()))
            assert (said.code, said.reason) == ("UNAUTHENTICATED", "NOT_KNOWN")
            assert "who calls /rocketconnect.cluster.v1.ClusterService/ListWorkers is not known; show a token" in said.message
        async with channel(address, settings(tmp_path, "right")) as opened:
            answer = await ClusterServiceStub(opened).ListWorkers(cluster.ListWorkersRequest())
        assert answer.next_page_token == "alice"
        with sync_channel(address, settings(tmp_path, "right")) as blocking:
            stub = ClusterServiceStub(blocking)
            assert (await asyncio.to_thread(stub.ListWorkers, cluster.ListWorkersRequest())).next_page_token == "alice"


async def test_a_role_calls_what_it_may_and_a_token_that_is_taken_back_nothing(tmp_path: Path) -> None:
    callers = tmp_path / "callers"
    callers.write_text(line("alice", Role.WRITE, "a") + line("worker-1", Role.WORKER, "w"))
    async with server(callers) as address:
        async with channel(address, settings(tmp_path, "a")) as opened:
            said = await refusal(ClusterServiceStub(opened).RegisterWorker(cluster.RegisterWorkerRequest(worker_id="worker-1")))
            assert (said.code, said.reason) == ("PERMISSION_DENIED", "NOT_ALLOWED")
            assert (
                "'alice' has the role write, which may not call /rocketconnect.cluster.v1.ClusterService/RegisterWorker"
                in said.message
            )
        async with channel(address, settings(tmp_path, "w")) as opened:
            stub = ClusterServiceStub(opened)
            assert (await stub.RegisterWorker(cluster.RegisterWorkerRequest(worker_id="worker-1"))).session == 7
            assert [answer async for answer in stub.WatchAssignments(cluster.WatchAssignmentsRequest())]
            callers.write_text(line("alice", Role.WRITE, "a"))
            assert (await refusal(stub.ListWorkers(cluster.ListWorkersRequest()))).code == "UNAUTHENTICATED"


async def test_a_stream_ends_with_the_token_that_it_was_called_with(tmp_path: Path) -> None:
    callers = tmp_path / "callers"
    callers.write_text(line("worker-1", Role.WORKER, "w", datetime.now(UTC) + timedelta(seconds=2)))
    async with server(callers) as address, channel(address, settings(tmp_path, "w")) as opened, asyncio.timeout(20):
        watch = aiter(ClusterServiceStub(opened).WatchAssignments(cluster.WatchAssignmentsRequest(worker_id="endless")))
        assert await anext(watch) is not None
        said = await refusal(anext(watch))
    assert (said.code, said.reason) == ("UNAUTHENTICATED", "NOT_KNOWN")
    assert "the token with which /rocketconnect.cluster.v1.ClusterService/WatchAssignments was called has ended" in said.message


async def test_a_worker_speaks_for_itself_alone(tmp_path: Path) -> None:
    callers = tmp_path / "callers"
    callers.write_text(line("spark-*", Role.WORKER, "w") + line("cluster", Role.SERVICE, "s"))
    async with server(callers) as address:
        async with channel(address, settings(tmp_path, "w")) as opened:
            stub = ClusterServiceStub(opened)
            assert (await stub.RegisterWorker(cluster.RegisterWorkerRequest(worker_id="spark-2"))).session == 7
            said = await refusal(stub.RegisterWorker(cluster.RegisterWorkerRequest(worker_id="worker-1")))
            assert (said.code, said.reason) == ("PERMISSION_DENIED", "NOT_ALLOWED")
            assert "the worker 'spark-*', which may not speak for 'worker-1'" in said.message
        async with channel(address, settings(tmp_path, "s")) as opened:
            assert (
                await ClusterServiceStub(opened).RegisterWorker(cluster.RegisterWorkerRequest(worker_id="worker-1"))
            ).session == 7


async def test_a_service_is_let_in_to_what_the_one_may_for_whom_it_asks(tmp_path: Path) -> None:
    callers = tmp_path / "callers"
    callers.write_text(line("gateway", Role.SERVICE, "s") + line("bob", Role.READ, "b"))

    async def named(stub: Any, said: str) -> str:
        answer = await stub.ListWorkers(cluster.ListWorkersRequest(), metadata=((ASKED_BY, said),))
        return str(answer.next_page_token)

    async def refused(stub: Any, said: str) -> str:
        registered = stub.RegisterWorker(cluster.RegisterWorkerRequest(worker_id="worker-1"), metadata=((ASKED_BY, said),))
        return (await refusal(registered)).reason

    # Also where nobody is asked who calls: `up --tokens-file` guards REST alone.
    for file, token in ((callers, "s"), (None, None)):
        async with server(file) as address, channel(address, settings(tmp_path, token)) as opened:
            stub = ClusterServiceStub(opened)
            assert await named(stub, "read alice") == "alice"
            assert await named(stub, "write alice") == "alice with secrets"
            assert await refused(stub, "read alice") == "NOT_ALLOWED"
            for wrong in ("", "read", "worker worker-1", "all alice", "read a b"):
                assert (await refusal(stub.ListWorkers(cluster.ListWorkersRequest(), metadata=((ASKED_BY, wrong),)))).reason == (
                    "NOT_ALLOWED"
                ), wrong
            answer = await stub.ListWorkers(cluster.ListWorkersRequest())
            assert answer.next_page_token == ("gateway with secrets" if token else " with secrets")
    # Nobody else asks for others.
    async with server(callers) as address, channel(address, settings(tmp_path, "b")) as opened:
        assert await named(ClusterServiceStub(opened), "write alice") == "bob"


async def test_executors_are_called_with_a_signature_that_no_other_server_takes(tmp_path: Path) -> None:
    callers = tmp_path / "callers"
    callers.write_text(key_line("gateway", Role.SERVICE, public_key("s")))
    channels = Channels(settings(tmp_path, "s"))

    async def asked(address: str, asked_by: str = "") -> str:
        metadata = ((ASKED_BY, asked_by),) if asked_by else None
        stub = ClusterServiceStub(await channels.to(address))
        return str((await stub.ListWorkers(cluster.ListWorkersRequest(), metadata=metadata)).next_page_token)

    async with server(callers, takes_signed=True) as executor, server(callers) as other:
        assert await asked(executor) == "gateway with secrets"
        assert await asked(executor, "read bob") == "bob"
        assert (await refusal(asked(other))).reason == "NOT_KNOWN"
        # Under a name that is not its own.
        said = await refusal(asked(executor.replace("127.0.0.1", "localhost")))
        assert (said.reason, "it is signed for 'localhost:" in said.message) == ("NOT_KNOWN", True)
        callers.write_text("")
        assert "nobody has the key" in (await refusal(asked(executor))).message
        # The token itself, as the versions before showed it, has a line of its own.
        callers.write_text(line("gateway", Role.SERVICE, "s"))
        async with channel(executor, settings(tmp_path, "s")) as opened:
            answer = await ClusterServiceStub(opened).ListWorkers(cluster.ListWorkersRequest())
            assert answer.next_page_token == "gateway with secrets"
    await channels.close()
