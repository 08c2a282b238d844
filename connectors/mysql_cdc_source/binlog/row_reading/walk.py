"""Finds where rows begin without reading their values, with code that is made once for each set of columns that are NULL.

What it finds is for those who read many rows at once, column by column. See row_code.
"""

from collections.abc import Callable, Sequence
from struct import calcsize
from typing import Any

from connectors.mysql_cdc_source.binlog.row_reading.parts import Part

_Step = Callable[[bytes, int], int]
_MOST_CODE = 128
"""Sets of NULLs with code of their own; a table with more is walked part by part."""


class RowWalk:
    """Goes over rows of columns.

    Args:
        parts: How to read the columns.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._bitmap = (len(parts) + 7) // 8
        self._steps: dict[bytes, _Step] = {}

    def end(self, data: bytes, at: int) -> int:
        """Where the row ends that begins at `at`; beyond the end of the data when it is cut off there.

        Raises:
            IndexError: it is cut off.
        """
        nulls = data[at : at + self._bitmap]
        return (self._steps.get(nulls) or self._step(nulls))(data, at)

    def starts(self, data: bytes, at: int) -> list[int]:
        """Where the rows from `at` on begin, and where the last one ends. Raises IndexError: it is cut off."""
        find, bitmap, size = self._steps.get, self._bitmap, len(data)
        starts = [at]
        while at < size:
            nulls = data[at : at + bitmap]
            at = (find(nulls) or self._step(nulls))(data, at)
            starts.append(at)
        return starts

    def _step(self, nulls: bytes) -> _Step:
        bits = int.from_bytes(nulls, "little")
        present = [part for index, part in enumerate(self._parts) if not bits >> index & 1]
        if len(self._steps) >= _MOST_CODE or len(nulls) < self._bitmap:
            return lambda data, at: _part_by_part(present, data, at + self._bitmap)
        lines, fixed = [], self._bitmap
        for part in present:
            size = calcsize(f"<{part.format}")
            if part.length:
                length = "|".join(f"d[p+{fixed + byte}]<<{8 * byte}" for byte in range(size))
                lines.append(f"p += {fixed + size} + ({length})")
                fixed = 0
            else:
                fixed += size
        # Made of numbers alone.
        source = "\n ".join(["def step(d, p):", *lines, f"return p + {fixed}"])
        space: dict[str, Any] = {}
        exec(compile(source, "<walk>", "exec"), space)  # noqa: S102
        step: _Step = space["step"]
        self._steps[nulls] = step
        return step


def _part_by_part(parts: Sequence[Part], data: bytes, at: int) -> int:
    for part in parts:
        size = calcsize(f"<{part.format}")
        if part.length and at + size > len(data):
            raise IndexError(at)
        at += size + (int.from_bytes(data[at : at + size], "little") if part.length else 0)
    return at
