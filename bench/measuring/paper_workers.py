"""Workers on paper: they do all that executors do towards the services, and run nothing.

Each registers, offers a plugin, finds every configuration right, plans each connector into two tasks, says of each task that it is
idle, and each second that nothing has changed, as executors do. All are in one process:
`python -m bench.measuring.paper_workers --help`.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Annotated, Any

import grpc.aio
import typer
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.executor.v1 import executor_service_pb2 as executor
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceServicer, add_ExecutorServiceServicer_to_server
from rocketconnect.state.v1 import state_service_pb2 as state
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.settings import ServiceSettings

PLUGIN = "file_source"
TASKS_EACH = 2
INTERVAL_SECONDS = 1.0
OFFER_SECONDS = 30.0
CALL_SECONDS = 10.0


class _Executor(ExecutorServiceServicer):
    async def ValidateConnector(self, request: Any, context: Any) -> executor.ValidateConnectorResponse:  # noqa: ARG002, N802 - gRPC's
        return executor.ValidateConnectorResponse(plugin=PLUGIN, type=connector_pb2.CONNECTOR_TYPE_SOURCE)


class _Worker:
    def __init__(self, name: str, address: str, channels: Mapping[str, grpc.aio.Channel]) -> None:
        self._name, self._address = name, address
        self._cluster = ClusterServiceStub(channels["cluster"])
        self._config = ConfigServiceStub(channels["config"])
        self._state = StateServiceStub(channels["state"])
        self._session = 0
        self._reports: dict[tuple[str, int], state.TaskReport] = {}
        self._news: set[tuple[str, int]] = set()
        self._receipt = 0

    async def run(self) -> None:
        request = cluster.RegisterWorkerRequest(worker_id=self._name, address=self._address, plugins=[PLUGIN])
        self._session = (await self._cluster.RegisterWorker(request, timeout=CALL_SECONDS)).session
        await asyncio.gather(self._offer(), self._follow(), self._beat(), self._report())

    async def _offer(self) -> None:
        plugin = connector_pb2.Plugin(name=PLUGIN, type=connector_pb2.PLUGIN_TYPE_SOURCE)
        offer = config.ReportPluginsRequest(worker_id=self._name, address=self._address, plugins=[plugin])
        while True:
            await self._config.ReportPlugins(offer, timeout=CALL_SECONDS)
            await asyncio.sleep(OFFER_SECONDS)

    async def _follow(self) -> None:
        request = cluster.WatchAssignmentsRequest(worker_id=self._name, session=self._session)
        async for told in self._cluster.WatchAssignments(request):
            for key in told.removed:
                self._reports.pop((key.connector_uid, key.task), None)
                self._receipt = 0
            for assignment in told.assignments:
                if assignment.unit == cluster.UNIT_PLAN:
                    await self._plan(assignment)
                else:
                    self._news.add((assignment.connector_uid, assignment.task))
                    self._reports[assignment.connector_uid, assignment.task] = state.TaskReport(
                        connector_uid=assignment.connector_uid,
                        task=assignment.task,
                        generation=assignment.generation,
                        epoch=assignment.epoch,
                        state=connector_pb2.STATE_IDLE,
                    )

    async def _plan(self, it: cluster.Assignment) -> None:
        tasks = [cluster.PlannedTask(config={"share": f"{number}/{TASKS_EACH}"}) for number in range(TASKS_EACH)]
        plan = cluster.ReportPlanRequest(
            worker_id=self._name, session=self._session, connector_uid=it.connector_uid, epoch=it.epoch, tasks=tasks
        )
        await self._cluster.ReportPlan(plan, timeout=CALL_SECONDS)

    async def _beat(self) -> None:
        while True:
            await self._cluster.Heartbeat(
                cluster.HeartbeatRequest(worker_id=self._name, session=self._session), timeout=CALL_SECONDS
            )
            await asyncio.sleep(INTERVAL_SECONDS)

    async def _report(self) -> None:
        while True:
            named = [self._reports[key] for key in (self._news & self._reports.keys() if self._receipt else self._reports)]
            request = state.ReportTasksRequest(worker_id=self._name, reports=named, receipt=self._receipt)
            self._news, self._receipt = set(), 0
            self._receipt = (await self._state.ReportTasks(request, timeout=CALL_SECONDS)).receipt
            await asyncio.sleep(INTERVAL_SECONDS)


async def _run(addresses: Mapping[str, str], count: int) -> None:
    server = grpc.aio.server()
    add_ExecutorServiceServicer_to_server(_Executor(), server)  # type: ignore[abstract] # nothing else is asked
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    async with AsyncExitStack() as stack:
        channels = {name: await stack.enter_async_context(channel(where, ServiceSettings())) for name, where in addresses.items()}
        await asyncio.gather(*(_Worker(f"paper-{number}", address, channels).run() for number in range(count)))


def main(
    config_address: Annotated[str, typer.Option()],
    state_address: Annotated[str, typer.Option()],
    cluster_address: Annotated[str, typer.Option()],
    count: Annotated[int, typer.Option(help="How many workers.")] = 100,
) -> None:
    """Work until ended; a call that fails ends all."""
    asyncio.run(_run({"config": config_address, "state": state_address, "cluster": cluster_address}, count))


if __name__ == "__main__":
    typer.run(main)
