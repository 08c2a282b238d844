"""Which rows that differ stay different: rows under way differ for a while. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = tuple[str, str, str]
"""A table, its sink, the key."""


def row_of(difference: Mapping[str, Any]) -> Row:
    """Which row a difference of an answer is about."""
    return difference.get("table", ""), difference.get("sink", ""), difference.get("key", "")


@dataclass(frozen=True, slots=True)
class _Suspect:
    difference: Mapping[str, Any]
    since: float


class Suspects:
    """Rows that differ, until they have been as they are on both sides for long enough, or are equal.

    Args:
        wait: Seconds for which neither side may have changed.
    """

    def __init__(self, wait: float) -> None:
        self._wait = wait
        self._pending: dict[Row, _Suspect] = {}
        self.different: list[Mapping[str, Any]] = []
        """Those that stayed so."""

    def __len__(self) -> int:
        """How many are not decided."""
        return len(self._pending)

    @property
    def rows(self) -> Sequence[Row]:
        """Those that are not decided."""
        return list(self._pending)

    @property
    def newest(self) -> float:
        """Since when the one is as it is that has changed last; there is one."""
        return max(suspect.since for suspect in self._pending.values())

    def of_table(self, table: str, sink: str) -> int:
        """How many of a table are not decided."""
        return sum(row[:2] == (table, sink) for row in self._pending)

    def add(self, differences: Iterable[Mapping[str, Any]], now: float) -> None:
        """They were seen for the first time."""
        for each in differences:
            self._pending.setdefault(row_of(each), _Suspect(each, now))

    def look_again(self, rows: Iterable[Row], differences: Iterable[Mapping[str, Any]], now: float, passed: float) -> None:
        """These rows were compared again, and these of them differ. What was in the source when `passed` was has come through."""
        found = {row_of(each): each for each in differences}
        for row in rows:
            suspect = self._pending.pop(row)
            difference = found.get(row)
            if difference is None:
                continue
            if _digests(difference) != _digests(suspect.difference):
                self._pending[row] = _Suspect(difference, now)
            elif now - suspect.since >= self._wait and suspect.since <= passed:
                self.different.append(difference)
            else:
                self._pending[row] = suspect


def _digests(difference: Mapping[str, Any]) -> tuple[str, str]:
    return difference.get("sourceDigest", ""), difference.get("sinkDigest", "")
