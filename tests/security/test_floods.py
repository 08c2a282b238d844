"""Who opens connections, or asks for more than there is room for, keeps nobody else from being answered, and ends no task."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rocketconnect.executor.v1 import executor_service_pb2 as pb
from rocketconnect.executor.v1 import executor_service_pb2_grpc as rpc

Start = Callable[..., Any]
FLOOD = 1_000
ROOM = 100


@contextlib.contextmanager
def caller(address: str) -> Iterator[grpc.Channel]:
    """Somebody with a connection of his own."""
    with grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        yield channel


def health(channel: grpc.Channel) -> Any:
    return health_pb2_grpc.HealthStub(channel)


def open_files(executor: Any) -> int:
    return len([*Path(f"/proc/{executor.process.pid}/fd").iterdir()])


def ask(channel: grpc.Channel, seconds: float = 60.0) -> float:
    """How long the answer takes that the service is there, on a connection that may first have to be made."""
    began = time.monotonic()
    health(channel).Check(health_pb2.HealthCheckRequest(), timeout=seconds, wait_for_ready=True)
    return time.monotonic() - began


def test_idle_connections_take_no_more_than_their_room_and_make_it_again(start_executor: Start, plane: Any) -> None:
    executor = start_executor(connections=str(ROOM))
    plane.wait_for(lambda: plane.registrations)
    epoch = plane.assign("a")
    plane.wait_for(lambda: plane.reports.get(("a", 0)))
    host, _, port = executor.address.rpartition(":")
    with contextlib.ExitStack() as held, caller(executor.address) as known:
        ask(known)
        before = open_files(executor)
        for _ in range(FLOOD):
            with contextlib.suppress(OSError):
                held.enter_context(socket.create_connection((host, int(port)), 5))
        beats = len(plane.heartbeats)
        ask(known, 5)
        assert open_files(executor) < before + 2 * ROOM
        with caller(executor.address) as new:
            ask(new)
        plane.wait_for(lambda: len(plane.heartbeats) > beats + 3)
        assert plane.session == 1
        assert plane.reports["a", 0].epoch == epoch


def test_a_thousand_checks_at_once_leave_other_calls_and_the_lease_alone(start_executor: Start, plane: Any) -> None:
    executor = start_executor()
    plane.wait_for(lambda: plane.registrations)
    plane.assign("a")
    plane.wait_for(lambda: plane.reports.get(("a", 0)))
    request = pb.ValidateConnectorRequest(name="x", config={"connector.class": "monitorable_source", "topic": "t"})
    with caller(executor.address) as flooding, caller(executor.address) as other:
        ask(other)
        stub = rpc.ExecutorServiceStub(flooding)
        calls: list[Any] = [stub.ValidateConnector.future(request, timeout=120) for _ in range(FLOOD)]
        beats = len(plane.heartbeats)
        assert ask(other, 10) < 10
        plane.wait_for(lambda: len(plane.heartbeats) > beats + 3)
        plane.wait_for(lambda: any(call.done() and call.exception() is None for call in calls))
        codes = {call.code() for call in calls if call.done() and call.exception() is not None}
        # What waits for its turn would be answered, one after the other.
        for call in calls:
            call.cancel()
    assert codes == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert plane.session == 1


@pytest.mark.parametrize("room", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_one_connection_has_no_more_calls_at_a_time_than_it_may(start_executor: Start, plane: Any, room: int) -> None:
    executor = start_executor(calls_per_connection=str(room))
    plane.wait_for(lambda: plane.registrations)
    with caller(executor.address) as greedy, caller(executor.address) as other:
        ask(greedy)
        watches = [health(greedy).Watch(health_pb2.HealthCheckRequest()) for _ in range(room)]
        for watch in watches:
            next(watch)
        with pytest.raises(grpc.RpcError) as error:
            ask(greedy, 1)
        assert error.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        ask(other, 10)
        watches[0].cancel()
        ask(greedy, 10)


def test_more_tasks_than_an_executor_may_run_wait_with_the_reason_and_begin_when_others_end(
    start_executor: Start, plane: Any
) -> None:
    executor = start_executor(max_tasks="3")
    plane.wait_for(lambda: plane.registrations)
    names = [f"c{number}" for number in range(60)]
    for name in names:
        plane.assign(name)

    def waiting() -> list[str]:
        return [name for name in names if (name, 0) in plane.reports and "--max-tasks" in plane.trace(name)]

    plane.wait_for(lambda: len(plane.reports) == len(names) and len(waiting()) == 57)
    assert {plane.state(name) for name in waiting()} == {"WAITING"}
    running = sorted(set(names) - set(waiting()))
    hosts = executor.stub().DescribeWorker(pb.DescribeWorkerRequest(), timeout=60).hosts
    assert sum(len(host.tasks) for host in hosts) == 3
    first = waiting()[0]
    plane.change(waiting()[1], revoked=True)
    plane.remove(running[0])
    plane.wait_for(lambda: "--max-tasks" not in plane.trace(first))
    plane.wait_for(lambda: len(waiting()) == 55)
    beats = len(plane.heartbeats)
    plane.wait_for(lambda: len(plane.heartbeats) > beats + 3)
    assert plane.session == 1
