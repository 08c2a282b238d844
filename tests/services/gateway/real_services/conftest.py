"""The gateway in front of the real config, position, state and cluster services, each a process with its own store.

The worker is made here of the real protocol: it joins, plans one task for each connector and reports what it is told to report.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.state.v1 import state_service_pb2 as state
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.settings import ServiceSettings
from services.gateway.settings import GatewaySettings
from tests import stores

Serving = Callable[[GatewaySettings], AbstractAsyncContextManager[httpx.AsyncClient]]


@asynccontextmanager
async def started(service: str, folder: Path, addresses: dict[str, str]) -> AsyncIterator[str]:
    stores.prepare(folder)
    read, write = os.pipe()
    flags = [f"--{name}-address={address}" for name, address in addresses.items()]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"services.{service}", "--announce-fd", str(write), "--data-dir", str(folder), *flags),
        pass_fds=[write],
        stderr=asyncio.subprocess.DEVNULL,
    )
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            said = json.loads(await asyncio.wait_for(asyncio.to_thread(pipe.readline), 240))
        yield said["address"]
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


class Worker:
    """A worker that holds whatever it is given and says that it does `state`."""

    def __init__(self, addresses: dict[str, str], stack: AsyncExitStack) -> None:
        self.state: connector_pb2.State.ValueType = connector_pb2.STATE_RUNNING
        self.trace = ""
        self.addresses = addresses
        self._stack = stack
        self._held: dict[tuple[str, int], cluster.Assignment] = {}
        self._session = 0

    async def run(self, executor: str, plugins: list[connector_pb2.Plugin]) -> None:
        opened = {
            name: await self._stack.enter_async_context(channel(self.addresses[name], ServiceSettings()))
            for name in ("config", "cluster", "state")
        }
        self._cluster, self._state = ClusterServiceStub(opened["cluster"]), StateServiceStub(opened["state"])
        names = [name for plugin in plugins for name in (plugin.name, *plugin.aliases)]
        joined = await self._cluster.RegisterWorker(
            cluster.RegisterWorkerRequest(worker_id="worker-1", address=executor, plugins=names)
        )
        self._session = joined.session
        await ConfigServiceStub(opened["config"]).ReportPlugins(
            config.ReportPluginsRequest(worker_id="worker-1", address=executor, plugins=plugins)
        )
        for job in (self._follow(), self._report()):
            task = asyncio.create_task(job)
            self._stack.push_async_callback(self._end, task)

    async def _end(self, task: "asyncio.Task[None]") -> None:
        task.cancel()
        await asyncio.wait([task])

    async def _follow(self) -> None:
        request = cluster.WatchAssignmentsRequest(worker_id="worker-1", session=self._session)
        async for change in self._cluster.WatchAssignments(request):
            for key in change.removed:
                self._held.pop((key.connector_uid, key.task), None)
            for assignment in change.assignments:
                await self._take(assignment)

    async def _take(self, it: cluster.Assignment) -> None:
        if it.revoked:
            key = cluster.AssignmentKey(connector_uid=it.connector_uid, task=it.task)
            self._held.pop((it.connector_uid, it.task), None)
            await self._cluster.ReleaseAssignment(
                cluster.ReleaseAssignmentRequest(worker_id="worker-1", session=self._session, key=key, epoch=it.epoch)
            )
        elif it.unit == cluster.UNIT_PLAN:
            plan = cluster.ReportPlanRequest(
                worker_id="worker-1", session=self._session, connector_uid=it.connector_uid, epoch=it.epoch
            )
            plan.tasks.add(config={"filename": it.config["filename"]})
            await self._cluster.ReportPlan(plan)
        else:
            self._held[it.connector_uid, it.task] = it

    async def _report(self) -> None:
        while True:
            await self._cluster.Heartbeat(cluster.HeartbeatRequest(worker_id="worker-1", session=self._session))
            reports = [
                state.TaskReport(
                    connector_uid=it.connector_uid,
                    task=it.task,
                    generation=it.generation,
                    epoch=it.epoch,
                    state=connector_pb2.STATE_PAUSED if it.paused else self.state,
                    trace="" if it.paused else self.trace,
                )
                for it in self._held.values()
            ]
            await self._state.ReportTasks(state.ReportTasksRequest(worker_id="worker-1", reports=reports))
            await asyncio.sleep(0.2)


@pytest.fixture
async def real(
    tmp_path: Path, serving: Serving, executor_service: tuple[str, list[connector_pb2.Plugin]]
) -> AsyncIterator[tuple[httpx.AsyncClient, Worker]]:
    async with AsyncExitStack() as stack:
        addresses: dict[str, str] = {}
        for service in ("config", "cluster", "state", "position"):
            addresses[service] = await stack.enter_async_context(started(service, tmp_path, addresses))
        worker = Worker(addresses, stack)
        await worker.run(*executor_service)
        settings = GatewaySettings(port=0, **{f"{name}_address": address for name, address in addresses.items()})  # type: ignore[arg-type]
        yield await stack.enter_async_context(serving(settings)), worker
