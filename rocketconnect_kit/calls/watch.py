"""Follows a server-streaming watch for ever: a snapshot first, then changes; a new snapshot after each reconnection."""

import asyncio
import time
from collections.abc import AsyncIterable, Callable
from typing import Generic, Self, TypeVar

import grpc

from rocketconnect_kit.backoff import Backoff
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.status import decode

T = TypeVar("T")

_log = get_logger(__name__)
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


class Watch(Generic[T]):
    """Hands every message of a watch to `apply`, in order, and reconnects for ever, with a jittered backoff.

    There is no limit: a service that is away comes back, and until then the caller goes on with what it knows (invariant 9).

    Args:
        name: what is watched, for the log.
        open_stream: opens the stream, such as `lambda: stub.WatchConnectors(WatchConnectorsRequest())`.
        apply: takes a message; must be quick, and must treat a snapshot as replacing what was known.
        clock: monotonic seconds.

    Use it as `async with Watch(...) as watch:`, or run `run()` in a task of your own.
    """

    def __init__(
        self,
        name: str,
        open_stream: Callable[[], AsyncIterable[T]],
        apply: Callable[[T], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._open_stream = open_stream
        self._apply = apply
        self._clock = clock
        self._connected = asyncio.Event()
        self._last_known = float("-inf")
        self._task: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        """True from the first message of a stream until it breaks."""
        return self._connected.is_set()

    @property
    def stale_for(self) -> float:
        """Seconds for which what was handed on may be out of date: 0 while connected, infinite before the first message."""
        return 0.0 if self.connected else self._clock() - self._last_known

    async def wait_connected(self, timeout: float) -> bool:  # noqa: ASYNC109 - the answer, not an exception, is wanted
        """Wait until it is connected, at most `timeout` seconds; return whether it is."""
        try:
            async with asyncio.timeout(timeout):
                await self._connected.wait()
        except TimeoutError:
            return False
        return True

    async def run(self) -> None:
        """Follow until cancelled."""
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            if await self._follow_once():
                backoff.reset()
            await asyncio.sleep(backoff.pause())

    async def __aenter__(self) -> Self:
        """Start to follow in the background."""
        self._task = asyncio.create_task(self.run(), name=f"watch {self._name}")
        return self

    async def __aexit__(self, *_exc: object) -> None:
        """Stop following."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _follow_once(self) -> bool:
        seen = False
        try:
            async for message in self._open_stream():
                self._apply(message)
                if not seen:
                    seen = True
                    self._connected.set()
                    _log.info("watch connected", watch=self._name)
        except grpc.RpcError as error:
            cause = decode(error)
            self._note_break(seen, f"{cause.code}: {cause.message}")
        except Exception:
            # A message that can't be applied must not leave the process deaf for ever: the next snapshot starts afresh.
            _log.exception("a message of the watch could not be applied", watch=self._name)
        finally:
            if seen:
                self._last_known = self._clock()
            self._connected.clear()
        return seen

    def _note_break(self, seen: bool, cause: str) -> None:
        (_log.warning if seen else _log.debug)("watch broke, reconnecting", watch=self._name, cause=cause)
