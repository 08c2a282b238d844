"""Group commit: one thread stores changes, all that wait together, and gives each caller its own answer."""

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

from rocketconnect_kit.errors import ResourceExhausted, ServiceError, Unavailable

MAXIMUM_GROUP = 256
MAXIMUM_WAITING = 8_192
"""Invariant 7: more callers than this are refused rather than held in memory."""

C = TypeVar("C")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Done(Generic[R]):
    """What a change led to."""

    result: R


Outcome = Done[R] | ServiceError
"""The result of a change, or why it was refused."""


class GroupWriter(Generic[C, R]):
    """A thread that stores changes in the order in which they came.

    Args:
        store: makes a group of changes durable, all in one transaction, and returns the outcome of each. A change that it
            refuses (a `ServiceError` as outcome) has changed nothing. When it raises, no change of the group was made.
    """

    def __init__(self, store: Callable[[Sequence[C]], Sequence[Outcome[R]]]) -> None:
        self._store = store
        self._waiting: queue.Queue[tuple[C, Future[R]] | None] = queue.Queue(MAXIMUM_WAITING)
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="position writer", daemon=True)
        self._thread.start()

    def submit(self, change: C) -> "Future[R]":
        """Let a change be stored; the future ends when it is on disk. One that is cancelled before its turn is left out.

        Raises:
            ResourceExhausted: TOO_MANY_COMMITS when too many wait.
            Unavailable: STOPPING after `close`.
        """
        if self._closed:
            raise Unavailable("STOPPING", "the position service is stopping; connect again")
        future: Future[R] = Future()
        try:
            self._waiting.put_nowait((change, future))
        except queue.Full:
            message = f"{MAXIMUM_WAITING:,} commits wait for the store; commit less often, or give the store a faster disk"
            raise ResourceExhausted("TOO_MANY_COMMITS", message) from None
        return future

    def close(self) -> None:
        """Store what waits, then end."""
        self._closed = True
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        going_on = True
        while going_on:
            item = self._waiting.get()
            group: list[tuple[C, Future[R]]] = []
            while item is not None:
                change, future = item
                if future.set_running_or_notify_cancel():
                    group.append((change, future))
                if len(group) == MAXIMUM_GROUP:
                    break
                try:
                    item = self._waiting.get_nowait()
                except queue.Empty:
                    break
            going_on = item is not None
            self._store_group(group)

    def _store_group(self, group: Sequence[tuple[C, "Future[R]"]]) -> None:
        if not group:
            return
        try:
            outcomes = self._store([change for change, _future in group])
        except ServiceError as error:
            for _change, future in group:
                future.set_exception(error)
        except Exception as error:  # the thread must go on for the others
            if len(group) == 1:
                group[0][1].set_exception(error)
                return
            # One of them breaks the store's rules in a way that nobody foresaw: the others must not suffer for it.
            for each in group:
                self._store_group([each])
        else:
            for (_change, future), outcome in zip(group, outcomes, strict=True):
                if isinstance(outcome, ServiceError):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome.result)
