"""This worker's place in the cluster: a session, and the lease that goes with it."""

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
from google.protobuf.duration_pb2 import Duration
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster

from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.status import decode

if TYPE_CHECKING:
    from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceAsyncStub

FENCED = "WORKER_FENCED"

_CALL_SECONDS = 5.0
_FIRST_BACKOFF = 0.1
_LAST_BACKOFF = 2.0
_LEAVE_SECONDS = 2.0

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a worker is: its id, where it is reached, what connectors can ask for, and how much it takes compared with others."""

    worker_id: str
    address: str
    labels: Mapping[str, str]
    weight: int = 1


class Membership:
    """Registers, renews the lease, leaves.

    Args:
        stub: The cluster service.
        identity: Who joins.
        plugins: The names of what it offers, asked at each registration.
        on_lease: Told the monotonic time at which the lease ends, at each renewal.
    """

    def __init__(
        self,
        stub: "ClusterServiceAsyncStub",
        identity: Identity,
        plugins: Callable[[], Sequence[str]],
        on_lease: Callable[[float], None],
    ) -> None:
        self._stub = stub
        self._identity = identity
        self._plugins = plugins
        self._on_lease = on_lease
        self._until = 0.0
        self._interval = 1.0
        self._lease = 5.0
        self.session = 0
        """The session that holds; 0: none."""
        self.offered: frozenset[str] = frozenset()
        """The plugins that the cluster was told of."""

    async def join(self) -> None:
        """Register; tried for ever, since without a cluster service there is nothing else to do. Renews the lease."""
        backoff, told = _FIRST_BACKOFF, False
        while True:
            offered, identity = self._plugins(), self._identity
            request = cluster.RegisterWorkerRequest(
                worker_id=identity.worker_id,
                address=identity.address,
                labels=identity.labels,
                plugins=offered,
                weight=identity.weight,
            )
            sent = time.monotonic()
            try:
                answer = await self._stub.RegisterWorker(request, timeout=_CALL_SECONDS)
            except grpc.RpcError as error:
                if not told:
                    _log.warning("can't register at the cluster service, trying on", cause=decode(error).message)
                told = True
                await asyncio.sleep(backoff * random.uniform(0.5, 1.0))  # noqa: S311 - not a secret
                backoff = min(backoff * 2, _LAST_BACKOFF)
                continue
            self.session, self.offered = answer.session, frozenset(offered)
            self._interval = answer.heartbeat_interval.ToTimedelta().total_seconds()
            self._renewed(sent, answer.lease)
            _log.info("registered at the cluster service", worker=identity.worker_id, session=self.session)
            return

    async def hold(self) -> str:
        """Renew the lease until it is lost; return why it is. From then on nothing here is ours."""
        while True:
            await asyncio.sleep(min(self._interval, max(0.0, self._until - time.monotonic())))
            # The lease counts from here: the answer may be late, and the cluster counts from when it got the request.
            sent = time.monotonic()
            if sent >= self._until:
                self.session = 0
                return "the lease has ended: the cluster service did not confirm it in time"
            request = cluster.HeartbeatRequest(worker_id=self._identity.worker_id, session=self.session)
            try:
                # A call that is stuck leaves time for another one.
                answer = await self._stub.Heartbeat(request, timeout=min(self._lease / 2, self._until - sent))
            except grpc.RpcError as error:
                cause = decode(error)
                if cause.reason == FENCED:
                    self.session = 0
                    return cause.message
                _log.warning("heartbeat failed", cause=cause.message, lease_left=round(self._until - time.monotonic(), 2))
            else:
                self._renewed(sent, answer.lease)

    async def leave(self) -> None:
        """End the session in good order: everything has been stopped. The cluster gives the tasks to others at once."""
        session, self.session = self.session, 0
        if not session:
            return
        request = cluster.DeregisterWorkerRequest(worker_id=self._identity.worker_id, session=session)
        try:
            await self._stub.DeregisterWorker(request, timeout=_LEAVE_SECONDS)
        except grpc.RpcError as error:
            # The lease ends by itself; it only takes longer until others go on.
            _log.warning("can't deregister at the cluster service", cause=decode(error).message)

    def _renewed(self, sent: float, lease: Duration) -> None:
        self._lease = lease.ToTimedelta().total_seconds()
        self._until = max(self._until, sent + self._lease)
        self._on_lease(self._until)
