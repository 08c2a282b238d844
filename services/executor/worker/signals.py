"""Signals of people for the tasks of a connector: brought to the executors that run them."""

import asyncio
from typing import TYPE_CHECKING

import grpc
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.executor.v1 import executor_service_pb2 as pb
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceStub
from rocketconnect.state.v1 import state_service_pb2 as states

from rocketconnect_kit.calls.in_turn import Channels
from rocketconnect_kit.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    FieldProblem,
    InvalidArgument,
    Unauthenticated,
    Unavailable,
)
from rocketconnect_kit.serving.status import decode, remote_errors
from services.executor.worker.worker import Worker

if TYPE_CHECKING:
    from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceAsyncStub
    from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceAsyncStub

_LOOK_SECONDS = 5.0
_PAGE = 500


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

    async def tell(self, own: Worker, request: pb.SignalConnectorRequest, seconds: float) -> pb.SignalConnectorResponse:
        """Tell all running tasks: those of this worker itself, and the workers that run the others.

        Raises:
            ServiceError: see executor_service.proto; of several tasks, what the first one says that does not do it.
        """
        asked = states.GetConnectorStateRequest(connector=request.connector)
        with remote_errors():
            said = (await self._states.GetConnectorState(asked, timeout=_LOOK_SECONDS)).state
        addresses = await self._addresses()
        running = {task.task: task.worker_id for task in said.tasks if task.worker_id in addresses}
        if not running:
            raise _not_running(request.connector, connectors.State.Name(said.state).removeprefix("STATE_"))
        told = await asyncio.gather(
            *(
                self._order(task, request, seconds, own if worker_id == own.identity.worker_id else addresses[worker_id])
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

    async def _order(self, task: int, request: pb.SignalConnectorRequest, seconds: float, where: Worker | str) -> pb.TaskAnswer:
        order = pb.SignalTaskRequest(connector=request.connector, task=task, signal=request.signal, arguments=request.arguments)
        answer = await (self._ask(where, order, seconds) if isinstance(where, str) else tell_task(where, order, seconds))
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


async def tell_task(worker: Worker, request: pb.SignalTaskRequest, seconds: float) -> pb.SignalTaskResponse:
    """Tell a task that runs in this worker.

    Raises:
        FailedPrecondition: NO_TASK_RUNS; SIGNAL_REFUSED.
        InvalidArgument: SIGNAL_INVALID.
        DeadlineExceeded: SIGNAL_LATE.
    """
    name = f"{request.connector}/{request.task}"
    run = worker.run_of(request.connector, request.task)
    if run is None:
        raise _not_running(name, "not on this worker")
    try:
        async with asyncio.timeout(seconds):
            answered = await worker.pool.signal(run, request.signal, request.arguments)
    except TimeoutError as error:
        message = f"task {name} has not answered in {seconds:.0f} s and may still do what it was told; see what it is doing"
        raise DeadlineExceeded("SIGNAL_LATE", f"{message} (rocketconnect connector status {request.connector})") from error
    if answered.problems:
        problems = [FieldProblem(each.key, each.value, each.reason, each.fix) for each in answered.problems]
        raise InvalidArgument("SIGNAL_INVALID", f"{name}: " + "; ".join(map(str, problems)), problems)
    if answered.trouble:
        raise FailedPrecondition("SIGNAL_REFUSED", f"task {name}: {answered.trouble}")
    return pb.SignalTaskResponse(text=answered.text)


def _not_running(name: str, state: str) -> FailedPrecondition:
    message = f"no task of {name} runs ({state}), so nobody hears the signal; start the connector, or wait until it runs"
    return FailedPrecondition("NO_TASK_RUNS", message)
