"""Where values end that stand behind each other in bytes: found side by side for many messages, so that they are read at once.

Nothing is read behind the end of a message: NotPlain is raised.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rocketconnect_sdk.columns.text_columns import NotPlain

Places: TypeAlias = npt.NDArray[np.int64]
"""Places in bytes, or numbers of them: one of each message."""
Mask: TypeAlias = npt.NDArray[np.bool_]
_LONGEST = 9
"""Bytes of a number of 63 bits: sizes and counts have no more."""
_FEW = 16
_WORTH_A_TURN = 32
"""To look for the ends of fewer values than these at once takes longer than to read them one by one."""


class Spans:
    """The bytes.

    Args:
        data: Of all messages.
    """

    def __init__(self, data: npt.NDArray[np.uint8]) -> None:
        self._data = data
        is_last = data < 128
        self._lasts = np.flatnonzero(is_last)
        self._before = np.concatenate([[0], np.cumsum(is_last)])

    def bytes_at(self, at: Places, ends: Places) -> npt.NDArray[np.uint8]:
        """The bytes there."""
        if (at >= ends).any():
            raise NotPlain
        return self._data[at]

    def moved(self, at: Places, sizes: Places | int, ends: Places) -> Places:
        """So many bytes further on."""
        if (np.less(sizes, 0) | (sizes > ends - at)).any():
            raise NotPlain
        return at + sizes

    def behind_numbers(self, at: Places, counts: Places | int, ends: Places) -> Places:
        """Behind so many numbers of seven bits a byte, 1 at least."""
        if (at >= ends).any():
            raise NotPlain
        last = self._before[at] + counts - 1
        if (last >= len(self._lasts)).any():
            raise NotPlain
        found: Places = self._lasts[last] + 1
        if (found > ends).any():
            raise NotPlain
        return found

    def each_number(self, at: Places, counts: Places) -> tuple[Places, Places]:
        """Where each of so many numbers begins, and where it ends; all that they are is known to be there."""
        ends = self._lasts[np.repeat(self._before[at], counts) + numbered(counts)] + 1
        begins = np.empty_like(ends)
        begins[1:] = ends[:-1]
        there = counts > 0
        begins[(np.cumsum(counts) - counts)[there]] = at[there]
        return begins, ends

    def number(self, at: Places, ends: Places) -> tuple[Places, Places]:
        """A number of up to 63 bits, seven in a byte, and where it ends."""
        behind = self.behind_numbers(at, 1, ends)
        sizes = behind - at
        largest = int(sizes.max(initial=1))
        if largest == 1:
            return self._data[at].astype(np.int64), behind
        if largest > _LONGEST:
            raise NotPlain
        found = np.zeros(len(at), np.int64)
        for place in range(largest):
            more = sizes > place
            found[more] |= (self._data[at[more] + place].astype(np.int64) & 127) << (7 * place)
        return found, behind


def numbered(counts: Places) -> Places:
    """0, 1, 2 and so on, for each so many."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def in_turns(at: Places, counts: Places, behind: Callable[[Places, Mask], Places]) -> tuple[Places, Places, Places]:
    """Several values of each: the ends of the first ones are found side by side, then those of the second ones.

    Args:
        at: Where the first ones begin.
        counts: How many each has.
        behind: Where those end that begin there, of those messages.

    Returns:
        Where each value begins, those of the first message first; where it ends; where the last ones end.
    """
    largest, total = int(counts.max(initial=0)), int(counts.sum())
    if largest > _FEW and total < largest * _WORTH_A_TURN:
        raise NotPlain
    first = np.cumsum(counts) - counts
    begins, ends, at = np.empty(total, np.int64), np.empty(total, np.int64), at.copy()
    for turn in range(largest):
        more = counts > turn
        places = first[more] + turn
        begins[places] = at[more]
        ends[places] = at[more] = behind(at[more], more)
    return begins, ends, at
