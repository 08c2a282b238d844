"""Commits of positions: a real position service on SQLite and on PostgreSQL, with what it confirms on disk.

The callers are tasks of eight connectors, each of which waits for its answer before it commits again.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import psutil
from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub

from bench.measuring.instance import folder
from bench.measuring.openloop import percentile
from bench.workload import BenchFailed, Options, Sample, Workload
from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.settings import ServiceSettings
from tests.servers.postgres import Postgres, PostgresFailed

if TYPE_CHECKING:
    from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceAsyncStub

SECONDS = 2.0
CONNECTORS = 8
SHAPES = ((1, 1), (64, 1), (8, 500))
"""Callers, and partitions in each of their commits."""


def run(options: Options) -> Iterator[Sample]:
    """Each store with few and many callers, and few and many partitions a commit. Without PostgreSQL's programs, SQLite alone."""
    with folder() as place, ExitStack() as stack:
        stores = {"SQLite": f"sqlite:///{place}/position.db"}
        if Postgres.is_installed():
            try:
                stores["PostgreSQL"] = stack.enter_context(Postgres().running("bench"))
            except PostgresFailed as error:
                raise BenchFailed(str(error)) from error
        for number in range(options.repeats):
            for store, url in stores.items():
                for callers, partitions in SHAPES:
                    figures = asyncio.run(_measure(url, f"{number}-{callers}-{partitions}", callers, partitions))
                    yield Sample(f"{store}, {callers} callers, {partitions} partitions a commit", figures)


async def _measure(url: str, run_id: str, callers: int, partitions: int) -> dict[str, float]:
    read, write = os.pipe()
    words = ["-m", "services.position", "--store-url", url, "--announce-fd", str(write), "--log-level", "WARNING"]
    process = await asyncio.create_subprocess_exec(sys.executable, *words, pass_fds=[write])
    os.close(write)
    latencies: list[float] = []
    try:
        with os.fdopen(read) as pipe:
            address = json.loads(await asyncio.to_thread(pipe.readline))["address"]
        async with channel(address, ServiceSettings()) as opened:
            stub = PositionServiceStub(opened)
            fences = [
                pb.TaskFence(connector_uid=f"{run_id}-{n % CONNECTORS}", task=n, generation=1, epoch=1) for n in range(callers)
            ]
            for fence in fences:
                await stub.OpenTask(pb.OpenTaskRequest(fence=fence))
            before = psutil.Process(process.pid).cpu_times()
            end = time.perf_counter() + SECONDS
            await asyncio.gather(*(_commit_until(stub, fence, partitions, end, latencies) for fence in fences))
            after = psutil.Process(process.pid).cpu_times()
    finally:
        process.terminate()
        await process.wait()
    cpu = after.user + after.system - before.user - before.system
    return {
        "commits_per_s": len(latencies) / SECONDS,
        "partitions_per_s": len(latencies) * partitions / SECONDS,
        "p50_ms": percentile(latencies, 0.5) * 1e3,
        "p99_ms": percentile(latencies, 0.99) * 1e3,
        "service_cpu_us_a_commit": cpu / len(latencies) * 1e6,
    }


async def _commit_until(
    stub: "PositionServiceAsyncStub", fence: pb.TaskFence, partitions: int, end: float, latencies: list[float]
) -> None:
    number = 0
    while (began := time.perf_counter()) < end:
        number += 1
        request = pb.CommitPositionsRequest(fence=fence)
        for partition in range(partitions):
            position = request.updates.add().position
            position.partition = f"file:/data/in-{fence.task}-{partition}.log#2049-131"
            position.offset = f"[{number}]"
            position.resume = '{"floors":{"topic/broker-a/0":12345,"topic/broker-a/1":12346}}'
        await stub.CommitPositions(request)
        latencies.append(time.perf_counter() - began)


WORKLOAD = Workload(
    "Position service: commits on disk",
    run,
    ("commits_per_s", "partitions_per_s", "p50_ms", "p99_ms", "service_cpu_us_a_commit"),
    ("partitions_per_s",),
)
