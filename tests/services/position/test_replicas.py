"""Two processes of the position service on one PostgreSQL: a fence raised at one holds at the other, and commits go on."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import grpc
import pytest
from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.position.v1 import position_service_pb2_grpc as rpc

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.settings import ServiceSettings
from tests.services.cluster.databases import fresh_database
from tests.services.cluster.processes import service_process


class Two:
    """A stub to each process, and one that fails over between them."""

    def __init__(self) -> None:
        self.processes: list[asyncio.subprocess.Process] = []
        self.stubs: list[Any] = []
        self.either: Any = None


@pytest.fixture
async def two(postgres: str) -> AsyncIterator[Two]:
    url = fresh_database(postgres)
    made = Two()
    async with AsyncExitStack() as stack:
        addresses = []
        for _ in range(2):
            process, address = await stack.enter_async_context(service_process("position", "--store-url", url))
            opened = await stack.enter_async_context(grpc.aio.insecure_channel(address))
            made.processes.append(process)
            made.stubs.append(rpc.PositionServiceStub(opened))
            addresses.append(address)
        either = await stack.enter_async_context(channel(",".join(addresses), ServiceSettings(), service="position"))
        made.either = rpc.PositionServiceStub(either)
        yield made


def fence(epoch: int) -> pb.TaskFence:
    return pb.TaskFence(connector_uid="c", task=0, generation=1, epoch=epoch)


def commit(epoch: int, offset: int) -> pb.CommitPositionsRequest:
    request = pb.CommitPositionsRequest(fence=fence(epoch))
    # Two partitions that must always move together.
    for partition in ("a", "b"):
        position = request.updates.add().position
        position.partition, position.offset = partition, f"[{offset}]"
    return request


def offsets(answer: pb.OpenTaskResponse) -> dict[str, str]:
    return {position.partition: position.offset for position in answer.positions}


async def test_commits_go_through_either_and_a_task_that_opens_at_one_ends_those_at_the_other(two: Two) -> None:
    last = 0
    for epoch in range(1, 9):
        one, other = two.stubs[epoch % 2], two.stubs[(epoch + 1) % 2]
        opened = await one.OpenTask(pb.OpenTaskRequest(fence=fence(epoch)), timeout=60)
        # Exactly what the owner before was acknowledged: the fence ended its commits before they were read.
        assert offsets(opened) == ({"a": f"[{last}]", "b": f"[{last}]"} if last else {})
        acknowledged = [int(offsets(opened).get("a", "[0]")[1:-1])]
        begin = len(acknowledged)
        committing = asyncio.create_task(commit_until_fenced(other, epoch, acknowledged))
        async with asyncio.timeout(30):
            while len(acknowledged) < begin + 3:
                await asyncio.sleep(0.005)
        await one.OpenTask(pb.OpenTaskRequest(fence=fence(epoch + 1)), timeout=60)
        await asyncio.wait_for(committing, 15)
        last = acknowledged[-1]
        assert await reason(other.CommitPositions(commit(epoch, last + 2), timeout=15)) == "FENCED"


async def commit_until_fenced(stub: Any, epoch: int, acknowledged: list[int]) -> None:
    """Commit one after the other, noting what was acknowledged."""
    while (said := await reason(stub.CommitPositions(commit(epoch, acknowledged[-1] + 1), timeout=15))) == "OK":
        acknowledged.append(acknowledged[-1] + 1)
    assert said == "FENCED"


async def reason(call: Any) -> str:
    try:
        await call
    except grpc.RpcError as error:
        return decode(error).reason
    return "OK"


@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, *(pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGSTOP, signal.SIGTERM))],
)
async def test_commits_go_on_while_one_of_them_is_gone_and_none_that_was_acknowledged_is_lost(
    two: Two, number: signal.Signals
) -> None:
    await two.either.OpenTask(pb.OpenTaskRequest(fence=fence(1)), timeout=60)
    last = 0
    gone = False
    after = 0
    async with asyncio.timeout(90):
        while after < 50:
            last += 1
            while True:
                try:
                    await two.either.CommitPositions(commit(1, last), timeout=5)
                    break
                except grpc.RpcError as error:
                    # As a task does it: the same again until it is known.
                    assert decode(error).code in {"UNAVAILABLE", "DEADLINE_EXCEEDED"}  # noqa: PT017
            after += gone
            if last == 50:
                two.processes[0].send_signal(number)
                gone = True
    opened = await two.stubs[1].OpenTask(pb.OpenTaskRequest(fence=fence(2)), timeout=60)
    assert offsets(opened) == {"a": f"[{last}]", "b": f"[{last}]"}
    if number is signal.SIGSTOP:
        os.kill(two.processes[0].pid, signal.SIGCONT)
        assert await reason(two.stubs[0].CommitPositions(commit(1, last + 1), timeout=15)) == "FENCED"
