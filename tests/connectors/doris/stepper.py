"""Work that stops before each call of a cluster until it may go on."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from connectors.doris import client, session

_SECONDS = 180.0
_own = threading.local()


class Stepper:
    """Runs work in a thread, call by call.

    Args:
        work: What is done.
    """

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._waits, self._go = threading.Semaphore(0), threading.Semaphore(0)
        self.error: BaseException | None = None
        self.done = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._waits.acquire(timeout=_SECONDS)

    def _run(self) -> None:
        _own.stepper = self
        try:
            self._work()
        except BaseException as error:
            self.error = error
        self.done = True
        self._waits.release()

    def stop(self) -> None:
        """Called before each call."""
        self._waits.release()
        assert self._go.acquire(timeout=_SECONDS)

    def step(self, count: int = 1) -> None:
        """So many calls."""
        for _ in range(count):
            if self.done:
                return
            self._go.release()
            assert self._waits.acquire(timeout=_SECONDS)

    def finish(self) -> BaseException | None:
        """All calls that are left; what came of it."""
        while not self.done:
            self.step()
        self._thread.join(_SECONDS)
        return self.error


@contextmanager
def stepping(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """While it lasts work of steppers stops, and that of others does not."""

    def stopping(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            stepper = getattr(_own, "stepper", None)
            if stepper is not None:
                stepper.stop()
            return real(*given)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(client, "send", stopping(client.send))
        patch.setattr(session, "ask", stopping(session.ask))
        yield
