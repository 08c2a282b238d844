"""Who calls over gRPC is who it is over REST, and may call what that one may."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import grpc.aio
import httpx
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub

from rocketconnect_kit.access.roles import KNOWN, Role, may_call
from rocketconnect_kit.access.tokens import line
from services.gateway import executors
from services.gateway.api.rules import rules
from services.gateway.backends import service_of
from services.gateway.settings import GatewaySettings

Serving = Callable[[GatewaySettings], AbstractAsyncContextManager[httpx.AsyncClient]]
Dialled = Callable[[httpx.AsyncClient], grpc.aio.Channel]
TOKENS = {role: f"rct_{role.value}" for role in Role}
OFFERED = {f"/{rule.method.containing_service.full_name}/{rule.method.name}": rule.method for rule in rules()}
INNER = sorted({f"/rocketconnect.{method}" for method in KNOWN} - OFFERED.keys())
ANSWERED = {**dict.fromkeys(executors.PACKAGES, "any living executor"), "logging": "every process", "access": "the gateway itself"}
DENIED, UNKNOWN, NONE = grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNIMPLEMENTED


@pytest.fixture
def callers(tmp_path: Path) -> Path:
    file = tmp_path / "callers"
    file.write_text("".join(line(f"the-{role.value}", role, token) for role, token in TOKENS.items()))
    return file


async def code_of(opened: grpc.aio.Channel, method: str, shown: Iterator[tuple[str, str]] | tuple[tuple[str, str], ...]) -> Any:
    """How a call without any content ends; None: it is answered."""
    made: Any
    if method in OFFERED and OFFERED[method].server_streaming:
        made = opened.unary_stream(method)
        call = aiter(made(b"", metadata=tuple(shown), timeout=60))
        try:
            await anext(call)
        except grpc.aio.AioRpcError as error:
            return error.code()
        return None
    try:
        made = opened.unary_unary(method)
        await made(b"", metadata=tuple(shown), timeout=60)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return None


async def test_each_role_may_call_what_it_may_call_over_rest_and_nothing_else_is_there(
    system: Any, serving: Serving, dialled: Dialled, callers: Path
) -> None:
    async with serving(system.settings(tokens_files=str(callers), call_seconds=10)) as rest, dialled(rest) as opened:
        for role, token in TOKENS.items():
            shown = (("authorization", f"Bearer {token}"),)
            for method in OFFERED:
                is_denied = await code_of(opened, method, shown) is DENIED
                assert is_denied is (role is Role.WORKER or not may_call(role, method)), (role, method)
        for method in INNER:
            assert await code_of(opened, method, shown) is NONE, method


async def test_what_services_and_executors_say_to_each_other_is_not_offered() -> None:
    assert "/rocketconnect.keystore.v1.KeystoreService/ReadSealedSecret" in INNER
    assert "/rocketconnect.state.v1.StateService/ReportTasks" in INNER
    assert "/rocketconnect.cluster.v1.ClusterService/RegisterWorker" in INNER
    assert "/rocketconnect.executor.v1.ExecutorService/ValidateConnector" in INNER
    assert all(may_call(Role.WRITE, method) for method in OFFERED)


@pytest.mark.parametrize(
    "shown",
    [
        (),
        (("authorization", "Bearer guessed"),),
        (("authorization", "Basic rct_write"),),
        (("authorization", "rct_write"),),
        (("authorization", "RocketConnect-Signed e30.e30"),),
        (("authorization", ""),),
        (("rocketconnect-asked-by", "service the-service"),),
        (("authorization", "Bearer guessed"), ("authorization", f"Bearer {TOKENS[Role.WRITE]}")),
    ],
)
async def test_who_shows_no_token_that_is_known_is_let_in_to_nothing(
    system: Any, serving: Serving, dialled: Dialled, callers: Path, shown: tuple[tuple[str, str], ...]
) -> None:
    async with serving(system.settings(tokens_files=str(callers))) as rest, dialled(rest) as opened:
        assert await code_of(opened, "/rocketconnect.config.v1.ConfigService/ListConnectors", shown) is UNKNOWN


async def test_services_are_told_who_asks_and_are_shown_neither_its_token_nor_what_it_says_of_itself(
    system: Any, serving: Serving, dialled: Dialled, callers: Path
) -> None:
    metadata = (
        ("authorization", f"Bearer {TOKENS[Role.READ]}"),
        ("rocketconnect-asked-by", "service the-service"),
        ("x-other", "kept here"),
    )
    async with serving(system.settings(tokens_files=str(callers))) as rest, dialled(rest) as opened:
        await ClusterServiceStub(opened).ListWorkers(cluster.ListWorkersRequest(), metadata=metadata)
        over_grpc = system.workers.shown
        assert await code_of(opened, "/rocketconnect.config.v1.ConfigService/CreateConnector", metadata) is DENIED
        await rest.get("/v1/workers", headers={"Authorization": f"Bearer {TOKENS[Role.READ]}"})
    assert over_grpc["rocketconnect-asked-by"] == system.workers.shown["rocketconnect-asked-by"] == "read the-read"
    assert not {"authorization", "x-other"} & over_grpc.keys()


async def test_a_change_is_signed_with_the_name_of_the_token_whatever_its_caller_says(
    system: Any, serving: Serving, dialled: Dialled, callers: Path
) -> None:
    metadata = (("authorization", f"Bearer {TOKENS[Role.WRITE]}"),)
    file = {"connector.class": "file_source", "connect.topicname": "t", "filename": "/tmp/in"}
    async with serving(system.settings(tokens_files=str(callers))) as rest, dialled(rest) as opened:
        configs = ConfigServiceStub(opened)
        await configs.CreateConnector(config.CreateConnectorRequest(name="c", config=file, author="the boss"), metadata=metadata)
        told = await configs.ListChanges(config.ListChangesRequest(name="c"), metadata=metadata)
    assert [change.author for change in told.changes] == ["the-write"]


async def reflected(rest: httpx.AsyncClient, dialled: Dialled) -> set[str]:
    async with dialled(rest) as opened:
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(opened)  # type: ignore[arg-type]
        asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        answers = [answer async for answer in stub.ServerReflectionInfo(asked)]
    return {service.name for answer in answers for service in answer.list_services_response.service}


async def test_reflection_tells_of_what_is_offered_where_it_is_switched_on(system: Any, serving: Serving, dialled: Dialled) -> None:
    async with serving(system.settings()) as rest:
        names = await reflected(rest, dialled)
    assert {name for name in names if name.startswith("rocketconnect.")} == {name.split("/")[1] for name in OFFERED}
    async with serving(system.settings(reflection=False)) as rest:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await reflected(rest, dialled)
    assert raised.value.code() is NONE


def test_the_docs_tell_each_call_its_role_and_who_answers_it() -> None:
    page = (Path(__file__).parents[4] / "docs/grpc.md").read_text()
    rows = [row for row in page.splitlines() if row.startswith("| `rocketconnect.")]
    told: dict[str, tuple[str, Role]] = {}
    for row in rows:
        service, answered_by, *roles = (cell.strip() for cell in row.strip("|").split("|"))
        for role, names in zip((Role.READ, Role.WRITE), roles, strict=True):
            told |= {f"/{service.strip('`')}/{name}": (answered_by, role) for name in re.findall(r"`(\w+)`", names)}
    assert told == {
        method: (
            ANSWERED.get(service_of(found), service_of(found)),
            Role.READ if may_call(Role.READ, method) else Role.WRITE,
        )
        for method, found in OFFERED.items()
    }
