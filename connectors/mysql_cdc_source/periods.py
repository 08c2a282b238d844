"""Tables of which the log has more than the rows that they show: those WITH SYSTEM VERSIONING, and sequences. Pure.

A row that changes stays there with the end of its time, in the same table, and the log has that as one more row: of MariaDB, see
https://mariadb.com/kb/en/system-versioned-tables/. What a table shows are the rows whose time has no end.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter

from connectors.mysql_cdc_source.binlog.events import Change, Rows
from connectors.mysql_cdc_source.binlog.row_reading.code import Row
from connectors.mysql_cdc_source.binlog.row_reading.column import Type as Stored
from connectors.mysql_cdc_source.binlog.row_reading.table_map import TableMap
from connectors.mysql_cdc_source.tables import HIDDEN_PERIOD, Name, Table

_SEQUENCE = (
    "next_not_cached_value",
    "minimum_value",
    "maximum_value",
    "start_value",
    "increment",
    "cache_size",
    "cycle_option",
    "cycle_count",
)
_NO_END = frozenset({datetime(2038, 1, 19, 3, 14, 7, 999_999, UTC), datetime(2106, 2, 7, 6, 28, 15, 999_999, UTC)})
"""What the end of a row is that is shown; the later one since MariaDB 11.5."""
_DIGITS = 6


def is_sequence(logged: TableMap) -> bool:
    """Whether a table of the log is a sequence, which is no table."""
    return not logged.primary_key and tuple(column.name for column in logged.columns) == _SEQUENCE


def period_of(logged: TableMap, now: Callable[[Name], Table | None]) -> tuple[int, int] | None:
    """The columns of a table of the log that have the begin and the end of its rows; None: it has no versions.

    Args:
        logged: The table.
        now: Tables as they are now; None: one is gone.
    """
    stamps = {
        str(column.name): place
        for place, column in enumerate(logged.columns)
        if column.type is Stored.TIMESTAMP2 and column.scale == _DIGITS and not column.nullable
    }
    if len(stamps) < len(HIDDEN_PERIOD):
        return None
    table = now(Name(logged.schema, logged.table))
    begin, end = table.period or ("", "") if table is not None else HIDDEN_PERIOD
    return (stamps[begin], stamps[end]) if begin in stamps and end in stamps else None


def shown(event: Rows, end: int) -> Iterator[Rows]:
    """What changes of rows and their versions are to who sees the rows alone.

    Args:
        event: The changes.
        end: The column with the end of a row.
    """
    count = max(len(event.before), len(event.after))
    # Of rows whose end the log leaves out it says nothing, so they were shown; after a change it is as before.
    was = (_are_shown(event.before, event.before_columns, end) or [True] * count) if event.before else [False] * count
    is_now = (_are_shown(event.after, event.after_columns, end) or was) if event.after else [False] * count
    for (before, after), group in groupby(range(count), lambda row: (was[row], is_now[row])):
        rows = list(group)
        change = {(True, True): Change.UPDATE, (True, False): Change.DELETE, (False, True): Change.INSERT}.get((before, after))
        if change is None:
            continue
        take = itemgetter(slice(rows[0], rows[-1] + 1))
        yield replace(
            event,
            change=change,
            before=take(list(event.before)) if before else (),
            after=take(list(event.after)) if after else (),
            before_columns=event.before_columns if before else (),
            after_columns=event.after_columns if after else (),
        )


def _are_shown(rows: Sequence[Row], columns: Sequence[int], end: int) -> list[bool]:
    """For each row whether its time has no end; empty: it is not known."""
    if end not in columns:
        return []
    place = columns.index(end)
    return [row[place] in _NO_END for row in rows]
