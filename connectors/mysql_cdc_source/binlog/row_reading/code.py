"""Reads rows with code that is made once for the columns of a table, and again for each set of columns that are NULL.

With the NULLs known, all that is of a fixed width up to the next length is one call of struct, and nothing is asked per value.
A row begins with one bit per column: whether it is NULL. https://mariadb.com/kb/en/rows_event_v1v2-rows_compressed_event_v1/
"""

import struct
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.row_reading.column import Column
from connectors.mysql_cdc_source.binlog.row_reading.parts import Part, part_of
from connectors.mysql_cdc_source.binlog.row_reading.walk import RowWalk

Row = tuple[Any, ...]
_Read = Callable[[bytes, int, Callable[[Row], None]], int]

_SEEN_BEFORE_CODE = 8
"""Making code costs as much as some hundred rows."""
_MOST_CODE = 128
"""Sets of NULLs with code of their own; a table with more is read by the code that asks for each value."""


class RowReader:
    """Reads rows of these columns.

    Args:
        columns: Those that the rows have.

    Attributes:
        walk: Finds where they begin.

    Raises:
        MalformedEvent: a column cannot be.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._parts = [part_of(column) for column in columns]
        self.walk = RowWalk(self._parts)
        self._bitmap = (len(columns) + 7) // 8
        self._any = _compile(self._parts, self._bitmap, None)
        self._code: dict[bytes, _Read] = {}
        self._seen: dict[bytes, int] = {}

    def read(self, data: bytes, at: int, append: Callable[[Row], None]) -> int:
        """Reads the row that begins at `at`, gives it to `append`, and gives the place after it.

        Raises:
            MalformedEvent: there is none; or one of the errors of FAULTS.
        """
        nulls = data[at : at + self._bitmap]
        code = self._code.get(nulls)
        end = (code or self._rarely(nulls))(data, at, append)
        if end > len(data):
            msg = f"a row ends at byte {end}, and the event at {len(data)}"
            raise MalformedEvent(msg)
        return end

    def read_all(self, data: bytes, at: int) -> list[Row]:
        """All rows from `at` on. Raises what read does."""
        rows: list[Row] = []
        append, bitmap, find, size = rows.append, self._bitmap, self._code.get, len(data)
        while at < size:
            nulls = data[at : at + bitmap]
            at = (find(nulls) or self._rarely(nulls))(data, at, append)
        if at > size:
            msg = f"a row ends at byte {at}, and the event at {size}"
            raise MalformedEvent(msg)
        return rows

    def _rarely(self, nulls: bytes) -> _Read:
        if len(self._seen) < _MOST_CODE or nulls in self._seen:
            seen = self._seen[nulls] = self._seen.get(nulls, 0) + 1
            if seen >= _SEEN_BEFORE_CODE and len(nulls) == self._bitmap:
                self._code[nulls] = _compile(self._parts, self._bitmap, nulls)
        return self._any


def value_reader(column: Column) -> Callable[[bytes, int, Callable[[Row], None]], int]:
    """What reads a single value, which is not NULL: it gives it as a row of one column, and the place after it.

    Raises:
        MalformedEvent: the column cannot be.
    """
    return _compile([part_of(column)], 0, b"")


FAULTS = (struct.error, UnicodeDecodeError, IndexError, ValueError, OverflowError)
"""What the code raises for bytes that are no row, besides MalformedEvent."""


def _compile(parts: Sequence[Part], bitmap: int, nulls: bytes | None) -> _Read:
    """The function that reads one row; with `nulls` given only one that has exactly these."""
    names: dict[str, object] = {f"f{index}": part.function for index, part in enumerate(parts) if part.function is not None}
    lines = [f"p += {bitmap}"]
    if nulls is None:
        lines.insert(0, f"nulls = data[p:p+{bitmap}]")
        for index, part in enumerate(parts):
            lines.append(f"if nulls[{index >> 3}] & {1 << (index & 7)}: v{index} = None")
            lines.append("else:")
            lines += [f"    {line}" for line in _reads([(index, part)], names)]
    else:
        bits = int.from_bytes(nulls, "little")
        present = [(index, part) for index, part in enumerate(parts) if not bits >> index & 1]
        lines += _reads(present, names)
    row = "".join(f"v{index}, " if nulls is None or not bits >> index & 1 else "None, " for index in range(len(parts)))
    lines += [f"append(({row}))", "return p"]
    source = "def read(data, p, append):\n" + "".join(f"    {line}\n" for line in lines)
    space: dict[str, Any] = dict(names)
    exec(compile(source, "<rows>", "exec"), space)  # noqa: S102 - made of numbers and of the expressions of Part alone
    return space["read"]  # type: ignore[no-any-return]


def _reads(parts: Sequence[tuple[int, Part]], names: dict[str, object]) -> list[str]:
    lines: list[str] = []
    form = "<"
    targets: list[str] = []
    after: list[str] = []

    def run() -> None:
        """Reads what is gathered with one call."""
        if targets:
            size, name = struct.calcsize(form), f"u{len(names)}"
            names[name] = struct.Struct(form).unpack_from
            lines.append(f"{', '.join(targets)}, = {name}(data, p)")
            lines.append(f"p += {size}")
        lines.extend(after)

    for index, part in parts:
        number = count()
        mine = [f"t{index}_{next(number)}" for _ in range(len(part.format.lstrip("0123456789")))]
        if part.value == "{0}":
            mine = [f"v{index}"]
        form += part.format
        targets += mine
        expression = part.value.replace("f(", f"f{index}(").replace("f[", f"f{index}[")
        if part.length:
            run()
            form, targets, after = "<", [], []
            lines.append(f"e = p + ({part.length.format(*mine)})")
            lines.append(f"v{index} = {expression.format(*mine, s='data[p:e]')}")
            lines.append("p = e")
        elif part.value != "{0}":
            after.append(f"v{index} = {expression.format(*mine)}")
    run()
    return lines
