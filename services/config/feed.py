"""Wakes watchers when connectors change, in this process at once and after writes of other replicas within half a second."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import ParamSpec, TypeVar

from rocketconnect_kit.errors import Unavailable
from rocketconnect_kit.logs import get_logger

P = ParamSpec("P")
T = TypeVar("T")

POLL_SECONDS = 0.5

_log = get_logger(__name__)


class ChangeFeed:
    """What watchers of one process wait for. To be used in one event loop.

    Args:
        sequence: returns the number of the last change; may block. None: nobody else writes, so nothing is looked up.
    """

    def __init__(self, sequence: Callable[[], int] | None) -> None:
        self._sequence = sequence
        self._changed = asyncio.Event()
        self._watchers = 0

    async def write(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a write of the store in a thread, wake everybody who waits, and return what it returned.

        When the caller goes away meanwhile, the write ends all the same, and so everybody is still woken.
        """
        return await asyncio.shield(self._written(partial(call, *args, **kwargs)))

    async def _written(self, call: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(call)
        finally:
            self.notify()

    def notify(self) -> None:
        """Wake everybody who waits."""
        self._changed.set()
        self._changed = asyncio.Event()

    def next_change(self) -> asyncio.Event:
        """Return the event of the next change. Take it before reading what there is, or a change in between is missed."""
        return self._changed

    @asynccontextmanager
    async def watcher(self) -> AsyncIterator[None]:
        """Around a watch: other replicas are looked after only while there is one."""
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look for writes of other replicas while the block runs."""
        if self._sequence is None:
            yield
            return
        task = asyncio.create_task(self._poll(self._sequence), name="change feed")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _poll(self, sequence: Callable[[], int]) -> None:
        last = -1
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if not self._watchers:
                continue
            try:
                now = await asyncio.to_thread(sequence)
            except Unavailable as error:
                # Health tells about the store; watchers wait until it is back.
                _log.debug("can't look for changes", cause=error.message)
                continue
            except Exception:
                # A defect must not leave watchers waiting for ever.
                _log.exception("can't look for changes")
                continue
            if now != last:
                last = now
                self.notify()
