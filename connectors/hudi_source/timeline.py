"""The timeline of a table of Hudi: which commits there are, and what the metadata of each say."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from connectors.hudi.container import MAGIC, record_of
from rocketconnect_sdk.errors import PermanentError, RecordError, RetriableError, SystemAway
from rocketconnect_sdk.permissions.roots import reading

HIDDEN = ".hoodie"
_OLD = 6
"""Before version 8 the timeline is in another folder, and does not say when a commit was completed."""
_DONE = re.compile(r"(\d+)(?:_(\d+))?\.(commit|replacecommit|clean|rollback|restore|savepoint)")
_PENDING = re.compile(r"(\d+)\.(?:(commit|replacecommit)\.)?(requested|inflight)")
_ARCHIVE = "archived"
_WRITES, _BACK = ("commit", "replacecommit"), ("rollback", "restore")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Instant:
    """Something that was done to a table, and completed.

    Attributes:
        requested: When it was begun: the name that Hudi has for it.
        completed: When it was completed; of tables of version 6 the same as `requested`.
        action: commit, replacecommit, clean, rollback, restore or savepoint.
        file: Which has its metadata; of the history the file of many.
    """

    requested: str
    completed: str
    action: str
    file: Path

    @property
    def version(self) -> int:
        """What orders commits."""
        return int(self.completed)


@dataclass(slots=True)
class Seen:
    """What is in a timeline, each list in the order of versions.

    Attributes:
        commits: That bring rows, or lay them out anew.
        back: That took commits back: of writers that have failed, or by hand.
        cleans: That removed files.
        saved: The commits of savepoints, as `requested`.
    """

    commits: list[Instant] = field(default_factory=list)
    back: list[Instant] = field(default_factory=list)
    cleans: list[Instant] = field(default_factory=list)
    saved: set[str] = field(default_factory=set)

    def add(self, instant: Instant) -> None:
        """Has one more."""
        if instant.action == "savepoint":
            self.saved.add(instant.requested)
        else:
            (self.commits if instant.action in _WRITES else self.back if instant.action in _BACK else self.cleans).append(instant)

    def sort(self) -> "Seen":
        """Puts all in order."""
        for each in (self.commits, self.back, self.cleans):
            each.sort(key=lambda instant: (instant.version, instant.requested))
        return self


class Timeline:
    """Of one table.

    Args:
        root: The directory of the table.

    Raises:
        SystemAway: there is no table.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        try:
            text = _read(root / HIDDEN / "hoodie.properties").decode()
        except OSError as error:
            msg = f"{root}: there is no table of Hudi: {error.strerror}"
            raise SystemAway(msg) from error
        self.settings = _properties(text)
        """What the table says of itself."""
        self.is_old = int(self.settings.get("hoodie.table.version", "0")) <= _OLD
        self._folder = root / HIDDEN / ("" if self.is_old else self.settings.get("hoodie.timeline.path", "timeline"))
        self._history = self._folder / self.settings.get("hoodie.timeline.history.path", "history")
        self._known: tuple[str, Seen] = ("", Seen())

    def seen(self) -> Seen:
        """What there is now. What is not completed is left out, and in an old table what was begun behind it."""
        names = self._names(self._folder)
        found, pending = Seen(), dict[str, str]()
        for name in names:
            if done := _DONE.fullmatch(name):
                if self.is_old != bool(done[2]):
                    found.add(Instant(done[1], done[2] or done[1], done[3], self._folder / name))
            elif self.is_old and (begun := _PENDING.fullmatch(name)) and (begun[3] == "inflight" or begun[1] not in pending):
                pending[begun[1]] = name
        if self.is_old:
            # Commits are known by when they were begun: one that is still to come would lie behind the reader.
            there = {each.requested for each in found.commits}
            left = [begun for begun, name in pending.items() if begun not in there and not self._is_plan(name)]
            first = min(left, default=None)
            found.commits = [each for each in found.commits if first is None or each.requested < first]
        return found.sort()

    @property
    def has_unknown_archive(self) -> bool:
        """Whether commits were put away where they are not read."""
        if not self.is_old:
            return False
        folder = self._folder / self.settings.get("hoodie.archivelog.folder", _ARCHIVE)
        return folder.is_dir() and any(name.startswith(".commits_") for name in self._names(folder))

    def history(self) -> Seen:
        """What was put away and can still be read."""
        if self.is_old:
            return Seen()
        try:
            newest = _read(self._history / "_version_").decode().strip()
        except FileNotFoundError:
            return Seen()
        except OSError as error:
            raise self._away(self._history, error) from error
        if newest != self._known[0]:
            self._known = (newest, self._put_away(newest))
        return self._known[1]

    def metadata(self, instant: Instant) -> Mapping[str, Any]:
        """What an instant says.

        Raises:
            RetriableError: it can't be read now, as it is being written, or put away.
        """
        try:
            data = _kept(instant) if instant.file.suffix == ".parquet" else _read(instant.file)
            if not data:
                return {}
            found: Mapping[str, Any] = record_of(data) if data.startswith(MAGIC) else json.loads(data)
        except OSError as error:
            raise self._away(instant.file, error) from error
        except (ValueError, IndexError, RecordError, pa.ArrowException) as error:
            msg = f"{instant.file} cannot be read now: {error}"
            raise RetriableError(msg) from error
        return found

    def moment(self, instant: Instant) -> int | None:
        """When it was completed, in milliseconds since 1970; None: it does not say it."""
        return moment_of(instant.completed, utc=self.settings.get("hoodie.table.timeline.timezone", "LOCAL").upper() == "UTC")

    def _is_plan(self, name: str) -> bool:
        """Whether rows are to be laid out anew: the plan of that is in a file that has none otherwise."""
        if not name.endswith(".replacecommit.requested"):
            return False
        try:
            return bool(_read(self._folder / name))
        except OSError as error:
            raise self._away(self._folder / name, error) from error

    def _put_away(self, newest: str) -> Seen:
        found, manifest = Seen(), self._history / f"manifest_{newest}"
        try:
            files = [self._history / each["fileName"] for each in json.loads(_read(manifest))["files"]]
            for file in files:
                with os.fdopen(reading().open(file, os.O_RDONLY), "rb") as held:
                    rows = pq.read_table(held, columns=["instantTime", "completionTime", "action"]).to_pylist()
                for row in rows:
                    if row["action"] in (*_WRITES, *_BACK):
                        found.add(Instant(row["instantTime"], row["completionTime"], row["action"], file))
        except OSError as error:
            raise self._away(manifest, error) from error
        except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
            msg = f"{manifest}: the history of the table is none that is known here: {error}"
            raise PermanentError(msg) from error
        return found.sort()

    def _names(self, folder: Path) -> Sequence[str]:
        try:
            return reading().names(folder)
        except FileNotFoundError as error:
            msg = f"{self._root}: there is no table of Hudi now"
            raise SystemAway(msg) from error
        except OSError as error:
            raise self._away(folder, error) from error

    def _away(self, path: Path, error: OSError) -> RetriableError:
        return RetriableError(f"{path} cannot be read now: {error.strerror or error}")


def moment_of(instant: str, *, utc: bool) -> int | None:
    """The milliseconds since 1970 of the name of an instant, in the zone of this machine or in UTC; None: it is no time."""
    try:
        found = datetime.strptime(f"{instant[:14]}+0000", "%Y%m%d%H%M%S%z")
        more = int(instant[14:17] or 0)
    except ValueError:
        return None
    zoned = found.replace(tzinfo=UTC) if utc else found.replace(tzinfo=None).astimezone()
    return int(zoned.timestamp()) * 1000 + more


def _kept(instant: Instant) -> bytes:
    """The metadata of an instant of the history."""
    with os.fdopen(reading().open(instant.file, os.O_RDONLY), "rb") as held:
        rows = pq.read_table(held, columns=["instantTime", "action", "metadata"])
    chosen = pc.and_(pc.equal(rows["instantTime"], instant.requested), pc.equal(rows["action"], instant.action))
    found = rows.filter(chosen)["metadata"].to_pylist()
    return bytes(found[0]) if found and found[0] else b""


def _read(path: Path) -> bytes:
    with os.fdopen(reading().open(path, os.O_RDONLY), "rb") as file:
        return file.read()


def _properties(text: str) -> dict[str, str]:
    """The settings of a file of Java's properties, as Java writes it."""
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith(("#", "!")))
    pairs = (line.partition("=") for line in lines)
    return {_plain(key.strip()): _plain(value) for key, _, value in pairs}


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1][1:], 16)) if len(found[1]) > 1 else _ESCAPED.get(found[1], found[1]), text)
