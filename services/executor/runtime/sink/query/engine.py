"""Writes what a query makes of batches, with the engine of the sink."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.queries.options import QuerySettings
from rocketconnect_sdk.queries.tables import Tables
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.stages import Stage
from rocketconnect_sdk.transforms.processes.sql import SqlProcess
from rocketconnect_sdk.wording.counts import counted
from services.executor.runtime.errors.failure import Failure, as_bytes
from services.executor.runtime.sink.decode.part import BadRecord, DecodeSettings, Part
from services.executor.runtime.sink.engines import Engine, Ready
from services.executor.runtime.sink.query.flow import Flow, Made
from services.executor.runtime.sink.query.records import Gathered, gathered
from services.executor.runtime.sink.query.state import QueryState, StateFolder

_GATHER_SECONDS = 0.5
"""A state is written with each batch."""


@dataclass(slots=True)
class _Batch:
    """A batch on its way: what was made of it, with the bad records of it, and whether its state is written."""

    token: str
    made: Made
    bad: list[BadRecord]
    late: list[BadRecord]
    saved: bool = False


class QueryEngine:
    """Hands the result of a query on in the place of the records. One thread writes, another one finishes parts.

    A state is durable before its batch is committed, and right where the positions of the sink are those behind the batch: so
    state and data agree, whatever ends between both.

    Args:
        inner: Writes.
        settings: Of the query.
        folder: Where states are; None: nothing is kept.
        leave_out: Told of each record that came too late and goes nowhere.
        duplicates: Told how many records were dropped as duplicates.
        tolerant: errors.tolerance=all: what came too late goes where bad records go.
    """

    def __init__(
        self,
        inner: Engine,
        settings: QuerySettings,
        folder: StateFolder | None,
        *,
        leave_out: Callable[[BadRecord], None],
        duplicates: Callable[[int], None],
        tolerant: bool,
    ) -> None:
        headers = inner.wanted.headers or "_headers" in settings.query.about
        self.wanted = DecodeSettings(
            headers=headers, header_names=() if "_headers" in settings.query.about else inner.wanted.header_names
        )
        self.gather_seconds = max(inner.gather_seconds, _GATHER_SECONDS) if folder is not None else inner.gather_seconds
        self._inner = inner
        self._settings = settings
        self._folder = folder
        self._leave_out = leave_out
        self._duplicates = duplicates
        self._tolerant = tolerant
        self._process = SqlProcess(settings.query.text, settings.timeout, "query.timeout")
        self._tables = Tables(settings.tables)
        self._flow = Flow(settings, self._process)
        self._state = QueryState()
        self._positions: dict[str, QueuePosition] = {}
        self._waited: list[str] = []
        self._end_of: Callable[[str], int | None] = lambda _: None
        self._batch: _Batch | None = None

    def begin(
        self,
        positions: Mapping[str, QueuePosition],
        begun: Collection[str],
        waited: Sequence[str],
        end_of: Callable[[str], int | None],
    ) -> str:
        """Takes up the state behind these positions; what there is to say of it, for people.

        Args:
            positions: Where each queue is begun.
            begun: Those of which records were written.
            waited: The queues whose watermarks count.
            end_of: The end of a queue now; None: it is not known.

        Raises:
            PermanentError, RetriableError: as StateFolder.load.
        """
        self._positions, self._waited, self._end_of = dict(positions), list(waited), end_of
        self._batch = None
        if self._folder is None:
            return ""
        self._state, said = self._folder.load(positions, begun, may_be_empty=self._settings.may_be_empty)
        return said

    def stored(self, positions: Mapping[str, QueuePosition]) -> None:
        """The position service has these positions."""
        if self._folder is not None:
            self._folder.stored(positions)

    def finish(self, part: Part) -> None:
        """Nothing to prepare: parts of the result are."""

    def write(self, parts: Sequence[Part], commit: SinkCommit, ready: Ready) -> Sequence[BadRecord]:
        """Writes the result, or the positions where it has no rows; the state first."""
        if self._batch is None or self._batch.token != commit.token:
            self.give_up()
            self._batch = self._made_of(parts, commit)
        batch = self._batch
        if batch.bad:
            # Before the state is written: where they may not be left out the batch ends before them.
            ready(batch.bad)
        if self._folder is not None and not batch.saved:
            self._folder.save(commit.after, batch.made.state)
            batch.saved = True
        known = [*batch.bad, *(batch.late if self._tolerant else ())]
        rows = sum(len(part.records) for part in batch.made.parts)
        # Whose positions move without a row is told by the topic of a part.
        made = batch.made.parts or list(map(_emptied, parts[:1]))
        refused = self._inner.write(made, replace(commit, rows=rows), lambda more: ready([*known, *map(self._of_message, more)]))
        self._committed(batch, commit)
        return [*known, *map(self._of_message, refused)]

    def _committed(self, batch: _Batch, commit: SinkCommit) -> None:
        self._state, self._batch = batch.made.state, None
        self._positions.update(commit.after)
        if self._folder is not None:
            self._folder.committed()
        if batch.made.duplicates:
            self._duplicates(batch.made.duplicates)
        if not self._tolerant:
            for record in batch.late:
                self._leave_out(record)

    def give_up(self) -> None:
        """The batch that failed last will not be written: what it would have changed of the state is forgotten."""
        if self._batch is None:
            return
        self._batch = None
        self._inner.give_up()
        if self._folder is not None:
            self._folder.give_up()

    def close(self) -> None:
        """Ends the process of the query."""
        self._process.close()

    def _made_of(self, parts: Sequence[Part], commit: SinkCommit) -> _Batch:
        tables = self._tables.now()
        self._process.set_tables(tables)
        after = {**self._positions, **commit.after}
        try:
            made = self._flow.made(self._state, parts, tables, self._waited, lambda queue: self._is_read(after, queue))
        except RecordError as error:
            raise PermanentError(str(error)) from error
        for part in made.parts:
            if self._inner.wanted.array is not None:
                part.array = self._inner.wanted.array(part.records.values, part.records.schema)
            self._inner.finish(part)
        self._check_size(made.state)
        given = gathered(parts) if made.bad or made.late else None
        bad, late = ([] if given is None else _bad_records(given, reasons) for reasons in (made.bad, made.late))
        return _Batch(commit.token, made, bad, late)

    def _is_read(self, after: Mapping[str, QueuePosition], queue: str) -> bool:
        """Whether a queue has nothing behind its position."""
        end = self._end_of(queue)
        return end is not None and queue in after and after[queue].until >= end

    def _check_size(self, state: QueryState) -> None:
        if self._folder is not None and state.size > self._settings.state_bytes:
            msg = (
                f"the state of the query would have {counted(state.size, 'byte')}, and query.state.bytes allows "
                f"{self._settings.state_bytes:,}: raise it, or let windows end earlier (query.window, "
                "query.lateness, query.idle; query.deduplicate.within)"
            )
            raise PermanentError(msg)

    def _of_message(self, record: BadRecord) -> BadRecord:
        """A record of the result that the sink refused, as the message that it is of."""
        batch = self._batch
        if batch is None or self._settings.window:
            msg = f"the sink refuses a row of the result of the query: {record.failure.message}. Mend the query or the target"
            raise PermanentError(msg)
        if record.row is None:
            return record
        place = record.queue, record.offset, record.row
        return replace(record, row=batch.made.numbered.get(place, record.row))


def _emptied(part: Part) -> Part:
    """A part of the same range without a record."""
    return Part.of_nothing(part.queue, part.topic, part.start, part.until, part.stored_ms, part.arrived)


def _bad_records(given: Gathered, reasons: Mapping[int, str]) -> list[BadRecord]:
    """By place, what is wrong with each."""
    found = []
    for place, reason in sorted(reasons.items()):
        failure = Failure.of_value(Stage.WRITE, RecordError(reason), as_bytes(given.records.values[place]), SqlProcess)
        found.append(BadRecord(given.queues[place], given.offsets[place], failure, row=given.rows[place]))
    return found
