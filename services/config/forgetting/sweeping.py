"""Forgets deleted connectors in the background: here first, so that nobody adopts them any more, then at the position service."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.logs import get_logger
from services.config.forgetting.rows import MOST, ForgettingStore

LOOK_SECONDS = 3600.0
_DAY = 24 * 3600 * 1_000_000

_log = get_logger(__name__)


class Positions(Protocol):
    """The position service."""

    async def forget(self, uids: Sequence[str]) -> bool:
        """Forget connectors; return False when nobody is there to be told.

        Raises:
            ServiceError: it is not known whether they are forgotten.
        """


class Forgetting:
    """Replicas may do it side by side: each step is the same when it is done again.

    Args:
        store: What is forgotten.
        positions: Who forgets it, too.
        days: So long after its deletion a connector can be adopted; 0: for ever.
        now: Microseconds since 1970.
    """

    def __init__(self, store: ForgettingStore, positions: Positions, days: float, now: Callable[[], int]) -> None:
        self._store = store
        self._positions = positions
        self._days = days
        self._now = now

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look now and then while the block runs."""
        task = asyncio.create_task(self._run(), name="forgetting")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def look(self) -> int:
        """Forget what is to be forgotten; return how many connectors are, here.

        Raises:
            ServiceError: the store or the position service does not answer; the next look goes on.
        """
        forgotten, some = 0, MOST
        while self._days and some == MOST:
            some = await asyncio.to_thread(self._store.forget, self._now() - int(self._days * _DAY))
            forgotten += some
        while uids := await asyncio.to_thread(self._store.untold):
            if not await self._positions.forget(uids):
                break
            await asyncio.to_thread(self._store.told, uids)
        if forgotten:
            _log.info("deleted connectors forgotten", count=forgotten, days=self._days)
        return forgotten

    async def _run(self) -> None:
        while True:
            try:
                await self.look()
            except ServiceError as error:
                _log.info("can't forget deleted connectors now, trying on", cause=error.message)
            except Exception:
                # A defect must not keep connectors from being changed.
                _log.exception("can't forget deleted connectors")
            await asyncio.sleep(LOOK_SECONDS)
