"""Chunks of a snapshot that is taken while the log is read, without a lock and without writing to the database. Pure.

The method of DBLog (Andreakis and Papapanagiotou, 2020, https://arxiv.org/abs/2010.12597), with places of the log in the place of
the watermarks that it writes, as Flink CDC does it. Where a database tells the place of a transaction, both are that place.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

P = TypeVar("P")


class Window(Generic[P]):
    """What the log says of a table while rows of it are read, and until they are sent.

    What the log says of a key that the rows do not show is newer than the row that was read: the row is left out. Changes that the
    rows show may come before them or after them, in the order of the log.

    Args:
        shows: Whether the rows show what the log has at a place. The log was not read beyond any that they do not show by then.
    """

    def __init__(self, shows: Callable[[P], bool]) -> None:
        self._shows = shows
        self._changed: set[Hashable] = set()
        self._truncated = False

    def saw(self, place: P, key: object) -> None:
        """The log has a change of a row with this key, just before this place. A change of a key is one of both."""
        if not self._shows(place):
            self._changed.add(_frozen(key))

    def saw_truncate(self, place: P) -> None:
        """The log says that all rows are gone."""
        if not self._shows(place):
            self._truncated = True

    def left(self, keys: Sequence[object]) -> list[bool]:
        """Of rows with these keys, which are to be sent at the place to which the log was read."""
        return [not self._truncated and _frozen(key) not in self._changed for key in keys]


def _frozen(value: object) -> Hashable:
    """A key that may have lists and dicts in it."""
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return tuple((name, _frozen(item)) for name, item in value.items())
    return value
