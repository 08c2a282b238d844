"""Tells a process that is gone from one that is only not heard of, so that the work of the former moves before its lease ends.

A worker follows its assignments on a stream for as long as it lives. When the stream breaks and the session has not ended, its
address is called. "Connection refused" from where it answered before means that nobody listens there any more: the listening
socket of a process closes with it, and its hosts die with it. Anything else (no answer, no way there) says nothing, and the lease
decides. The address must lead to the process itself: a proxy or firewall that refuses for it would be taken for its death, and then
only the fences of the position service and the epochs in the sinks keep the two owners apart for the rest of the lease.
"""

import asyncio
import enum
import socket
from collections.abc import Coroutine

from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.logs import get_logger
from services.cluster.coordinator import Coordinator
from services.cluster.decisions.events import WorkerGone

_CONNECT_SECONDS = 0.5
_PAUSE_SECONDS = 0.1
_REFUSALS = 2
"""So often a connection must be refused in a row."""
_PROBES = 5
"""So often it is tried: the kernel closes the sockets of a process that ends one after the other, and the stream may go first."""

_log = get_logger(__name__)


class Breaks:
    """Calls workers at their addresses and tells the coordinator of those that are gone. For one event loop."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        # Who has answered, in which session: an address at which nobody ever listened proves nothing.
        self._answered: dict[str, int] = {}
        self._calls: set[asyncio.Task[None]] = set()

    def connected(self, worker_id: str, session: int) -> None:
        """The stream of a worker begins: see whether it can be called."""
        if self._answered.get(worker_id) != session:
            self._spawn(self._try(worker_id, session))

    def broke(self, worker_id: str, session: int) -> None:
        """The stream of a worker has ended, for whatever reason."""
        if self._answered.get(worker_id) == session and self._address(worker_id, session):
            self._spawn(self._judge(worker_id, session))

    async def _try(self, worker_id: str, session: int) -> None:
        if await _call(self._address(worker_id, session)) is _Answer.THERE:
            known = self._coordinator.state.tables.workers
            self._answered = {worker: of for worker, of in self._answered.items() if worker in known}
            self._answered[worker_id] = session

    async def _judge(self, worker_id: str, session: int) -> None:
        refused = 0
        for number in range(_PROBES):
            if number:
                await asyncio.sleep(_PAUSE_SECONDS)
            refused = refused + 1 if await _call(self._address(worker_id, session)) is _Answer.REFUSED else 0
            if refused == _REFUSALS:
                break
        else:
            return
        _log.warning("the process of a worker is gone: its connection broke, and nobody listens at its address", worker=worker_id)
        try:
            await self._coordinator.submit(WorkerGone(worker_id, session))
        except ServiceError as error:
            # Its session has ended meanwhile, or the store is away: then its lease decides.
            _log.info("the loss of a worker could not be noted", worker=worker_id, cause=error.message)

    def _address(self, worker_id: str, session: int) -> str:
        """Where the worker answers; empty when the session is over."""
        worker = self._coordinator.state.tables.workers.get(worker_id)
        return "" if worker is None or worker.ended or worker.session != session else worker.address

    def _spawn(self, job: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(job, name="call a worker")
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)


class _Answer(enum.Enum):
    THERE = enum.auto()
    REFUSED = enum.auto()
    UNKNOWN = enum.auto()


async def _call(address: str) -> _Answer:
    """Connect to "host:port", at every address of the host until one answers."""
    host, _, port = address.rpartition(":")
    loop = asyncio.get_running_loop()
    answer = _Answer.REFUSED
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            for family, kind, _, _, place in await loop.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM):
                with socket.socket(family, kind) as connection:
                    connection.setblocking(False)
                    try:
                        await loop.sock_connect(connection, place)
                    except ConnectionRefusedError:
                        continue
                    except OSError:
                        answer = _Answer.UNKNOWN
                    else:
                        return _Answer.THERE
    except OSError:  # no such name, or no answer in time
        return _Answer.UNKNOWN
    return answer
