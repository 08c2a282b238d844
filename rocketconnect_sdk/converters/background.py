"""What takes its time, in threads of its own."""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

_T = TypeVar("_T")


class NotYet(Exception):
    """It has not ended yet. It goes on: ask again."""


class Background:
    """Does things in threads of their own, each once until its result is taken. Used by one thread."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, Future[Any]] = {}

    def result(self, key: Hashable, do: Callable[[], _T], seconds: float) -> _T:
        """What a thing gives, or raises.

        Args:
            key: Tells it from others.
            do: Does it. Nobody waits for it when this process ends.
            seconds: How long it is waited for.

        Raises:
            NotYet: see there.
        """
        future = self._under_way.get(key)
        if future is None:
            future = self._under_way[key] = Future()
            threading.Thread(target=_do, args=(future, do), name="background", daemon=True).start()
        wait([future], seconds)
        if not future.done():
            raise NotYet
        found: _T = self._under_way.pop(key).result()
        return found


def _do(future: "Future[_T]", do: Callable[[], _T]) -> None:
    try:
        future.set_result(do())
    except BaseException as error:  # raised again where the result is taken
        future.set_exception(error)
