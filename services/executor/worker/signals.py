"""Signals of people for the tasks of this worker."""

import asyncio

from rocketconnect.executor.v1 import executor_service_pb2 as pb

from rocketconnect_kit.calls.signals import not_running
from rocketconnect_kit.errors import DeadlineExceeded, FailedPrecondition, FieldProblem, InvalidArgument
from services.executor.worker.worker import Worker


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
        raise not_running(name, "not on this worker")
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
