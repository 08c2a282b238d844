"""Commits per second of the position service: `python -m bench.position_commits [STORE_URL ...]` (default: a SQLite file).

A real service process; the callers are tasks of eight connectors, each of which waits for its answer before it commits again.
Shows, for one and for 64 callers, commits/s and latency over gRPC, and what the store alone does without gRPC around it.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
from rocketconnect.position.v1 import position_service_pb2 as pb
from rocketconnect.position.v1 import position_service_pb2_grpc as rpc

from rocketconnect_kit import database
from rocketconnect_kit.channel import channel
from rocketconnect_kit.settings import ServiceSettings
from services.position.domain import Fence, Update
from services.position.store import PositionStore

SECONDS = 5.0
CONNECTORS = 8


def main() -> None:
    """Measure every store that was named."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        for url in sys.argv[1:] or [f"sqlite:///{folder}/position.db"]:
            backend = url.partition(":")[0]
            for callers in (1, 64):
                print(f"{backend:12} {callers:3} callers, gRPC:       {asyncio.run(over_grpc(url, callers))}")
                print(f"{backend:12} {callers:3} callers, store only: {store_only(url, callers)}")


async def over_grpc(url: str, callers: int) -> str:
    """Return the rate through a service process."""
    read, write = os.pipe()
    words = ["-m", "services.position", "--store-url", url, "--announce-fd", str(write), "--log-level", "WARNING"]
    process = await asyncio.create_subprocess_exec(sys.executable, *words, pass_fds=[write])
    os.close(write)
    with os.fdopen(read) as pipe:
        address = json.loads(await asyncio.to_thread(pipe.readline))["address"]
    latencies: list[float] = []
    async with channel(address, ServiceSettings()) as opened:
        stub = rpc.PositionServiceStub(opened)
        fences = [
            pb.TaskFence(connector_uid=f"grpc{callers}-{n % CONNECTORS}", task=n, generation=1, epoch=1) for n in range(callers)
        ]
        for fence in fences:
            await stub.OpenTask(pb.OpenTaskRequest(fence=fence))
        before = psutil.Process(process.pid).cpu_times()
        end = time.perf_counter() + SECONDS
        await asyncio.gather(*(_commit_until(stub, fence, end, latencies) for fence in fences))
        after = psutil.Process(process.pid).cpu_times()
    process.terminate()
    await process.wait()
    cpu = after.user + after.system - before.user - before.system
    return _figures(latencies, f"{cpu / len(latencies) * 1e6:.0f} us of service CPU each")


async def _commit_until(stub: Any, fence: pb.TaskFence, end: float, latencies: list[float]) -> None:
    number = 0
    while (began := time.perf_counter()) < end:
        number += 1
        request = pb.CommitPositionsRequest(fence=fence)
        position = request.updates.add().position
        position.partition = f"file:/data/in-{fence.task}.log#2049-131"
        position.offset = f"[{number}]"
        position.resume = '{"floors":{"topic/broker-a/0":12345,"topic/broker-a/1":12346}}'
        await stub.CommitPositions(request)
        latencies.append(time.perf_counter() - began)


def store_only(url: str, callers: int) -> str:
    """Return the rate of the store in this process."""
    engine = database.engine(url)
    database.migrate(engine, "position")
    store = PositionStore(engine, lambda: time.time_ns() // 1_000)
    latencies: list[float] = []
    fences = [Fence(f"store{callers}-{number % CONNECTORS}", number, 1, 1) for number in range(callers)]
    for fence in fences:
        store.open_task(fence).result()
    end = time.perf_counter() + SECONDS

    def commit(fence: Fence) -> None:
        number = 0
        while (began := time.perf_counter()) < end:
            number += 1
            store.commit(fence, [Update(f"file:/data/in-{fence.task}.log", f"[{number}]", 0, "{}", "")], clean=False).result()
            latencies.append(time.perf_counter() - began)

    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(commit, fences))
    store.close()
    engine.dispose()
    return _figures(latencies, "")


def _figures(latencies: list[float], more: str) -> str:
    ordered = sorted(latencies)
    p50, p99 = (ordered[int(len(ordered) * share)] * 1e3 for share in (0.5, 0.99))
    return f"{len(ordered) / SECONDS:8,.0f} commits/s, p50 {p50:.2f} ms, p99 {p99:.2f} ms  {more}"


if __name__ == "__main__":
    main()
