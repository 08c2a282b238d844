"""What a query makes of a batch and of what was kept before it, and what is kept behind it. Changes nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.queries.options import QuerySettings
from rocketconnect_sdk.queries.text import WINDOW
from rocketconnect_sdk.transforms.processes.sql import SLICE, SqlProcess
from rocketconnect_sdk.transforms.row_sql import INDEX
from services.executor.runtime.sink.decode.part import Part
from services.executor.runtime.sink.query.duplicates import digest, first_of_each, forgotten
from services.executor.runtime.sink.query.mixed import behind, without_fields
from services.executor.runtime.sink.query.records import (
    Gathered,
    columns_elsewhere,
    gathered,
    part_of_windows,
    parts_by_record,
    table_of,
    times_of,
    values_of,
)
from services.executor.runtime.sink.query.state import QueryState
from services.executor.runtime.sink.query.watermarks import clocks_after, quiet, watermark, watermarks_before
from services.executor.runtime.sink.query.windows import assigned

_START, _END = WINDOW
_TIMES = pa.timestamp("ms", "UTC")


@dataclass(slots=True)
class Made:
    """What was made of a batch.

    Attributes:
        state: What is kept behind it.
        parts: What is written, none of them empty.
        bad: By place among the records of the batch, why the query, or a window, can't take it.
        late: By place, which windows it came too late for.
        duplicates: How many records were dropped as duplicates.
        numbered: See Results.
    """

    state: QueryState
    parts: list[Part] = field(default_factory=list)
    bad: dict[int, str] = field(default_factory=dict)
    late: dict[int, str] = field(default_factory=dict)
    duplicates: int = 0
    numbered: dict[tuple[str, int, int], int | None] = field(default_factory=dict)


@dataclass(slots=True)
class _Timed:
    """The records with a time that are no duplicates: their places in the batch and in the table, times, watermarks before."""

    places: list[int]
    times: list[int]
    before: list[int | None]

    def take(self, which: Sequence[int]) -> "_Timed":
        return _Timed(
            [self.places[index] for index in which], [self.times[index] for index in which], [self.before[index] for index in which]
        )


class Flow:
    """Runs the query of a sink batch by batch. Used by one thread."""

    def __init__(self, settings: QuerySettings, process: SqlProcess) -> None:
        self._settings = settings
        self._process = process

    def made(
        self,
        state: QueryState,
        parts: Sequence[Part],
        tables: Mapping[str, pa.Table],
        waited: Sequence[str],
        is_read: Callable[[str], bool],
    ) -> Made:
        """What the query makes of a batch.

        Args:
            state: What was kept before it.
            parts: The batch; may have no records.
            tables: Other tables that the query reads.
            waited: The queues whose watermarks count.
            is_read: Whether a queue has nothing behind the batch; asked of quiet ones alone.

        Raises:
            RecordError, PermanentError: the query fails.
        """
        if not any(len(part.records) for part in parts):
            return self._closed(Made(state), parts, waited, is_read)
        given = gathered(parts)
        made = Made(state)
        places = self._rows(made, given)
        table = None
        if places:
            records = given.records if len(places) == len(given.records) else given.records.take(places)
            wanted = [name for name in (self._settings.time, *self._settings.by) if name]
            table = table_of(records, self._settings.query, wanted, columns_elsewhere(tables))
        if self._settings.keeps and table is not None:
            timed = self._timed(made, given, places, table)
            if self._settings.by:
                timed = self._first(made, timed, table, places)
            if self._settings.window:
                self._opened(made, timed, table, places)
                return self._closed(made, parts, waited, is_read)
            at = dict(zip(places, range(len(places)), strict=True))
            table = table.take(pa.array([at[place] for place in timed.places], pa.int64()))
            places = timed.places
        if self._settings.window:
            return self._closed(made, parts, waited, is_read)
        self._by_row(made, given, places, table)
        return self._closed(made, parts, waited, is_read)

    def open_windows(self, state: QueryState, parts: Sequence[Part]) -> list[Part]:
        """The result of the windows that are open, for who only looks: as if no more records came for them."""
        return [] if state.rows is None else self._windows(state.rows, parts)

    @staticmethod
    def _rows(made: Made, given: Gathered) -> list[int]:
        """The places of the records that can be rows; others but for tombstones are bad."""
        places = given.rows_of_values
        values = given.records.values
        if given.records.schema is not None or not isinstance(values, list):
            # What is held as a column is all alike.
            return places
        odd = without_fields([values[place] for place in places])
        made.bad.update({places[index]: "it has no fields, and other records have" for index in odd})
        return [place for index, place in enumerate(places) if index not in odd] if odd else places

    def _timed(self, made: Made, given: Gathered, places: Sequence[int], table: pa.Table) -> _Timed:
        """The records that have a time; the others are bad."""
        records = given.records.take(places)
        where = f"the column {self._settings.time!r}" if self._settings.time else "the message"
        found = times_of(records, table, self._settings.time)
        made.bad.update({place: f"it has no time in {where}" for place, time in zip(places, found, strict=True) if time is None})
        kept = [place for place, time in zip(places, found, strict=True) if time is not None]
        times = [time for time in found if time is not None]
        queues = [given.queues[place] for place in kept]
        before = watermarks_before(made.state.clocks, queues, times, self._settings.lateness)
        first = made.state.first if made.state.first is not None or not times else times[0]
        made.state = replace(made.state, clocks=clocks_after(made.state.clocks, queues, times), first=first)
        return _Timed(kept, times, before)

    def _first(self, made: Made, timed: _Timed, table: pa.Table, places: Sequence[int]) -> _Timed:
        """Without duplicates."""
        at = dict(zip(places, range(len(places)), strict=True))
        rows = table.select(list(self._settings.by)).take(pa.array([at[place] for place in timed.places], pa.int64()))
        columns = [column.to_pylist() for column in rows.columns]
        keys = [digest(key) for key in zip(*columns, strict=True)]
        found = first_of_each(made.state.seen, keys, timed.times, timed.before, self._settings.within)
        made.duplicates = len(timed.places) - len(found.kept)
        made.state = replace(made.state, seen=found.seen)
        return timed.take(found.kept)

    def _opened(self, made: Made, timed: _Timed, table: pa.Table, places: Sequence[int]) -> None:
        """Puts the records into their windows."""
        if wrong := [name for name in WINDOW if name in table.column_names and table.column(name).null_count < len(table)]:
            msg = f"the records have a column {wrong[0]}, which is that of windows: rename it with a transform"
            raise PermanentError(msg)
        found = assigned(timed.times, timed.before, made.state.written, self._settings.window, self._settings.slide)
        for index in found.late:
            reason = f"it is of {_moment(timed.times[index])}, and all of its windows were over when it came (query.lateness)"
            made.late[timed.places[index]] = reason
        at = dict(zip(places, range(len(places)), strict=True))
        rows = table.drop_columns([name for name in WINDOW if name in table.column_names])
        rows = rows.take(pa.array([at[timed.places[index]] for index in found.places], pa.int64()))
        rows = rows.append_column(_START, pa.array(found.starts, pa.int64()))
        if len(rows):
            made.state = replace(made.state, rows=rows if made.state.rows is None else behind(made.state.rows, rows))

    def _closed(self, made: Made, parts: Sequence[Part], waited: Sequence[str], is_read: Callable[[str], bool]) -> Made:
        """Writes windows that the watermark has passed, and forgets keys that it has."""
        state, settings = made.state, self._settings
        if not settings.keeps or state.first is None:
            return made
        idle = [queue for queue in quiet(state.clocks, state.first, waited, settings.idle) if is_read(queue)]
        mark = watermark(state.clocks, waited, idle, settings.lateness)
        if mark is None:
            return made
        if settings.by:
            state = replace(state, seen=forgotten(state.seen, mark, settings.within))
        if settings.window:
            mark = mark if state.written is None else max(mark, state.written)
            state = replace(state, written=mark)
            if state.rows is not None:
                over = pc.less_equal(pc.add(state.rows.column(_START), settings.window), mark)
                done, left = state.rows.filter(over), state.rows.filter(pc.invert(over))
                state = replace(state, rows=left if len(left) else None)
                if len(done):
                    made.parts = self._windows(done, parts)
        made.state = state
        return made

    def _windows(self, rows: pa.Table, parts: Sequence[Part]) -> list[Part]:
        """The result of windows that are over, in their order."""
        rows = rows.take(pc.sort_indices(rows.column(_START)))
        begins = rows.column(_START).to_pylist()
        slices, windows, at = [], [], 0
        for begin, group in groupby(begins):
            count = sum(1 for _ in group)
            slices.append((at, at + count))
            windows.append(begin)
            at += count
        starts = rows.column(_START)
        rows = rows.set_column(rows.column_names.index(_START), _START, starts.cast(_TIMES))
        rows = rows.append_column(_END, pc.add(starts, self._settings.window).cast(_TIMES))
        result = self._process.run(rows.combine_chunks(), slices)
        if not len(result):
            return []
        values = values_of(result, {SLICE})
        return [part_of_windows(parts, values, [windows[number] for number in result.column(SLICE).to_pylist()])]

    def _by_row(self, made: Made, given: Gathered, places: Sequence[int], table: pa.Table | None) -> None:
        """Runs a query that makes of each record some rows by itself."""
        found: list[pa.Table] = []
        if table is not None and places:
            whole = table.append_column(INDEX, pa.array(places, pa.int64()))
            self._halved(whole, found, made.bad)
        values = None
        order: list[int] = []
        if found:
            result = pa.concat_tables(found, promote_options="permissive")
            result = result.take(pc.sort_indices(result.column(INDEX)))
            if len(result):
                order = result.column(INDEX).to_pylist()
                values = values_of(result, {INDEX})
        there = set(given.rows_of_values)
        tombstones = [place for place in range(len(given.records)) if place not in there]
        results = parts_by_record(given, values, order, tombstones)
        made.parts, made.numbered = results.parts, results.numbered

    def _halved(self, table: pa.Table, found: list[pa.Table], bad: dict[int, str]) -> None:
        """Halves what fails until the bad records are found."""
        try:
            found.append(self._process.run(table))
        except RecordError as error:
            if not bad and not found:
                # What fails without any record is no record's fault.
                self._process.run(table.slice(0, 0))
            if len(table) == 1:
                bad[table.column(INDEX)[0].as_py()] = f"the query fails for it: {error}"
                return
            middle = len(table) // 2
            self._halved(table.slice(0, middle), found, bad)
            self._halved(table.slice(middle), found, bad)


def _moment(milliseconds: int) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(sep=" ", timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"
