"""Runs the core: one event after another, each durable before anybody hears of it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Protocol

from rocketconnect_kit.clock import LONGEST_JUMP, bounded_floor, days_ahead
from rocketconnect_kit.errors import Aborted, ServiceError, Unavailable
from rocketconnect_kit.leader.election import not_leading
from rocketconnect_kit.logs import get_logger
from services.cluster.board import Board
from services.cluster.decisions import core
from services.cluster.decisions.events import Event, Tick
from services.cluster.model import Changes
from services.cluster.state import Policy, State
from services.cluster.tables import Tables
from services.cluster.view import view_of

QUEUE_LENGTH = 1000
"""Invariant 7: so many events may wait; who brings another one waits too."""

_BATCH = 200
_FIRST_RETRY = 0.2
_LAST_RETRY = 5.0
_CLOCK_TOLD_EACH = 3600.0
_log = get_logger(__name__)


class Store(Protocol):
    """What the coordinator needs of a store. The methods block."""

    def load(self) -> Changes:
        """Return all that is stored."""

    def write(self, changes: Changes) -> None:
        """Store changes in one transaction; Aborted: another process leads."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    event: Event
    answer: asyncio.Future[int] | None


class Coordinator:
    """The cluster service without its RPCs. For one event loop; `run` must be running.

    Events that arrive while the store writes are taken together, in order, and written in one transaction. When a write fails,
    what was decided is forgotten and everything is read again, as after a restart: nobody has heard of it.

    Args:
        store: What is decided is kept there.
        policy: How is decided.
        clock: Of the leases.
        random: Spreads what would come together.
        wall_clock: Seconds since 1970, by a clock that may be wrong.
        other_clock: The same by the database's; None: it has none. Blocks.
        longest_jump: By so many seconds the clock may be ahead of what is stored.
    """

    def __init__(
        self,
        store: Store,
        policy: Policy,
        clock: Callable[[], float],
        random: Random,
        wall_clock: Callable[[], float] = time.time,
        other_clock: Callable[[], float | None] = lambda: None,
        longest_jump: float = LONGEST_JUMP,
    ) -> None:
        self._store = store
        self._policy = policy
        self._clock = clock
        self._random = random
        self._wall_clock = wall_clock
        self._other_clock = other_clock
        self._longest_jump = longest_jump
        self._other_ahead: float | None = None
        self._clock_told = float("-inf")
        self._queue: asyncio.Queue[_Waiting] = asyncio.Queue(QUEUE_LENGTH)
        self._wake_at = 0.0
        self._again: list[_Waiting] = []
        self._unanswered: set[asyncio.Future[int]] = set()
        self._is_over = False
        self.board = Board()
        self.state = State(Tables(), policy, clock())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        """Read the store and run; give the task, which ends only with an error: Aborted, when another process leads.

        Raises:
            Unavailable: STORE_UNAVAILABLE.
        """
        await self._load()
        task = asyncio.create_task(self._run(), name="cluster coordinator")
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])
            self._is_over = True
            for answer in self._unanswered:
                answer.cancel()

    async def submit(self, event: Event) -> int:
        """Let an event happen and return the reply once everything that follows from it is durable.

        Raises:
            ServiceError: as the event says; Unavailable: STORE_UNAVAILABLE: it may have happened or not.
            ReplicaUnavailable: NOT_LEADER, after the end of `running`; who waits at the end is cancelled.
        """
        if self._is_over:
            raise not_leading("cluster")
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._unanswered.add(answer)
        answer.add_done_callback(self._unanswered.discard)
        await self._queue.put(_Waiting(event, answer))
        return await answer

    def tell(self, event: Event) -> None:
        """Let an event happen soon.

        Raises:
            asyncio.QueueFull: too many wait.
        """
        self._queue.put_nowait(_Waiting(event, None))

    def now(self) -> float:
        """Return the time on the clock of the leases."""
        return self._clock()

    def heartbeat(self, worker_id: str, session: int) -> None:
        """Renew a lease, without waiting for the store.

        Raises:
            FailedPrecondition: WORKER_FENCED.
        """
        core.heartbeat(self.state, worker_id, session, self._clock())

    def check_session(self, worker_id: str, session: int) -> None:
        """Return if the session of the worker holds.

        Raises:
            FailedPrecondition: WORKER_FENCED.
        """
        core.check_session(self.state, worker_id, session)

    async def _run(self) -> None:
        while True:
            batch = await self._next_batch()
            try:
                await self._happen(batch)
            except Aborted:
                raise
            except ServiceError as error:
                _log.error("the store could not be written; reading it again", cause=error.message)
                await self._load_again()

    async def _next_batch(self) -> list[_Waiting]:
        """Wait for events; return a Tick when it is time for one."""
        if self._again:
            again, self._again = self._again, []
            return again
        try:
            async with asyncio.timeout(max(0.0, self._wake_at - self._clock())):
                batch = [await self._queue.get()]
        except TimeoutError:
            return [_Waiting(Tick(), None)]
        while len(batch) < _BATCH and not self._queue.empty():
            batch.append(self._queue.get_nowait())
        return batch

    async def _happen(self, batch: list[_Waiting]) -> None:
        self._raise_floor()
        effects = core.step(self.state, [waiting.event for waiting in batch], self._clock(), self._random)
        self._wake_at = effects.wake_at
        try:
            await asyncio.to_thread(self._store.write, effects.changes)
        except ServiceError as error:
            for waiting in batch:
                if waiting.answer is not None and not waiting.answer.done():
                    waiting.answer.set_exception(Unavailable("STORE_UNAVAILABLE", error.message))
            # Who waits for an answer asks again; what was only told is not told twice.
            self._again = [waiting for waiting in batch if waiting.answer is None and not isinstance(waiting.event, Tick)]
            raise
        self.board.publish(effects.views)
        for waiting, reply in zip(batch, effects.replies, strict=True):
            if isinstance(reply, ServiceError):
                _log.info("refused", event_kind=type(waiting.event).__name__, reason=reply.reason, cause=reply.message)
            if waiting.answer is None or waiting.answer.done():
                continue
            if isinstance(reply, ServiceError):
                waiting.answer.set_exception(reply)
            else:
                waiting.answer.set_result(reply)
        _tell_log(effects.changes)

    def _raise_floor(self) -> None:
        """Let numbers be above the clock (invariant 3), as far as it can be right."""
        tables, now = self.state.tables, self._clock()
        other = None if self._other_ahead is None else now + self._other_ahead
        floor, wrong = bounded_floor(self._wall_clock(), tables.last_number, longest_jump=self._longest_jump, other=other)
        tables.raise_floor(floor)
        if wrong and now - self._clock_told > _CLOCK_TOLD_EACH:
            self._clock_told = now
            _log.error(
                "a clock is wrong: epochs and plan generations do not follow it. Set the clocks of the machines of this service "
                "and of its database; if they are right, and nothing ran for so long, start it with a larger --clock-jump-days",
                cause=wrong,
            )

    def _tell_ahead(self, tables: Tables) -> None:
        days = days_ahead(tables.last_number, self._wall_clock())
        if days > 1:
            _log.warning(
                "epochs and plan generations are ahead of the clock, which was wrong once, or is now. All goes on; but until "
                "that time has come the clock does not hold off what a store that is restored from a backup has forgotten",
                days=round(days),
            )

    async def _load(self) -> None:
        tables = Tables()
        tables.apply(await asyncio.to_thread(self._store.load))
        other = await asyncio.to_thread(self._other_clock)
        self._other_ahead = None if other is None else other - self._clock()
        self._tell_ahead(tables)
        self.state = State(tables, self._policy, self._clock())
        self.board.replace_all({key: view_of(self.state, key) for key in tables.units})
        self._wake_at = 0.0

    async def _load_again(self) -> None:
        """Read the store until that works, for ever: without it nothing can be decided. Heartbeats are answered meanwhile."""
        delay = _FIRST_RETRY
        while True:
            try:
                await self._load()
            except Unavailable as error:
                _log.warning("the store can not be read yet", cause=error.message, next_attempt_seconds=delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2, _LAST_RETRY)
            else:
                return


def _tell_log(changes: Changes) -> None:
    for worker_id, worker in changes.workers.items():
        if worker is None:
            _log.info("worker gone", worker=worker_id)
        elif worker.ended and worker.drained:
            _log.info("drained worker gone", worker=worker_id)
        elif worker.ended:
            _log.warning("worker lost: its lease and the send deadline have passed", worker=worker_id, lost_session=worker.session)
        elif worker.drained:
            _log.info("worker drained: it gets nothing new", worker=worker_id, worker_session=worker.session)
        else:
            _log.info("worker takes work", worker=worker_id, worker_session=worker.session, address=worker.address)
    for uid, plan in changes.plans.items():
        if plan is not None:
            _log.info(
                "plan",
                connector_uid=uid,
                generation=plan.generation,
                revision=plan.revision,
                tasks=len(plan.tasks),
                new_one_asked=plan.asked,
            )
    for uid, generation in changes.generations.items():
        if uid not in changes.plans:
            # Invariant 3: see plans.take_opened.
            _log.warning(
                "a newer plan was opened than is known here, so the store of this service has gone back (a backup, a standby that "
                "lagged): the connector is planned anew",
                connector_uid=uid,
                opened_generation=generation,
            )
    for key, unit in changes.units.items():
        if unit is not None:
            _log.debug(
                "unit", connector_uid=key.connector_uid, task=key.task, owner=unit.worker, epoch=unit.epoch, revoked=unit.revoked
            )
