"""Signals of people for the tasks of a connector: brought to the executors that run them."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.executor.v1 import executor_service_pb2 as pb
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceStub
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_kit.calls.in_turn import Channels
from rocketconnect_kit.errors import FailedPrecondition, Unauthenticated, Unavailable
from rocketconnect_kit.serving.status import decode, remote_errors

if TYPE_CHECKING:
    from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceAsyncStub
    from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceAsyncStub

_LOOK_SECONDS = 5.0
_PAGE = 500


Tell = Callable[[pb.SignalTaskRequest, float], Awaitable[pb.SignalTaskResponse]]


@dataclass(frozen=True, slots=True)
class Own:
    """A worker that is told without a call.

    Attributes:
        worker_id: Its id.
        tell: Tells one of its tasks something, within so many seconds.
    """

    worker_id: str
    tell: Tell


class Signals:
    """Asks the state service which workers run the tasks of a connector, and these workers.

    Args:
        states: The state service.
        cluster: The cluster service, which knows where workers answer.
        channels: To the workers.
    """

    def __init__(self, states: "StateServiceAsyncStub", cluster: "ClusterServiceAsyncStub", channels: Channels) -> None:
        self._states = states
        self._cluster = cluster
        self._channels = channels

    async def tell(self, request: pb.SignalConnectorRequest, seconds: float, own: Own | None = None) -> pb.SignalConnectorResponse:
        """Tell all running tasks: those of `own` itself, and the workers that run the others.

        Raises:
            ServiceError: see executor_service.proto; of several tasks, what the first one says that does not do it.
        """
        asked = states.GetConnectorStateRequest(connector=request.connector)
        with remote_errors():
            said = (await self._states.GetConnectorState(asked, timeout=_LOOK_SECONDS)).state
        addresses = await self._addresses()
        running = {task.task: task.worker_id for task in said.tasks if task.worker_id in addresses}
        if not running:
            raise not_running(request.connector, connectors.State.Name(said.state).removeprefix("STATE_"))
        told = await asyncio.gather(
            *(
                self._order(
                    task, request, seconds, own.tell if own is not None and worker_id == own.worker_id else addresses[worker_id]
                )
                for task, worker_id in sorted(running.items())
            ),
            return_exceptions=True,
        )
        answers = []
        for answer in told:
            if isinstance(answer, BaseException):
                raise answer
            answers.append(answer)
        return pb.SignalConnectorResponse(answers=answers)

    async def _order(self, task: int, request: pb.SignalConnectorRequest, seconds: float, where: Tell | str) -> pb.TaskAnswer:
        order = pb.SignalTaskRequest(connector=request.connector, task=task, signal=request.signal, arguments=request.arguments)
        answer = await (self._ask(where, order, seconds) if isinstance(where, str) else where(order, seconds))
        return pb.TaskAnswer(task=task, text=answer.text)

    async def _ask(self, address: str, order: pb.SignalTaskRequest, seconds: float) -> pb.SignalTaskResponse:
        stub = ExecutorServiceStub(await self._channels.to(address))
        try:
            return await stub.SignalTask(order, timeout=seconds)
        except grpc.aio.AioRpcError as error:
            cause = decode(error)
            runs = f"{order.connector}/{order.task}"
            if isinstance(cause, Unauthenticated):
                message = (
                    f"task {runs} was told nothing: the executor at {address}, which runs it, takes no orders of another executor"
                )
                raise FailedPrecondition("SIGNAL_REFUSED", message) from error
            if cause.reason != cause.code:
                raise cause from error
            message = f"the executor at {address}, which runs {runs}, does not answer: {cause.message}"
            raise Unavailable("NO_EXECUTOR", f"{message}; whether the signal was carried out is not known") from error

    async def _addresses(self) -> dict[str, str]:
        found: dict[str, str] = {}
        request = cluster.ListWorkersRequest(page_size=_PAGE)
        while True:
            with remote_errors():
                page = await self._cluster.ListWorkers(request, timeout=_LOOK_SECONDS)
            found.update({worker.worker_id: worker.address for worker in page.workers if worker.alive and worker.address})
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token


def not_running(name: str, state: str) -> FailedPrecondition:
    """Return the error of a signal that no task hears."""
    message = f"no task of {name} runs ({state}), so nobody hears the signal; start the connector, or wait until it runs"
    return FailedPrecondition("NO_TASK_RUNS", message)
