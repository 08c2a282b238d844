"""The tables that queries join: files that are read again when they change."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.permissions.roots import Access, roots

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_BYTES = 128 << 20
"""Of a file. Its rows are in memory, here and where the query runs."""


def _csv(file: Any) -> "pa.Table":
    from pyarrow import csv

    return csv.read_csv(file)


def _json(file: Any) -> "pa.Table":
    from pyarrow import json

    return json.read_json(file)


def _parquet(file: Any) -> "pa.Table":
    from pyarrow import parquet

    return parquet.read_table(file)


FORMATS: Mapping[str, Callable[[Any], "pa.Table"]] = {
    ".csv": _csv,
    ".jsonl": _json,
    ".ndjson": _json,
    ".json": _json,
    ".parquet": _parquet,
}
"""By the ending of the file."""

Version = tuple[int, int, int]
"""Of a file: which it is, how long, and when it was changed."""


@dataclass(frozen=True, slots=True)
class ReadTable:
    """The rows of a file, and the version that they are of."""

    table: "pa.Table"
    version: Version


def read_table(path: str) -> ReadTable:
    """Reads the file of a table.

    Raises:
        RetriableError: it is not there, or can't be read: somebody may be writing it.
        PermanentError: it is not where connectors may read, or too large.
    """
    import pyarrow as pa

    try:
        with os.fdopen(roots(Access.READ).open(path, os.O_RDONLY), "rb") as file:
            version = _version(os.fstat(file.fileno()))
            if version[1] > _MOST_BYTES:
                msg = f"{path} has {version[1]:,} bytes, and tables of queries may have {_MOST_BYTES:,}: use a smaller one"
                raise PermanentError(msg)
            return ReadTable(FORMATS[Path(path).suffix.lower()](file), version)
    except (OSError, pa.ArrowException) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        msg = f"{path} cannot be read: {why}"
        raise RetriableError(msg) from error


class Tables:
    """The tables of one query, as their files are now. Used by one thread.

    Args:
        paths: By name.
    """

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths
        self._read: dict[str, ReadTable] = {}

    def now(self) -> "Mapping[str, pa.Table]":
        """By name; one whose file has not changed is the same object as before.

        Raises:
            RetriableError, PermanentError: as read_table.
        """
        for name, path in self._paths.items():
            known = self._read.get(name)
            if known is None or _version_at(path) != known.version:
                self._read[name] = read_table(path)
        return {name: each.table for name, each in self._read.items()}


def _version_at(path: str) -> Version | None:
    try:
        return _version(Path(path).stat())
    except OSError:
        return None


def _version(found: os.stat_result) -> Version:
    return found.st_ino, found.st_size, found.st_mtime_ns
