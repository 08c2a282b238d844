"""From when a lease counts, whoever confirms it."""

import asyncio
import itertools
import time
from typing import TYPE_CHECKING, cast

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster

from rocketconnect_kit.clock import boot_seconds
from services.executor.worker.membership import Identity, Membership
from tests.suspended import suspend

if TYPE_CHECKING:
    from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceAsyncStub

LEASE = 2.0
SLOW = 0.4


class SlowCluster:
    """Answers late, and only so many heartbeats; as the stub of a cluster service."""

    def __init__(self, beats: int) -> None:
        self.beats = beats
        self.asked: list[float] = []

    async def RegisterWorker(self, _request: object, *, timeout: float, wait_for_ready: bool) -> cluster.RegisterWorkerResponse:  # noqa: ASYNC109
        del timeout
        return cluster.RegisterWorkerResponse(session=1, lease=Duration(seconds=2), heartbeat_interval=Duration(nanos=50_000_000))

    async def Heartbeat(self, _request: object, *, timeout: float) -> cluster.HeartbeatResponse:  # noqa: ASYNC109
        if not self.beats:
            await asyncio.sleep(timeout)
            raise grpc.aio.AioRpcError(grpc.StatusCode.DEADLINE_EXCEEDED, grpc.aio.Metadata(), grpc.aio.Metadata())
        self.beats -= 1
        self.asked.append(time.monotonic())
        await asyncio.sleep(SLOW)
        return cluster.HeartbeatResponse(lease=Duration(seconds=2))


@pytest.mark.slow
async def test_the_lease_counts_from_before_the_question_and_is_confirmed_before_it_ends() -> None:
    stub = SlowCluster(beats=3)
    leases: list[tuple[float, float]] = []
    asked: list[float] = []

    async def confirm(seconds: float) -> bool:
        assert seconds == LEASE
        asked.append(time.monotonic())
        await asyncio.sleep(SLOW)
        return len(asked) <= 3

    membership = Membership(
        cast("ClusterServiceAsyncStub", stub),
        Identity("w", "h:1", {}),
        list,
        lambda until: leases.append((time.monotonic(), until)),
        confirm,
    )
    await membership.join()
    holding = asyncio.create_task(membership.hold())
    async with asyncio.timeout(20):
        while len(asked) < 5:
            await asyncio.sleep(0.02)
    holding.cancel()
    questions = [*stub.asked, *asked[:3]]
    renewals = leases[1:]
    assert len(renewals) == len(questions)
    for question, (told, until) in zip(questions, renewals, strict=True):
        assert until <= question + LEASE
        assert until > told, "it had ended before it was renewed"
    for (_, before), (told, _) in itertools.pairwise(renewals):
        assert told < before, "there was a time without a lease though somebody confirmed it"
    assert not membership.holds
    assert membership.session == 1


async def test_the_lease_is_told_by_the_clock_that_goes_on_while_the_machine_is_suspended(monkeypatch: pytest.MonkeyPatch) -> None:
    suspend(monkeypatch, 3_600)
    leases: list[float] = []

    async def confirm(_seconds: float) -> bool:
        return False

    stub = cast("ClusterServiceAsyncStub", SlowCluster(beats=0))
    membership = Membership(stub, Identity("w", "h:1", {}), list, leases.append, confirm)
    began = boot_seconds()
    await membership.join()
    assert [began + LEASE <= until <= boot_seconds() + LEASE for until in leases] == [True]
    assert membership.holds
    suspend(monkeypatch, LEASE)
    assert not membership.holds
