"""The real process: killed in the middle of concurrent commits many times, and complete each time it comes back."""

import asyncio
import json
import os
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest
from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.position.v1 import position_service_pb2_grpc as rpc

TASKS = 32


@asynccontextmanager
async def process(store_url: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, Any]]:
    read, write = os.pipe()
    words = ["-m", "services.position", "--store-url", store_url, "--announce-fd", str(write)]
    started = await asyncio.create_subprocess_exec(sys.executable, *words, pass_fds=[write], stderr=asyncio.subprocess.DEVNULL)
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            line = await asyncio.wait_for(asyncio.to_thread(pipe.readline), 240)
        async with grpc.aio.insecure_channel(json.loads(line)["address"]) as channel:
            yield started, rpc.PositionServiceStub(channel)
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


@pytest.mark.parametrize("rounds", [3, pytest.param(8, marks=pytest.mark.slow)])
async def test_killed_at_any_moment_it_comes_back_with_every_commit_and_fence_that_it_had_acknowledged(
    store_url: str, rounds: int
) -> None:
    asked = dict.fromkeys(range(TASKS), 0)
    acknowledged = dict.fromkeys(range(TASKS), 0)
    chance = random.Random(11)
    commits = 0

    async def commit_until_killed(stub: Any, task: int, epoch: int) -> None:
        nonlocal commits
        while True:
            asked[task] += 1
            request = pb.CommitPositionsRequest(fence=pb.TaskFence(connector_uid="c", task=task, generation=1, epoch=epoch))
            # Two partitions that must always move together.
            for partition in (f"{task}/a", f"{task}/b"):
                position = request.updates.add().position
                position.partition = partition
                position.offset = f"[{asked[task]}]"
            try:
                await stub.CommitPositions(request, timeout=60)
            except grpc.RpcError:
                return
            acknowledged[task] = asked[task]
            commits += 1

    for epoch in range(1, rounds + 1):
        async with process(store_url) as (running, stub):
            if epoch > 1:
                old = pb.TaskFence(connector_uid="c", task=0, generation=1, epoch=epoch - 2)
                assert await code(stub.OpenTask(pb.OpenTaskRequest(fence=old), timeout=60)) is grpc.StatusCode.FAILED_PRECONDITION
            await open_and_verify(stub, epoch, acknowledged, asked)
            committing = [asyncio.create_task(commit_until_killed(stub, task, epoch)) for task in range(TASKS)]
            # In the middle of commits, wherever that is; not at a moment by the clock, which a busy machine would not reach.
            goal = commits + chance.randint(20, 400)
            async with asyncio.timeout(60):
                while commits < goal:
                    await asyncio.sleep(0.001)
            running.kill()
            await running.wait()
            await asyncio.gather(*committing)
    async with process(store_url) as (_running, stub):
        await open_and_verify(stub, rounds + 1, acknowledged, asked)
    assert commits >= 20 * rounds


async def open_and_verify(stub: Any, epoch: int, acknowledged: dict[int, int], asked: dict[int, int]) -> None:
    for task in range(TASKS):
        fence = pb.TaskFence(connector_uid="c", task=task, generation=1, epoch=epoch)
        opened = await stub.OpenTask(pb.OpenTaskRequest(fence=fence), timeout=60)
        assert not opened.clean or epoch == 1
        found = {position.partition: int(json.loads(position.offset)[0]) for position in opened.positions}
        assert found.get(f"{task}/a", 0) == found.get(f"{task}/b", 0)
        assert acknowledged[task] <= found.get(f"{task}/a", 0) <= asked[task]


async def code(call: Any) -> grpc.StatusCode:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK
