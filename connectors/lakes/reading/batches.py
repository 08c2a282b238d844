"""Rows of a version as records."""

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from connectors.lakes.reading.fitting import is_plain
from connectors.lakes.reading.log import Commit, DataFile
from connectors.lakes.reading.places import TableCoordinate
from rocketconnect_sdk.arrow import from_arrow
from rocketconnect_sdk.columns.arrow_types import from_arrow_type
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, SourceBatch


class Records(Protocol):
    """Makes records of the rows of one version."""

    def columns(self, file: DataFile) -> pa.Schema:
        """The columns that are read of a file."""

    def batch(
        self, file: DataFile, rows: pa.StructArray, partition: str, begin: TableCoordinate, behind: Offset
    ) -> SourceBatch | None:
        """The records of rows that follow each other in a file; None: there are none of them.

        Args:
            file: The file.
            rows: With its columns.
            partition: See SourceBatch.
            begin: Where the first of them is.
            behind: What is not behind it is left out, where a row becomes several records.
        """


def check_key(commit: Commit, key: Sequence[str]) -> None:
    """Raises PermanentError: a column of the key is not there."""
    absent = [name for name in key if name not in commit.columns.names]
    if absent:
        there = ", ".join(commit.columns.names)
        msg = f"version {commit.version} has no column {absent[0]}, but {there}: correct key.columns"
        raise PermanentError(msg)


def offsets_of(begin: TableCoordinate, count: int) -> list[Offset]:
    """Those of so many rows that follow each other.

    Args:
        begin: Where the first of them is.
        count: How many there are.
    """
    return [(*begin[:3], number) for number in range(begin.row + 1, begin.row + count + 1)]


class Batches:
    """Makes batches of the rows of one version.

    Args:
        commit: The version.
        key: The columns of the keys; none: records have no keys.
        columnar: Values are held as columns.

    Raises:
        PermanentError: a column has no schema, or a column of the key is not there.
    """

    def __init__(self, commit: Commit, key: Sequence[str], *, columnar: bool) -> None:
        self._commit = commit
        self._columnar = columnar
        check_key(commit, key)
        self._key = [commit.columns.field(name) for name in key]
        try:
            self._schema = from_arrow_type(pa.struct(list(commit.columns)), optional=False)
            self._key_schema = from_arrow_type(pa.struct(self._key), optional=False) if key else None
        except TypeError as error:
            msg = f"version {commit.version}: {error}"
            raise PermanentError(msg) from error

    def columns(self, file: DataFile) -> pa.Schema:
        """See Records."""
        del file
        return self._commit.columns

    def batch(
        self, file: DataFile, rows: pa.StructArray, partition: str, begin: TableCoordinate, behind: Offset
    ) -> SourceBatch | None:
        """See Records."""
        del file, behind
        return self.made(rows, partition, offsets_of(begin, len(rows)))

    def made(self, rows: pa.StructArray, partition: str, offsets: Sequence[Offset]) -> SourceBatch:
        """The records of rows.

        Args:
            rows: With the columns of the version.
            partition: See SourceBatch.
            offsets: Of each.
        """
        count, time = len(rows), self._commit.time_ms
        times = None if time is None else [time] * count
        keys = None
        if self._key:
            parts = [rows.field(self._commit.columns.get_field_index(field.name)) for field in self._key]
            keys = pa.StructArray.from_arrays(parts, fields=self._key)
        if self._columnar and is_plain(rows):
            made = SourceBatch(partition, Column(rows), offsets, None if keys is None else Column(keys), times, size=rows.nbytes)
        else:
            made = from_arrow(pa.RecordBatch.from_struct_array(rows), partition, offsets, keys=keys, timestamps_ms=times)
        made.schema, made.key_schema = self._schema, self._key_schema
        return made
