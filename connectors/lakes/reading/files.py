"""The rows of a file of Parquet, from one of them on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from connectors.lakes.reading.fitting import Unfit, rows_of
from connectors.lakes.reading.log import DataFile
from connectors.lakes.reading.naming import named, wanted
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.permissions.roots import reading

_BUFFER = 1 << 20
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""Marks of files whose days and times before 1582 were counted in another calendar."""


class Missing(Exception):
    """The file is not there. The text is its path."""


class FileRows:
    """Reads one file. Rows are in the order of the file.

    Args:
        file: The file.
        columns: Of the table, without those that the file has as constants or not at all.
        row: So many rows are left out at the beginning.
        batch_rows: So many rows come at once at most.
        batch_bytes: About so many bytes come at once at most.

    Raises:
        Missing: it is not there.
        RetriableError: it can't be read now.
        PermanentError: it is no file of Parquet.
    """

    def __init__(self, file: DataFile, columns: pa.Schema, row: int, batch_rows: int, batch_bytes: int) -> None:
        if file.unreadable:
            msg = f"{file.path}: {file.unreadable}"
            raise PermanentError(msg)
        self._file = file
        self._columns = columns
        self._held = self.opened()
        try:
            self._begin(row, batch_rows, batch_bytes)
        except BaseException:
            self.close()
            raise

    def _begin(self, row: int, batch_rows: int, batch_bytes: int) -> None:
        with _told(self._file):
            # Points in time in 96 bits are nanoseconds by default, which end in 2262.
            opened = pq.ParquetFile(self._held, buffer_size=_BUFFER, coerce_int96_timestamp_unit="us")
            metadata = opened.metadata
        if any(mark in (metadata.metadata or {}) for mark in _LEGACY):
            msg = f"{self._file.path}: its days and times are in the calendar of before 1582. Write its rows anew"
            raise PermanentError(msg)
        self.count: int = metadata.num_rows
        """How many rows the file has."""
        first, left, size = 0, row, 0
        while first < metadata.num_row_groups and left >= metadata.row_group(first).num_rows:
            left -= metadata.row_group(first).num_rows
            first += 1
        self._skip = left
        for number in range(first, metadata.num_row_groups):
            group = metadata.row_group(number)
            size = max(size, group.total_byte_size // max(1, group.num_rows))
        rows = max(1, min(batch_rows, batch_bytes // max(1, size)))
        with _told(self._file):
            names = self.names_in(opened.schema_arrow)
        groups = list(range(first, metadata.num_row_groups))
        self._batches: Iterator[pa.RecordBatch] = opened.iter_batches(rows, groups, names, use_threads=False)

    def next(self) -> pa.StructArray | None:
        """The next rows; None: there are no more.

        Raises:
            RetriableError: they can't be read now.
            PermanentError: they are not what the table says.
        """
        while True:
            with _told(self._file):
                batch = next(self._batches, None)
                if batch is None:
                    return None
                if self._skip >= len(batch):
                    self._skip -= len(batch)
                    continue
                batch, self._skip = batch.slice(self._skip), 0
                return rows_of(self.named_as_table(batch), self._columns, self._file.constants)

    def opened(self) -> Any:
        """The file, as a file object. Raises Missing, RetriableError."""
        try:
            return os.fdopen(reading().open(self._file.path, os.O_RDONLY), "rb")
        except (FileNotFoundError, NotADirectoryError):
            raise Missing(str(self._file.path)) from None
        except OSError as error:
            msg = f"{self._file.path} cannot be read now: {error.strerror}"
            raise RetriableError(msg) from error

    def names_in(self, there: pa.Schema) -> list[str]:
        """The names that the file has for the columns that are read of it. Raises Unfit."""
        numbered = self._file.numbered
        names = [name for name in self._columns.names if name in there.names] if numbered is None else wanted(there, numbered)
        return [name for name in names if name not in self._file.constants]

    def named_as_table(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of the file with the names that the table has for their columns. Raises Unfit."""
        numbered = self._file.numbered
        return batch if numbered is None else named(batch, numbered)

    def close(self) -> None:
        """Gives the file back."""
        self._held.close()


@contextmanager
def _told(file: DataFile) -> Iterator[None]:
    """What goes wrong while a file is read, as the runtime is told."""
    try:
        yield
    except Unfit as error:
        msg = f"{file.path}: {error}. Write its rows anew"
        raise PermanentError(msg) from error
    except pa.ArrowException as error:
        msg = f"{file.path} is no whole file of Parquet: {error}. Restore it, or remove it from the table"
        raise PermanentError(msg) from error
    except OSError as error:
        msg = f"{file.path} cannot be read now: {error.strerror or error}"
        raise RetriableError(msg) from error
