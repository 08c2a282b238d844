"""This worker's place in the cluster: a session, and the lease that goes with it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster

from rocketconnect_kit.backoff import Backoff
from rocketconnect_kit.clock import boot_seconds
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.status import decode
from services.executor.worker.lease import WorkerLease

if TYPE_CHECKING:
    from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceAsyncStub

FENCED = "WORKER_FENCED"

_CALL_SECONDS = 5.0
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0
_LEAVE_SECONDS = 2.0

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a worker is.

    Attributes:
        worker_id: Its id.
        address: Where it is reached.
        labels: What connectors can ask for.
        weight: How much it takes compared with others.
        send_deadline: Seconds for which a send of it may be under way.
        pid: Of its process, for people.
        process: The name of its process, which no other one ever has; empty: it has none.
        ended_processes: Those that were this worker before and have ended.
    """

    worker_id: str
    address: str
    labels: Mapping[str, str]
    weight: int = 1
    send_deadline: float = 0.0
    pid: int = 0
    process: str = ""
    ended_processes: Sequence[str] = ()


class Membership:
    """Registers, renews the lease, leaves.

    Args:
        stub: The cluster service.
        identity: Who joins.
        plugins: The names of what it offers, asked at each registration.
        on_lease: Told the time at which the lease ends, by `boot_seconds`, at each renewal.
        confirm: Lets all that runs go on for so many seconds from before the call, without the cluster service; False: it may not.

    Attributes:
        alone: Set while the cluster service does not answer: nothing that it said may be begun.
        heard: Set while it does.
    """

    def __init__(
        self,
        stub: "ClusterServiceAsyncStub",
        identity: Identity,
        plugins: Callable[[], Sequence[str]],
        on_lease: Callable[[float], None],
        confirm: Callable[[float], Awaitable[bool]],
    ) -> None:
        self._stub = stub
        self._identity = identity
        self._plugins = plugins
        self._on_lease = on_lease
        self._confirm = confirm
        self.alone = asyncio.Event()
        self.heard = asyncio.Event()
        self._isolated = False
        self._lease = WorkerLease()
        self._offered: frozenset[str] = frozenset()
        self._offer_changed = asyncio.Event()
        self.session = 0
        """The session that holds; 0: none."""

    @property
    def holds(self) -> bool:
        """Whether there is a session, and a lease that has not ended."""
        return self.session != 0 and self._lease.holds(boot_seconds())

    async def join(self) -> None:
        """Register; tried for ever, since without a cluster service there is nothing else to do. Renews the lease."""
        backoff, told = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE), False
        while True:
            offered, identity = self._plugins(), self._identity
            request = cluster.RegisterWorkerRequest(
                worker_id=identity.worker_id,
                address=identity.address,
                labels=identity.labels,
                plugins=offered,
                weight=identity.weight,
                pid=identity.pid,
                process=identity.process,
                ended_processes=identity.ended_processes,
            )
            request.send_deadline.FromNanoseconds(int(identity.send_deadline * 1e9))
            sent = boot_seconds()
            try:
                # When everything is started at once, it goes as soon as the cluster service can be reached.
                answer = await self._stub.RegisterWorker(request, timeout=_CALL_SECONDS, wait_for_ready=True)
            except grpc.RpcError as error:
                if not told:
                    _log.warning("can't register at the cluster service, trying on", cause=decode(error).message)
                told = True
                await asyncio.sleep(backoff.pause())
                continue
            self.session, self._offered = answer.session, frozenset(offered)
            interval, lease = answer.heartbeat_interval.ToTimedelta(), answer.lease.ToTimedelta()
            self._lease.joined(sent, lease.total_seconds(), interval.total_seconds())
            self.alone.clear()
            self.heard.set()
            self._tell_renewed(sent)
            _log.info("registered at the cluster service", worker=identity.worker_id, session=self.session)
            return

    async def hold(self) -> str:
        """Keep the lease until the cluster service says that the session is over; return why it is. Then nothing here is ours.

        While the cluster service is away the position service is asked to confirm what runs (invariant 9). While both are, the
        lease ends and the session stays: nothing is sent or written until one of them is back, then everything goes on in place.
        """
        while True:
            await asyncio.sleep(self._lease.pause)
            sent = boot_seconds()
            if self._lease.needs_others(sent):
                self._note_alone(sent)
                over, _ = await asyncio.gather(self._beat(sent), self._stand_in(sent))
            else:
                over = await self._beat(sent)
            if over:
                self.session = 0
                return over

    async def _beat(self, sent: float) -> str:
        """Renew the lease at the cluster service; return why the session is over, or nothing."""
        request = cluster.HeartbeatRequest(worker_id=self._identity.worker_id, session=self.session)
        try:
            answer = await self._stub.Heartbeat(request, timeout=self._lease.patience(sent))
        except grpc.RpcError as error:
            cause = decode(error)
            if cause.reason == FENCED:
                return cause.message
            if not self.alone.is_set():
                _log.warning("heartbeat failed", cause=cause.message, lease_left=round(self._lease.until - boot_seconds(), 2))
        else:
            self._note_heard(sent)
            self._lease.answered(sent, answer.lease.ToTimedelta().total_seconds())
            self._tell_renewed(sent)
        return ""

    async def _stand_in(self, sent: float) -> None:
        """Renew the lease with the help of the position service."""
        seconds = self._lease.seconds
        if await self._confirm(seconds):
            self._lease.confirmed(sent, seconds)
            self._tell_renewed(sent)
        elif not self._lease.holds(boot_seconds()) and not self._isolated:
            self._isolated = True
            _log.warning(
                "no service confirms this worker: nothing is sent or written until one does, except by tasks with "
                "on.isolation=continue; all processes stay",
                seconds_alone=round(boot_seconds() - self._lease.heard, 1),
            )

    def _note_alone(self, now: float) -> None:
        if not self.alone.is_set():
            self.heard.clear()
            self.alone.set()
            _log.warning(
                "the cluster service does not answer: the position service is asked to confirm what runs here",
                seconds_alone=round(now - self._lease.heard, 1),
            )

    def _note_heard(self, sent: float) -> None:
        if self.alone.is_set():
            self.alone.clear()
            self.heard.set()
            _log.info("the cluster service is back, and the session holds", seconds_alone=round(sent - self._lease.heard, 1))

    def offer_changed(self) -> None:
        """Other plugins may be offered now than the cluster service was told of."""
        self._offer_changed.set()

    async def keep_offer(self) -> None:
        """Tell the cluster service of other plugins when there are, tried until it has taken note. Ends only when cancelled."""
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            await self._offer_changed.wait()
            self._offer_changed.clear()
            offered = frozenset(self._plugins())
            if offered == self._offered:
                continue
            request = cluster.OfferPluginsRequest(worker_id=self._identity.worker_id, session=self.session, plugins=sorted(offered))
            try:
                await self._stub.OfferPlugins(request, timeout=_CALL_SECONDS)
            except grpc.RpcError as error:
                _log.warning("can't tell the cluster service of other plugins, trying on", cause=decode(error).message)
                self._offer_changed.set()
                await asyncio.sleep(backoff.pause())
            else:
                self._offered = offered
                backoff.reset()

    async def leave(self) -> bool:
        """End the session in good order: everything has been stopped. The cluster gives the tasks to others at once.

        Returns:
            Whether the cluster service has taken note. Without a session it has not: an answer may be under way.
        """
        session, self.session = self.session, 0
        if not session:
            return False
        request = cluster.DeregisterWorkerRequest(worker_id=self._identity.worker_id, session=session)
        try:
            await self._stub.DeregisterWorker(request, timeout=_LEAVE_SECONDS)
        except grpc.RpcError as error:
            # The lease ends by itself; it only takes longer until others go on.
            _log.warning("can't deregister at the cluster service", cause=decode(error).message)
            return False
        return True

    def _tell_renewed(self, sent: float) -> None:
        if self._isolated and self._lease.holds(boot_seconds()):
            self._isolated = False
            _log.info("the lease is confirmed again: everything goes on", seconds_alone=round(sent - self._lease.heard, 1))
        self._on_lease(self._lease.until)
