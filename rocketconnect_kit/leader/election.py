"""One leader among the replicas of a service, elected over the service's own store.

The leader's row has a term, which each new leader raises, and the time until which it leads, by the clock of the database. The
leader renews it; who finds it run out takes the next term. Three rules keep two from deciding side by side:

- a leader counts its lease from the moment before it sent the renewal, on a clock of its own that nobody can set and that goes on
  while its machine is suspended, so it ends here before it ends there, and a process that was stopped finds its lease over when
  it runs again;
- every transaction of the leader asks for its term (`seat.require_term`), so what a former leader still has under way is refused;
- who takes a term waits for the transactions of the one before, and reads the store anew.

A SQLite file belongs to one process: who is started last leads at once, and who led before ends.
"""

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeVar

from rocketconnect_kit.clock import boot_seconds
from rocketconnect_kit.errors import Aborted, ReplicaUnavailable, ServiceError
from rocketconnect_kit.logs import get_logger

LEASE_SECONDS = 2.5
"""How long a leader leads after a renewal, unless told otherwise. With replicas well below a worker's lease, within which the next
leader must have answered it; a leader without others keeps answering for as long while its database is away."""

RENEW_SECONDS = 0.5
TRY_SECONDS = 0.25
"""How often the others look whether the leader's lease has run out."""

FOREVER = float("inf")

Lead = Callable[[int], AbstractAsyncContextManager["asyncio.Task[None]"]]
"""Makes what only a leader has, for a term: entered, it takes calls. Its task ends only with an error, when it can't go on."""

Listener = Callable[[bool], Awaitable[None]]
"""Told whether this replica leads, at each change."""

_R = TypeVar("_R")
_log = get_logger(__name__)


class Reign:
    """How long a leader leads, as it counts itself: on its own clock, for so many seconds from before it asked."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.until = -FOREVER

    def holds(self, now: float) -> bool:
        """Whether it leads: nobody else does in this moment."""
        return now < self.until

    def renewed(self, asked: float) -> None:
        """The row was renewed at this leader's wish of then."""
        self.until = asked + self._seconds

    def end(self) -> None:
        """It leads no longer."""
        self.until = -FOREVER


class Seat(Protocol):
    """The leader's row of a service. Methods block, and raise Unavailable: STORE_UNAVAILABLE."""

    @property
    def is_shared(self) -> bool:
        """Whether there may be other replicas."""

    @property
    def lease(self) -> float:
        """For how many seconds this replica leads after a renewal, when there may be others. Each may have its own."""

    def take(self, holder: str) -> int | None:
        """Begin the next term and return it; None: somebody leads.

        Returns when no transaction of an earlier term runs or can still begin.
        """

    def renew(self, term: int) -> bool:
        """Lead for another lease from now; return whether the term still holds."""

    def release(self, term: int) -> None:
        """End the lease of a term, so that the next one leads at once; nothing when the term is over."""


class Election:
    """This replica's part in the election: it tries to lead for as long as `running`, and leads one term after another.

    For one event loop. While the database is away a leader goes on trying to renew; when its lease has run out it steps down,
    and takes the next term as soon as the database is back and nobody else has.

    Args:
        seat: the leader's row.
        lead: what is to be done as the leader.
        clock: seconds; it goes on while the machine is suspended, and nobody can set it.
    """

    def __init__(self, seat: Seat, lead: Lead, clock: Callable[[], float] = boot_seconds) -> None:
        self._seat = seat
        self._lead = lead
        self._clock = clock
        self._holder = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._reign = Reign(seat.lease if seat.is_shared else FOREVER)
        self._is_open = False
        self._decided = asyncio.Event()
        self._silence = ""
        self._listeners: list[Listener] = []
        # Of its own: a renewal must not wait behind other calls of the database.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="election")

    @property
    def leads(self) -> bool:
        """Whether this replica leads and is ready to, by its own clock: nobody else does in this moment."""
        return self._is_open and self._reign.holds(self._clock())

    def listen(self, listener: Listener) -> None:
        """Have changes told to a listener; also that it does not lead, in the beginning."""
        self._listeners.append(listener)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[None]"]:
        """Take part while the block runs, and leave in good order; give the task that does it, which ends only with an error.

        The block begins when it is known whether this replica leads first, and it is ready to.

        Raises:
            Aborted: TERM_OVER, in the task: on SQLite, another process has taken the store over.
        """
        task = asyncio.create_task(self._campaign(), name="election")
        decided = asyncio.create_task(self._decided.wait())
        try:
            await asyncio.wait([task, decided], return_when=asyncio.FIRST_COMPLETED)
            yield task
        finally:
            decided.cancel()
            task.cancel()
            await asyncio.wait([task])
            # What it still has under way ends before the database is closed under it.
            await asyncio.to_thread(self._thread.shutdown)

    async def _campaign(self) -> None:
        while True:
            term = await self._win()
            if term is not None:
                await self._serve_term(term)
            self._decided.set()
            await asyncio.sleep(TRY_SECONDS)

    async def _win(self) -> int | None:
        try:
            term = await self._in_thread(self._seat.take, self._holder)
            if term is None:
                self._silence = ""
                return None
            # Taking the term may have waited for others, and the lease counts from when it was asked for.
            if not await self._renew(term):
                return None
        except ServiceError as error:
            # Asked several times a second, so what is the same is said once.
            if error.message != self._silence:
                _log.warning("the store does not say who leads", cause=error.message)
            self._silence = error.message
            return None
        self._silence = ""
        return term

    async def _serve_term(self, term: int) -> None:
        _log.info("leading", term=term)
        leading = asyncio.create_task(self._be_leader(term), name=f"term {term}")
        try:
            await self._hold(term, leading)
        finally:
            self._reign.end()
            leading.cancel()
            await self._tell(leads=False)
            # What is still to be written is written here; then the next one may begin.
            await asyncio.wait([leading])
            await self._give_back(term)
        if leading.cancelled() or (error := leading.exception()) is None:
            return
        if not isinstance(error, ServiceError) or (isinstance(error, Aborted) and not self._seat.is_shared):
            raise error
        _log.warning("no longer leading", term=term, cause=error.message)

    async def _be_leader(self, term: int) -> None:
        async with self._lead(term) as ended:
            await self._tell(leads=True)
            self._decided.set()
            await ended

    async def _hold(self, term: int, leading: "asyncio.Task[None]") -> None:
        """Return when the lease is lost, or what the leader does has ended."""
        renewing = asyncio.create_task(self._keep_renewing(term), name=f"renewals of term {term}")
        try:
            while not leading.done() and (left := self._reign.until - self._clock()) > 0:
                timeout = None if left == FOREVER else left
                await asyncio.wait([leading, renewing], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                if renewing.done():
                    renewing.result()
                    _log.warning("no longer leading: another replica has taken over", term=term)
                    return
            if not leading.done():
                _log.warning("no longer leading: the lease could not be renewed in time", term=term)
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])

    async def _keep_renewing(self, term: int) -> None:
        """Renew for as long as the term holds."""
        while True:
            await asyncio.sleep(RENEW_SECONDS if self._seat.is_shared else FOREVER)
            try:
                if not await self._renew(term):
                    return
            except ServiceError as error:
                _log.warning("the lease could not be renewed yet", term=term, cause=error.message)

    async def _renew(self, term: int) -> bool:
        asked = self._clock()
        renewed = await self._in_thread(self._seat.renew, term)
        if renewed:
            self._reign.renewed(asked)
        return renewed

    async def _tell(self, *, leads: bool) -> None:
        if self._is_open != leads:
            self._is_open = leads
            for listener in self._listeners:
                await listener(leads)

    async def _give_back(self, term: int) -> None:
        try:
            async with asyncio.timeout(LEASE_SECONDS):
                await self._in_thread(self._seat.release, term)
        except (ServiceError, TimeoutError):
            pass  # It runs out by itself.

    def _in_thread(self, function: Callable[..., _R], *args: object) -> "asyncio.Future[_R]":
        return asyncio.get_running_loop().run_in_executor(self._thread, function, *args)


def not_leading(service: str) -> ReplicaUnavailable:
    """Return the answer of a replica that does not lead."""
    return ReplicaUnavailable("NOT_LEADER", f"this replica of the {service} service does not lead; ask another one")
