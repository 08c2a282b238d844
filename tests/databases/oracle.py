"""Whether both databases have the same rows: each row of each table is read with plain drivers and compared by value."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import zip_longest
from typing import Any

from tests.databases.side import Side
from tests.databases.tables import Column, Table, compared

_SHOWN = 3


class Difference(Exception):
    """The tables are not equal; the text says where."""


def compare(source: Side, sink: Side, table: Table, columns: Mapping[str, Column]) -> int:
    """Returns how many rows both have.

    Args:
        source: Has the table.
        sink: Has the copy.
        table: Its name and key.
        columns: Those that it has now, behind the key.

    Raises:
        Difference: a row or a value is another one.
    """
    held = {**table.key, **columns}
    with closing(source.connect()) as original, closing(sink.connect()) as copy:
        if not sink.has(copy, table.name):
            msg = f"{table.name}: the target has no such table"
            raise Difference(msg)
        return compare_rows(wanted_rows(source, original, table, held), _found(sink, copy, table, held), table, held)


def compare_rows(
    wanted: Iterator[tuple[Any, ...]], found: Iterator[tuple[Any, ...]], table: Table, held: Mapping[str, Column]
) -> int:
    """The same of rows that were read, in the order of their keys, with the columns `held`."""
    different: list[str] = []
    count = 0
    size = len(table.key)
    ours, theirs = next(wanted, None), next(found, None)
    while ours is not None or theirs is not None:
        if ours is not None and theirs is not None and ours[:size] == theirs[:size]:
            count += 1
            if ours != theirs:
                pairs = zip_longest(held, ours, theirs)
                different.append(f"{ours[:size]}: {[(n, a, b) for n, a, b in pairs if a != b]}")
            ours, theirs = next(wanted, None), next(found, None)
        elif theirs is None or (ours is not None and ours[:size] < theirs[:size]):
            different.append(f"{(ours or ())[:size]} is missing")
            ours = next(wanted, None)
        else:
            different.append(f"{theirs[:size]} should not be there")
            theirs = next(found, None)
    if different:
        msg = f"{table.name}: {len(different)} differences in {count} rows: {'; '.join(different[:_SHOWN])}"
        raise Difference(msg)
    return count


def wanted_rows(side: Side, connection: Any, table: Table, held: Mapping[str, Column]) -> Iterator[tuple[Any, ...]]:
    """The rows of what is copied, in the order of their keys, as they are compared."""
    columns = ", ".join(column.select.format(name) for name, column in held.items())
    for row in side.rows(connection, _query(side, table, columns)):
        yield tuple(compared(value, column.told) for value, column in zip(row, held.values(), strict=True))


def _found(side: Side, connection: Any, table: Table, held: Mapping[str, Column]) -> Iterator[tuple[Any, ...]]:
    columns = ", ".join(column.found_select.format(name) for name, column in held.items())
    for row in side.rows(connection, _query(side, table, columns)):
        yield tuple(compared(value, column.found) for value, column in zip(row, held.values(), strict=True))


def _query(side: Side, table: Table, columns: str) -> str:
    order = ", ".join(side.ordered(name, column) for name, column in table.key.items())
    return f"SELECT {columns} FROM {table.name} ORDER BY {order}"
