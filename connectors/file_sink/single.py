"""One file of lines: Spark makes the lines, the driver appends them."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from connectors.file_sink.columns import Columns, named
from connectors.file_sink.forms import LineForm, blocks, unwritable
from connectors.file_sink.jobs import STAGED, CountedLines, check_all_there, parts_of, staged_job, uri
from rocketconnect_sdk.columns.sinks import DataFrameSinkTask
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.files import AppendedFile, StagedFile
from rocketconnect_sdk.files.trouble import understood
from rocketconnect_sdk.permissions.roots import writing
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, SinkCommit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SMALL_ROWS = 50_000
"""So many rows come to the driver, which makes lines of them; more are made lines by Spark in parallel. See the workload `ways`."""
FEW_ROWS = 5_000
"""So many come without a job, as rows that the driver itself handed over; more come as Arrow."""


class SingleFileTask(DataFrameSinkTask):
    """Appends each batch to the file, exactly once.

    Args:
        file: The file.
        form: How values become lines.
        evolving: What becomes of the columns of a CSV file where the form does not say them.
        flush: When batches are closed.
        header: A CSV file begins with the names of its columns.
    """

    def __init__(self, file: AppendedFile, form: LineForm, evolving: Columns, flush: FlushPolicy, *, header: bool) -> None:
        self._file = file
        self._form = form
        self._evolving = evolving
        self._flush = flush
        self._header = header
        self._roots = writing()
        self._attempt = 0

    @property
    def flush(self) -> FlushPolicy:
        """See SinkTask."""
        return self._flush

    @property
    def rows_as(self) -> Schema | None:
        """See DataFrameSinkTask."""
        return self._form.columns

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask."""
        return self._file.start()

    def columns_for(self, schema: Schema) -> Schema | None:
        """See DataFrameSinkTask. The names of the columns of a CSV file are stored with the batch."""
        if self._form.format != "csv" or self._form.columns is not None:
            return None
        names = self._file.remembered.get("columns")
        return self._evolving.settle(None if names is None else named(names, schema), schema).table

    def write(self, frame: "DataFrame", commit: SinkCommit) -> None:
        """See DataFrameSinkTask."""
        from pyspark.sql.pandas.types import to_arrow_type

        kind = to_arrow_type(frame.schema["value"].dataType)
        remember: dict[str, Any] = {}
        first = b""
        if self._form.format == "csv":
            names = self._form.names(kind)
            self._same_columns(names)
            remember = {"columns": names, "delimiter": self._form.delimiter}
            first = self._form.header(names) if self._header else b""
        if commit.rows <= SMALL_ROWS:
            self._file.append([self._collect(frame, kind, commit.rows)], commit, remember=remember, first=first)
            return
        self._attempt += 1
        directory = self._file.staged / f"{commit.token[:16]}-{self._attempt}"
        try:
            self._file.append(self._stage(frame, kind, directory), commit, remember=remember, first=first)
        finally:
            self._roots.remove_folder(directory)

    def unwritable(self, values: pa.Array) -> Mapping[int, str]:
        """See DataFrameSinkTask."""
        return unwritable(values, self._form.lines)

    def move(self, commit: SinkCommit) -> None:
        """See SinkTask."""
        self._file.append((), commit)

    def close(self) -> None:
        """Nothing is held between batches."""

    def _same_columns(self, names: list[str]) -> None:
        before = self._file.remembered.get("columns", names)
        if before != names:
            msg = f"{self._file.path} has the columns {', '.join(before)}; rows with {', '.join(names)} belong into another file"
            raise PermanentError(msg)
        delimiter = self._file.remembered.get("delimiter", self._form.delimiter)
        if delimiter != self._form.delimiter:
            other = f"rows with {self._form.delimiter!r} belong into another file"
            msg = f"{self._file.path} has {delimiter!r} between its fields; {other}"
            raise PermanentError(msg)

    def _collect(self, frame: "DataFrame", kind: pa.DataType, rows: int) -> bytes:
        if rows <= FEW_ROWS and (pa.types.is_string(kind) or pa.types.is_binary(kind)):
            array = pa.array([row[0] for row in frame.collect()], kind)
        else:
            array = frame.toArrow().column("value").combine_chunks()
        try:
            return bytes(self._form.lines(array))
        except RecordError as error:
            msg = f"{self._file.path}: {error}"
            raise RecordError(msg) from error

    def _stage(self, frame: "DataFrame", kind: pa.DataType, directory: Path) -> list[StagedFile]:
        if self._form.format == "text" and (pa.types.is_string(kind) or pa.types.is_binary(kind)):
            lines = frame if pa.types.is_string(kind) else frame.select(frame["value"].cast("string"))
        else:
            made = frame.mapInArrow(partial(blocks, self._form), "value binary")
            lines = made.select(made["value"].cast("string"))
        counted = CountedLines(lines)
        with staged_job(directory):
            counted.frame.write.options(compression="none", **STAGED).text(uri(directory))
        with understood(directory):
            parts = parts_of(directory)
            staged = [StagedFile(str(path), path.stat().st_size) for path in parts]
        there = sum(file.length for file in staged)
        check_all_there(directory, parts, there=there, written=counted.size(), unit="bytes")
        return staged
