"""The files with the rows of a table of Hudi."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from connectors.hudi_source.columns import COMMIT_TIME
from connectors.hudi_source.timeline import HIDDEN
from connectors.lakes.reading.log import DataFile
from rocketconnect_sdk.errors import RetriableError
from rocketconnect_sdk.permissions.roots import reading

_FILE = re.compile(r"([^_]+)_[^_]+_(\d+)\.parquet")
_MARK = ".hoodie_partition_metadata"


@dataclass(frozen=True, slots=True)
class BaseFile(DataFile):
    """A file of which not all rows may be what a commit brings.

    Attributes:
        since: Rows of this commit alone; empty: of all.
        before: The file that it was made of; None: it was made of nothing.
        behind: Of a file with rows that are deleted: the file that was made of it; None: all of its rows are.
        added: So many of its rows, the last ones, are new, and all others as they were; 0: that is not known.
        commit: That has made it.
    """

    added: int = 0
    commit: str = ""
    since: str = ""
    before: Path | None = None
    behind: Path | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """What the name of a file says.

    Attributes:
        folder: Its partition; empty: the table has none.
        name: Itself.
        group: The files of a group follow each other: each has the rows of the one before it, and others.
        instant: That has made it.
    """

    folder: str
    name: str
    group: str
    instant: str


def named(folder: str, names: Iterable[str]) -> Iterator[Named]:
    """The files with rows among some names."""
    for name in names:
        if found := _FILE.fullmatch(name):
            yield Named(folder, name, found[1], found[2])


def newest_of(files: Iterable[Named], is_there: Callable[[str], bool], replaced: Iterable[tuple[str, str]]) -> Sequence[Named]:
    """The newest file of each group, in an order that is always the same.

    Args:
        files: Of the table.
        is_there: Whether an instant has done what it does.
        replaced: The groups that are there no more, each with its partition.
    """
    gone, newest = set(replaced), dict[tuple[str, str], Named]()
    for file in files:
        group = (file.folder, file.group)
        if group in gone or not is_there(file.instant):
            continue
        if group not in newest or (newest[group].instant, newest[group].name) < (file.instant, file.name):
            newest[group] = file
    return sorted(newest.values(), key=lambda file: (file.folder, file.name))


def all_files(root: Path) -> Iterator[Named]:
    """The files with rows that are in the directory of a table. Raises RetriableError."""
    yield from _files(root, "")


def files_in(root: Path, folder: str) -> Sequence[Named]:
    """The files with rows of one partition. Raises RetriableError."""
    return list(named(folder, _names(root / folder)))


def removed(cleaned: Mapping[str, Any]) -> Iterator[Named]:
    """The files that a clean has removed, as its metadata say it."""
    for folder, told in (cleaned.get("partitionMetadata") or {}).items():
        paths = {*(told.get("deletePathPatterns") or ()), *(told.get("successDeleteFiles") or ())}
        yield from named(folder, sorted(path.rpartition("/")[2] for path in paths))


def has_rows(path: Path, commit: str, first: int, behind: int) -> bool:
    """Whether the rows of a file that a commit has made are those from one number on up to another one, and all of these."""
    try:
        with os.fdopen(reading().open(path, os.O_RDONLY), "rb") as held:
            made = pq.read_table(held, columns=[COMMIT_TIME.name]).column(0)
    except (OSError, pa.ArrowException):
        return False
    places = pc.indices_nonzero(pc.equal(made, commit))
    return len(places) == behind - first and (places[0].as_py(), places[-1].as_py()) == (first, behind - 1)


def size_of(path: Path) -> int:
    """In bytes; 0: it is not there."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _files(root: Path, folder: str) -> Iterator[Named]:
    names = _names(root / folder)
    if any(name.startswith(_MARK) for name in names):
        yield from named(folder, names)
        return
    for name in sorted(names):
        if name != HIDDEN and "." not in name[:1] and (root / folder / name).is_dir():
            yield from _files(root, f"{folder}/{name}" if folder else name)


def _names(folder: Path) -> Sequence[str]:
    try:
        return reading().names(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        msg = f"{folder} cannot be read now: {error.strerror}"
        raise RetriableError(msg) from error
