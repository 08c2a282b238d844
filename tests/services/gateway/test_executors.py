import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc.aio
import pytest
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.executor.v1 import executor_service_pb2 as pb
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceServicer, add_ExecutorServiceServicer_to_server

from rocketconnect_kit.access.asking import ASKED_BY
from rocketconnect_kit.access.current import IDENTITY
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import Identity
from rocketconnect_kit.errors import DeadlineExceeded, NotFound, Unavailable
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_kit.testing import server_for_test
from services.gateway.executors import Executors

LIST = pb.DESCRIPTOR.services_by_name["ExecutorService"].methods_by_name["ListPlugins"]
HANG_SECONDS = 20.0


@dataclass
class Executor(ExecutorServiceServicer):
    """Answers with its name, after a while, or with a refusal."""

    name: str
    delay: float = 0
    refuses: bool = False
    asked: int = 0
    asked_by: str = ""

    async def ListPlugins(self, request: pb.ListPluginsRequest, context: Any) -> pb.ListPluginsResponse:
        self.asked += 1
        self.asked_by = dict(context.invocation_metadata()).get(ASKED_BY, "")
        await asyncio.sleep(self.delay)
        if self.refuses:
            raise NotFound("NOTHING_HERE", "there is nothing")
        return pb.ListPluginsResponse(plugins=[connector_pb2.Plugin(name=self.name)])


@pytest.fixture
async def serving() -> AsyncIterator[Any]:
    """Starts executors; gives them as workers of the cluster."""
    async with AsyncExitStack() as stack:

        async def start(*servicers: Executor | None) -> list[cluster.Worker]:
            return [
                cluster.Worker(worker_id=f"worker-{number}", address=await stack.enter_async_context(_server(each)), alive=True)
                for number, each in enumerate(servicers)
            ]

        yield start


@asynccontextmanager
async def _server(servicer: Executor | None) -> AsyncIterator[str]:
    """None: of a version that does not have what is asked."""

    def add(server: grpc.aio.Server) -> None:
        if servicer is not None:
            add_ExecutorServiceServicer_to_server(servicer, server)

    async with server_for_test(add) as address:
        yield address


def of(workers: Sequence[cluster.Worker]) -> Executors:
    async def listed() -> Sequence[cluster.Worker]:
        return workers

    return Executors(ServiceSettings(), listed)


async def ask(executors: Executors, seconds: float = HANG_SECONDS, *, reads: bool = True) -> str:
    answer: Any = await executors.unary(LIST, pb.ListPluginsRequest(), seconds, reads=reads)
    return str(answer.plugins[0].name)


def nobody() -> cluster.Worker:
    """A worker whose lease lasts, where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    return cluster.Worker(worker_id="gone", address=address, alive=True)


async def test_executor_that_lives_no_more_is_passed_over_and_so_is_one_that_is_too_old(serving: Any) -> None:
    executors = of([nobody(), *await serving(None, Executor("good"))])
    assert await ask(executors) == "good"
    await executors.close()


async def test_worker_whose_lease_has_ended_is_not_asked(serving: Any) -> None:
    dead, good = Executor("dead"), Executor("good")
    workers = await serving(dead, good)
    workers[0].alive = False
    executors = of(workers)
    assert await ask(executors) == "good"
    assert dead.asked == 0
    await executors.close()


async def test_refusal_of_an_executor_is_the_answer(serving: Any) -> None:
    refusing, other = Executor("refusing", refuses=True), Executor("other")
    executors = of(await serving(refusing, other))
    with pytest.raises(NotFound) as refused:
        await ask(executors)
    assert refused.value.reason == "NOTHING_HERE"
    assert other.asked == 0
    await executors.close()


async def test_late_executor_is_passed_over_when_nothing_is_changed(serving: Any) -> None:
    executors = of(await serving(Executor("late", delay=HANG_SECONDS), Executor("good")))
    assert await ask(executors, 1.0) == "good"
    await executors.close()


async def test_late_executor_that_may_still_change_something_is_not_followed_by_another_one(serving: Any) -> None:
    other = Executor("other")
    executors = of(await serving(Executor("late", delay=HANG_SECONDS), other))
    with pytest.raises(DeadlineExceeded) as late:
        await ask(executors, 0.5, reads=False)
    assert late.value.reason == "SERVICE_TIMEOUT"
    assert other.asked == 0
    await executors.close()


async def test_nobody_answering_says_who_was_asked_and_what_to_do() -> None:
    gone = nobody()
    executors = of([gone])
    with pytest.raises(Unavailable) as away:
        await ask(executors)
    assert away.value.reason == "NO_EXECUTOR"
    assert gone.address in away.value.message
    await executors.close()
    with pytest.raises(Unavailable, match="none lives"):
        await ask(of([]))


async def test_those_that_were_known_are_asked_while_the_cluster_service_is_away(serving: Any) -> None:
    workers: Sequence[cluster.Worker] = await serving(Executor("good"))
    is_away = False

    async def listed() -> Sequence[cluster.Worker]:
        if is_away:
            raise Unavailable("SERVICE_AWAY", "the cluster service does not answer")
        return workers

    executors = Executors(ServiceSettings(), listed)
    assert await ask(executors) == "good"
    is_away = True
    assert await ask(executors) == "good"
    await executors.close()


async def test_executor_is_told_for_whom_it_is_asked(serving: Any) -> None:
    executor = Executor("good")
    executors = of(await serving(executor))
    for who, said in ((Identity("bob", Role.READ), "read bob"), (None, "")):
        IDENTITY.set(who)
        await ask(executors)
        assert executor.asked_by == said
    await executors.close()
