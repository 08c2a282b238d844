"""Requests of tasks for a new plan on their way to the cluster service."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import grpc
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster

from services.executor.contract.assignment import Assigned, Key
from services.executor.worker.plan_requests import PlanRequests

if TYPE_CHECKING:
    from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceAsyncStub


def assigned(uid: str, task: int = 0, epoch: int = 5) -> Assigned:
    return Assigned(Key(uid, task), f"name-{uid}", 1, 1, epoch, "SOURCE")


class Cluster:
    """Notes what is asked, and answers the first requests with these codes; as the stub of a cluster service."""

    def __init__(self, codes: Sequence[grpc.StatusCode] = ()) -> None:
        self.codes = list(codes)
        self.asked: list[tuple[str, int, int, int]] = []
        self.heard = asyncio.Event()

    async def RequestPlan(self, request: cluster.RequestPlanRequest, *, timeout: float) -> cluster.RequestPlanResponse:  # noqa: ASYNC109
        del timeout
        self.asked.append((request.key.connector_uid, request.key.task, request.session, request.epoch))
        self.heard.set()
        if self.codes:
            raise grpc.aio.AioRpcError(self.codes.pop(0), grpc.aio.Metadata(), grpc.aio.Metadata())
        return cluster.RequestPlanResponse()

    async def until(self, asked: int) -> None:
        async with asyncio.timeout(60):
            while len(self.asked) < asked:
                self.heard.clear()
                await self.heard.wait()


def requests_to(stub: Cluster, sessions: dict[str, int]) -> PlanRequests:
    return PlanRequests(
        cast("ClusterServiceAsyncStub", stub), "worker-1", lambda assigned: sessions.get(assigned.key.connector_uid, 0)
    )


async def test_a_task_that_asks_again_and_again_is_one_request() -> None:
    stub = Cluster()
    requests = requests_to(stub, {"u": 3, "last": 3})
    running = asyncio.create_task(requests.run())
    for _ in range(100):
        requests.add(assigned("u"))
        requests.add(assigned("u", 1))
    await stub.until(2)
    requests.add(assigned("last"))
    await stub.until(3)
    running.cancel()
    assert stub.asked == [("u", 0, 3, 5), ("u", 1, 3, 5), ("last", 0, 3, 5)]


async def test_a_request_that_did_not_get_through_is_made_again_and_one_that_is_refused_is_not() -> None:
    stub = Cluster([grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.FAILED_PRECONDITION])
    requests = requests_to(stub, {"away": 3, "fenced": 3, "last": 3})
    running = asyncio.create_task(requests.run())
    requests.add(assigned("away"))
    requests.add(assigned("fenced"))
    await stub.until(3)
    requests.add(assigned("last"))
    await stub.until(4)
    running.cancel()
    assert [uid for uid, *_ in stub.asked] == ["away", "fenced", "away", "last"]


async def test_nothing_is_asked_for_a_task_that_is_not_held_any_more() -> None:
    stub = Cluster([grpc.StatusCode.UNAVAILABLE])
    sessions = {"lost": 3, "last": 4}
    requests = requests_to(stub, sessions)
    running = asyncio.create_task(requests.run())
    requests.add(assigned("lost"))
    await stub.until(1)
    del sessions["lost"]
    requests.add(assigned("last"))
    await stub.until(2)
    running.cancel()
    assert stub.asked == [("lost", 0, 3, 5), ("last", 0, 4, 5)]
