"""The state of a table of Delta Lake at a version: the newest checkpoint before it, and the commits behind that."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from connectors.delta_source.actions import Actions, File, Metadata, Protocol, file_of, metadata_of, protocol_of, read_commit
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.permissions.roots import reading

LOG = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")
_FILES = (
    "add.path",
    "add.size",
    "add.partitionValues",
    "add.stats",
    "add.dataChange",
    "add.deletionVector",
    "add.modificationTime",
)


@dataclass(frozen=True, slots=True)
class Names:
    """What is in the log.

    Attributes:
        commits: The versions that have their commits, in their order.
        checkpoints: By version the names of the files of each whole checkpoint.
    """

    commits: Sequence[int]
    checkpoints: dict[int, list[str]]

    @property
    def newest(self) -> int:
        """The newest version; -1: there is none."""
        return max((*self.commits[-1:], *self.checkpoints), default=-1)

    def base(self, version: int) -> int | None:
        """The checkpoint from which a version can be made, -1: from nothing, None: it can't be."""
        there = set(self.commits)
        for base in sorted((each for each in (-1, *self.checkpoints) if each <= version), reverse=True):
            if all(number in there for number in range(base + 1, version + 1)):
                return base
        return None

    @property
    def earliest(self) -> int:
        """The first version whose state can be made; -1: none can."""
        return 0 if self.commits[:1] == [0] else min(self.checkpoints, default=-1)


@dataclass(slots=True)
class State:
    """A table at a version.

    Attributes:
        metadata: What it is.
        protocol: What readers have to know.
        files: That it has; empty, where they were not asked for.
    """

    metadata: Metadata
    protocol: Protocol
    files: list[File]


class LogFolder:
    """The folder of the log of one table.

    Args:
        root: The directory of the table.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder = root / LOG

    def names(self) -> Names:
        """What is there. Raises SystemAway: there is no table."""
        try:
            names = reading().names(self._folder)
        except OSError as error:
            msg = f"{self._root}: there is no Delta table: {error.strerror}"
            raise SystemAway(msg) from error
        commits = sorted(int(found[1]) for name in names if (found := _COMMIT.fullmatch(name)))
        parts: dict[tuple[int, int], list[str]] = {}
        for name in sorted(names):
            if found := _CHECKPOINT.fullmatch(name):
                parts.setdefault((int(found[1]), int(found[3] or 1)), []).append(name)
        return Names(commits, {version: files for (version, count), files in parts.items() if len(files) == count})

    def mark(self, version: int) -> tuple[int, ...] | None:
        """What tells the file of a commit from another one of the same name; None: it is not there."""
        try:
            found = self._commit(version).stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._away(error) from error
        return (found.st_ino, found.st_mtime_ns, found.st_size)

    def commit(self, version: int) -> Actions | None:
        """What a commit says; None: it is not there."""
        path = self._commit(version)
        try:
            with os.fdopen(reading().open(path, os.O_RDONLY), "rb") as file:
                found = read_commit(file)
                if found.time_ms is None:
                    found.time_ms = os.fstat(file.fileno()).st_mtime_ns // 1_000_000
                return found
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._away(error) from error
        except ValueError as error:
            msg = f"{path} cannot be read now: {error}"
            raise RetriableError(msg) from error

    def state(self, names: Names, version: int, *, files: bool = False) -> State | None:
        """The table at a version; None: it can't be told any more.

        Args:
            names: What is in the log.
            version: The version.
            files: The files that it has are wanted.
        """
        base = names.base(version)
        if base is None:
            return None
        metadata, protocol = None, None
        there: dict[tuple[str, str], File] = {}
        for actions in self._replayed(names, base, version, files=files):
            metadata, protocol = actions.metadata or metadata, actions.protocol or protocol
            if files:
                for file in actions.removes:
                    there.pop((file.path, file.vector), None)
                there.update({(file.path, file.vector): file for file in actions.adds})
        if metadata is None or protocol is None:
            msg = f"{self._folder}: up to version {version} nothing says what the table is: the log is damaged"
            raise PermanentError(msg)
        return State(metadata, protocol, [there[key] for key in sorted(there)])

    def _replayed(self, names: Names, base: int, version: int, *, files: bool) -> Iterator[Actions]:
        for name in names.checkpoints.get(base, ()):
            yield self._checkpoint(name, files=files)
        for number in range(base + 1, version + 1):
            actions = self.commit(number)
            if actions is None:
                msg = f"{self._commit(number)} was removed while the log was read"
                raise RetriableError(msg)
            yield actions

    def _checkpoint(self, name: str, *, files: bool) -> Actions:
        path, found = self._folder / name, Actions()
        try:
            with os.fdopen(reading().open(path, os.O_RDONLY), "rb") as held:
                opened = pq.ParquetFile(held)
                wanted = ["metaData", "protocol", *(_FILES if files else ())]
                for batch in opened.iter_batches(columns=wanted, use_threads=False):
                    _gather(found, batch)
        except FileNotFoundError as error:
            msg = f"{path} was removed while the log was read"
            raise RetriableError(msg) from error
        except OSError as error:
            raise self._away(error) from error
        except (pa.ArrowException, KeyError, TypeError) as error:
            msg = f"{path} is no checkpoint of Delta Lake: {error}"
            raise PermanentError(msg) from error
        return found

    def _commit(self, version: int) -> Path:
        return self._folder / f"{version:020}.json"

    def _away(self, error: OSError) -> RetriableError:
        return RetriableError(f"{self._folder} cannot be read now: {error.strerror or error}")


def _gather(found: Actions, batch: pa.RecordBatch) -> None:
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        rows: list[dict[str, Any]] = values.drop_null().to_pylist(maps_as_pydicts="strict")
        if name == "add":
            found.adds += map(file_of, rows)
        elif name == "metaData" and rows:
            found.metadata = metadata_of(rows[-1])
        elif name == "protocol" and rows:
            found.protocol = protocol_of(rows[-1])
