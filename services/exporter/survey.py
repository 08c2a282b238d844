"""Asks in the background what takes longer than a scrape may: one connector after the other, each again at an interval."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from rocketconnect_kit.logs import get_logger
from services.exporter.gateway import NotTold

T = TypeVar("T")

_REST = 20.0
"""What took long is left alone for so many times as long."""
_PAUSE = 4.0
"""Behind each question all others wait for so many times as long as it took: an executor has other work."""
_KEPT = 3.0
"""What could not be asked again for so many intervals is not known any more."""

_log = get_logger(__name__)


@dataclass(slots=True)
class _Asked(Generic[T]):
    version: object
    due: float
    told: T | None = None
    until: float = 0.0
    """As long as it counts."""


class Survey(Generic[T]):
    """What is known of connectors. `want` and `known` never wait for an answer.

    Args:
        name: What it is about, for the log.
        ask: Tells it of one connector, and takes its time; raises NotTold. Called by one thread.
        every: Seconds between two questions about the same connector, at least.
        monotonic: The clock.
    """

    def __init__(self, name: str, ask: Callable[[str], T], every: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._ask = ask
        self._every = every
        self._monotonic = monotonic
        self._asked: dict[str, _Asked[T]] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._again_at = float("-inf")
        self._cause = ""
        self._thread = threading.Thread(target=self._run, name=f"survey of {name}", daemon=True)
        self._thread.start()

    def want(self, connectors: Mapping[str, object]) -> None:
        """Ask about these from now on, and about no others.

        Args:
            connectors: By name what must not have changed since an answer, for that to count.
        """
        with self._changed:
            now = self._monotonic()
            before, self._asked = self._asked, {}
            for name, version in connectors.items():
                asked = before.get(name)
                self._asked[name] = asked if asked is not None and asked.version == version else _Asked(version, now)
            self._changed.notify_all()

    def known(self) -> Mapping[str, T]:
        """Return what is known, by connector; of those that are missing it is not."""
        with self._changed:
            now = self._monotonic()
            return {name: asked.told for name, asked in self._asked.items() if asked.told is not None and now < asked.until}

    def close(self) -> None:
        """Ask nothing more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                due = min((asked.due for asked in self._asked.values()), default=float("inf"))
                wait = max(due, self._again_at) - self._monotonic()
                if self._closed:
                    return
                if wait > 0:
                    self._changed.wait(min(wait, threading.TIMEOUT_MAX))
                    continue
                connector, asked = next(each for each in self._asked.items() if each[1].due == due)
            self._look(connector, asked)

    def _look(self, connector: str, asked: _Asked[T]) -> None:
        began = self._monotonic()
        told: T | None = None
        try:
            told = self._ask(connector)
        except NotTold as error:
            self._say(connector, str(error))
        except (KeyError, TypeError, ValueError) as error:
            # Of a gateway of another version, say.
            self._say(connector, f"an answer that is not understood: {type(error).__name__}: {error}")
        now = self._monotonic()
        with self._changed:
            self._again_at = now + _PAUSE * (now - began)
            asked.due = now + max(self._every, _REST * (now - began))
            if told is not None:
                asked.told, asked.until = told, asked.due + _KEPT * self._every
                self._cause = ""

    def _say(self, connector: str, cause: str) -> None:
        """Once for each cause: the same goes for many connectors."""
        if cause != self._cause:
            self._cause = cause
            _log.warning(f"{self._name} is not known", connector=connector, cause=cause)
