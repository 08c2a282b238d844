"""The versions of a table that are still to be read: how many bytes there are, and what the next of them bring."""

import time
from collections import deque
from collections.abc import Callable

from connectors.lakes.reading.log import Commit, TableLog
from rocketconnect_sdk.errors import ConnectorError

_FILES = 2_000
"""Versions with so many files together are held; of those behind them no more than their bytes."""


class Ahead:
    """Looks ahead in a log, so that each version is asked for once, or twice where there are very many.

    Args:
        log: The history of the table.
        size: How many bytes of a version are read.
        version: The first that is not read yet.
        clock: Seconds that only grow.
    """

    def __init__(
        self, log: TableLog, size: Callable[[Commit], int], version: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._size = size
        self._next = version
        self._clock = clock
        self._seen: deque[tuple[int, int]] = deque()
        self._held: dict[int, Commit] = {}
        self._files = 0
        self._bytes = 0
        self._is_end = False

    @property
    def bytes(self) -> int | None:
        """In all versions that were not passed by; None: it is not known."""
        return self._bytes if self._is_end else None

    def look(self, seconds: float) -> None:
        """Goes on towards the newest version, for so many seconds at most. What is wrong there is told by `find`."""
        until = self._clock() + seconds
        self._is_end = False
        try:
            while not self._is_end and self._clock() < until:
                commit = self._log.commit(self._next)
                if commit is None:
                    self._is_end = True
                else:
                    self._see(commit)
        except ConnectorError:
            # What comes before it is given first.
            return

    def find(self, version: int) -> Commit | None:
        """What a version brings, or the first one behind it; None: there is none yet. Raises what the log does."""
        self.pass_by(version - 1)
        if self._seen:
            number = self._seen[0][0]
            return self._held.get(number) or self._log.commit(number)
        commit = self._log.commit(version)
        self._is_end = commit is None
        if commit is not None:
            self._see(commit)
        return commit

    def pass_by(self, version: int) -> None:
        """What a version brings, and those before it, is not left any more."""
        while self._seen and self._seen[0][0] <= version:
            number, size = self._seen.popleft()
            self._bytes -= size
            if held := self._held.pop(number, None):
                self._files -= len(held.files)

    def _see(self, commit: Commit) -> None:
        size = self._size(commit)
        self._seen.append((commit.version, size))
        self._bytes += size
        self._next = commit.version + 1
        if self._files + len(commit.files) <= _FILES:
            self._held[commit.version] = commit
            self._files += len(commit.files)
