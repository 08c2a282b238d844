"""The way through a table: version by version, and in each file by file."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from connectors.lakes.reading.ahead import Ahead
from connectors.lakes.reading.batches import Records
from connectors.lakes.reading.files import FileRows, Missing
from connectors.lakes.reading.log import Commit, DataFile, Gone, TableLog
from connectors.lakes.reading.places import Split, TableCoordinate, foreign
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketconnect_sdk.wording.counts import counted

_VERSIONS = 100
"""So many versions without rows are passed before somebody may see that he is to stop."""
_ACCEPT = "set on.gap=skip to accept the loss"


@dataclass(frozen=True, slots=True)
class Policy:
    """What is read, and what is passed.

    Attributes:
        records: Makes records of the rows of a version.
        skips_rewrites: Versions that do more than to add rows are passed.
        skips_gaps: What was removed from the history is passed.
    """

    records: Callable[[Commit], Records]
    skips_rewrites: bool
    skips_gaps: bool


@dataclass(slots=True)
class _Step:
    """A version that is being read, and the number of the file where that goes on."""

    commit: Commit
    records: Records
    file: int = 0


@dataclass(slots=True)
class _Opened:
    """A file that is being read: its part, how many of its rows are done, and the rows that were read beyond."""

    split: Split
    row: int
    file: DataFile
    rows: FileRows
    rest: pa.StructArray | None = None


class Walk:
    """Reads parts of a table from their places on. A call that raises an error has changed nothing and may be made again.

    Args:
        open_log: Gives the history of the table.
        places: Where each part goes on; the parts are of one table, and at least one.
        behind: The offsets that parts have come to where a row may become several records; none: a row is a record.
        policy: What is read, and what is passed.
        context: Of the run.
        clock: Seconds that only grow.

    Raises:
        PermanentError: there is another table by now. And what the log raises.
    """

    def __init__(
        self,
        open_log: Callable[[], TableLog],
        places: dict[Split, TableCoordinate],
        behind: Mapping[Split, Offset],
        policy: Policy,
        context: TaskContext,
        clock: Callable[[], float],
    ) -> None:
        self._open_log = open_log
        self.places = places
        """Where each part goes on."""
        self._behind = behind
        self.is_at_end = False
        """Behind the newest version."""
        self._policy = policy
        self._context = context
        self._clock = clock
        self._any = next(iter(places))
        self._step: _Step | None = None
        self._opened: _Opened | None = None
        self._log, self._ahead = self._begun()

    def next(self, most: int) -> SourceBatch | None:
        """The next rows, so many at most; None: there are none now, or many versions brought none: `is_at_end` says it."""
        self.is_at_end, passed = False, 0
        while passed < _VERSIONS and (step := self._step or self._advance()) is not None:
            opened = self._opened or self._open_next(step)
            if opened is None:
                self._leave(step.commit)
                passed += 1
                continue
            if opened.rest is None:
                opened.rest = self._read(opened)
            if opened.rest is None:
                self.close()
                step.file += 1
                continue
            rows = opened.rest[:most]
            begin = TableCoordinate(step.commit.version, step.commit.whole, step.file, opened.row)
            partition, behind = opened.split.partition, self._behind.get(opened.split, ())
            try:
                batch = step.records.batch(opened.file, rows, partition, begin, behind)
            except Missing as missing:
                what = f"so what became of the rows of {opened.file.path} is not known: its changes"
                self._pass_gap(f"{missing} is not there any more, {what}")
                self.close()
                step.file += 1
                continue
            # Not before: a batch that can't be made now is made again.
            opened.rest = opened.rest[most:] if len(opened.rest) > most else None
            opened.row += len(rows)
            self.places[opened.split] = begin._replace(row=opened.row)
            if batch is not None:
                return batch
        self.is_at_end = passed < _VERSIONS
        return None

    def look(self, seconds: float) -> bool:
        """Looks for what is left, for so many seconds at most. Returns whether that is known."""
        self._ahead.look(seconds)
        return self._ahead.bytes is not None

    def left(self) -> int | None:
        """How many bytes of files are left; None: it is not known."""
        ahead, step = self._ahead.bytes, self._step
        if ahead is None or (step is None and min(self.places.values()).whole):
            return None
        if step is None:
            return ahead
        left = sum(file.size for _, file in self._files(step.commit, step.file))
        if self._opened is not None:
            left -= step.commit.files[step.file].size * self._opened.row // max(1, self._opened.rows.count)
        return ahead + left

    def close(self) -> None:
        """Gives the file back that is open."""
        if self._opened is not None:
            self._opened.rows.close()
        self._opened = None

    def _read(self, opened: _Opened) -> pa.StructArray | None:
        """The next rows of a file; None: it is read to its end."""
        try:
            rows = opened.rows.next()
            if rows is None and opened.row < opened.rows.count:
                msg = f"a file that has {counted(opened.rows.count, 'row')} ended behind {opened.row}"
                raise RetriableError(msg)
        except ConnectorError:
            # Who has failed in the middle can't go on there: it is opened again.
            self.close()
            raise
        return rows

    def _begun(self) -> tuple[TableLog, Ahead]:
        log, first = self._open_log(), min(self.places.values())
        if problem := foreign(log.identity, self._any.parts, [self._any.partition]):
            raise PermanentError(problem)
        return log, Ahead(log, self._size, first.version + first.whole, self._clock)

    def _advance(self) -> _Step | None:
        """Goes on to the next version that is read; None: there is none yet."""
        while True:
            place = min(self.places.values())
            try:
                commit = self._log.whole(place.version) if place.whole else self._ahead.find(place.version)
            except Gone as gone:
                self._pass_gap(str(gone))
                self.places.update({split: max(place, gone.behind) for split, place in self.places.items()})
                # What the log has seen before a gap says nothing of what comes behind it.
                self._log, self._ahead = self._begun()
                continue
            if commit is None:
                return None
            if commit.rewrite:
                self._pass_rewrite(commit)
                commit = Commit(commit.version, 0, (), commit.columns)
            self._step = _Step(commit, self._policy.records(commit))
            self._ahead.pass_by(commit.version)
            return self._step

    def _open_next(self, step: _Step) -> _Opened | None:
        """Opens the next file of a version that has rows to read; None: there is none."""
        commit = step.commit
        for number, file in self._files(commit, step.file):
            split = self._split(number)
            here, place = (commit.version, commit.whole, number), self.places[split]
            # A row may be several records, of which some are done.
            again = split in self._behind
            row = max(0, place.row - again) if place[:3] == here else 0
            if place[:3] > here or (file.rows is not None and row >= file.rows):
                continue
            found = self._rows(step, file, row)
            if found is not None:
                step.file, self._opened = number, _Opened(split, row, *found)
                return self._opened
            # What is gone is told once.
            step.file = number + 1
        return None

    def _rows(self, step: _Step, file: DataFile, row: int) -> tuple[DataFile, FileRows] | None:
        """A file, or another one that has its rows, and these; None: it is gone, and that is accepted."""
        rows = self._try(step, file, row)
        if rows is None and (other := self._log.elsewhere(file)) is not None:
            file, rows = other, self._try(step, other, row)
        if rows is None:
            upto = "" if file.rows is None else f" to {file.rows}"
            gone = f"the file {file.path} of version {step.commit.version} is not there any more"
            what = f"{gone}, as VACUUM and cleaners remove files: its rows {row + 1}"
            self._pass_gap(f"{what}{upto or ' and all behind it'}")
            return None
        if row > rows.count:
            rows.close()
            msg = f"the position is behind row {row} of {file.path}, which has {counted(rows.count, 'row')}: set it anew"
            raise PermanentError(msg)
        return file, rows

    def _try(self, step: _Step, file: DataFile, row: int) -> FileRows | None:
        """The rows of a file; None: it is not there."""
        try:
            return FileRows(file, step.records.columns(file), row, self._context.batch_records, self._context.batch_bytes)
        except Missing:
            return None

    def _leave(self, commit: Commit) -> None:
        """A version is read."""
        for split, place in self.places.items():
            if place[:2] <= (commit.version, commit.whole):
                self.places[split] = TableCoordinate(commit.version + 1)
        self._step = None

    def _pass_gap(self, what: str) -> None:
        if not self._policy.skips_gaps:
            msg = f"{what} are lost; {_ACCEPT}"
            raise PermanentError(msg)
        self._context.log.warning("%s are lost; skipped, as on.gap=skip says", what)

    def _pass_rewrite(self, commit: Commit) -> None:
        what = f"version {commit.version} does more than to add rows: {commit.rewrite}"
        if not self._policy.skips_rewrites:
            msg = f"{what}. Set on.rewrite=skip to pass all of it"
            raise PermanentError(msg)
        self._context.log.warning("%s; none of it is sent, as on.rewrite=skip says", what)

    def _files(self, commit: Commit, first: int = 0) -> Iterator[tuple[int, DataFile]]:
        """The files of a version that are in these parts, from a number on."""
        numbers = range(first, len(commit.files))
        return ((number, commit.files[number]) for number in numbers if self._split(number) in self.places)

    def _split(self, number: int) -> Split:
        return Split(self._any.table, number % self._any.parts, self._any.parts)

    def _size(self, commit: Commit) -> int:
        return 0 if commit.rewrite else sum(file.size for _, file in self._files(commit))
