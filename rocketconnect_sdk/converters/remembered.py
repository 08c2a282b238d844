"""A memory of bounded size."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Remembered(OrderedDict[_K, _V]):
    """Keeps the entries that were used last, at most so many. Entries are taken with `recall`.

    Args:
        size: How many.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def recall(self, key: _K) -> _V | None:
        """The entry of a key, which is then the one that was used last; None: there is none."""
        value = self.get(key)
        if value is not None:
            self.move_to_end(key)
        return value

    def keep(self, key: _K, value: _V) -> _V:
        """Keeps an entry, and lets go the one that was not used for longest."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._size:
            self.popitem(last=False)
        return value
