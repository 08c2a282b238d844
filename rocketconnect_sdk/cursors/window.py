"""Which rows of the overlap were given, so that none is given twice. Pure."""

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rocketconnect_sdk.cursors.pages import Mark
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.resume import JSON

_BYTES = 8
STORED = 4_000
"""So many rows go into the map of a position, which holds 64 KiB."""
KEPT = 100_000
"""So many rows are kept in memory."""
_PRUNED = 2_000
"""Beyond so many rows old ones are looked for."""


class Window:
    """The rows that were given with marks from which others may still come late.

    Args:
        resume: What `written` has stored; empty: nothing was given.
        earlier: The least mark of rows that may come late, where a mark is the newest.
        latest: The newest mark that a row can have now; None: any.
    """

    def __init__(
        self, resume: Mapping[str, JSON], earlier: Callable[[Mark], Mark], latest: Callable[[], Mark | None] = lambda: None
    ) -> None:
        self._earlier = earlier
        self._latest = latest
        self.mark: Any = _mark(resume.get("mark"))
        """The newest."""
        self.since: Any = _mark(resume.get("since"))
        """From which on the round reads; None: everything."""
        self._floor: Any = _mark(resume.get("floor"))
        """Rows up to this mark may be forgotten, where it is there."""
        self._known_floor: Any = None
        self.ahead: Any = None
        """A mark that is newer than any can be; None: none was seen."""
        self.is_whole = self._floor is None and not resume.get("cut", False)
        """It decides about the rest of the round as the one did that was stored."""
        rows = resume.get("rows")
        data = base64.b64decode(rows) if isinstance(rows, str) else b""
        numbers = [int.from_bytes(data[at : at + _BYTES]) for at in range(0, len(data), _BYTES)]
        # When they may be forgotten is known by the newest mark at the latest.
        self._rows: dict[int, Any] = dict.fromkeys(numbers, self.mark) if self.mark is not None else {}
        self._next_prune = max(_PRUNED, 2 * len(self._rows))

    def begin(self) -> Any:
        """Another round begins, at this mark.

        Raises:
            PermanentError: as `new`.
        """
        self.since = None if self.mark is None else self._earlier(self.mark)
        self._prune(self.since)
        if self._floor is not None:
            if self._floor < self.since:
                self._floor = None
            else:
                self.since = self._floor
        self._known_floor = self._floor
        self.is_whole = True
        return self.since

    def new(self, marks: Sequence[Any], ids: Sequence[object], *, ordered: bool) -> list[int]:
        """Which of these rows were not given yet, by their places; they are given now.

        Args:
            marks: Of the rows.
            ids: Of the rows.
            ordered: All later rows of the round have these marks or newer ones.

        Raises:
            PermanentError: so many have the newest mark that those that come can't be told from those that were given.
        """
        places: list[int] = []
        floor, latest = self._known_floor, self._latest()
        for place, (mark, name) in enumerate(zip(marks, ids, strict=True)):
            number = _number(mark, name)
            if number in self._rows or (floor is not None and mark is not None and mark <= floor):
                continue
            if mark is not None and latest is not None and mark > latest:
                self.ahead = mark
            elif mark is not None and (self.mark is None or mark > self.mark):
                self.mark = mark
            known = mark if mark is not None else self.mark
            if known is not None:
                self._rows[number] = known
            places.append(place)
        if self.mark is not None and len(self._rows) > self._next_prune:
            self._prune(self._least(self.mark, ordered=ordered))
        return places

    @property
    def has_forgotten(self) -> bool:
        """Whether the overlap holds more rows than are kept: those that come late before the oldest of them are not seen."""
        return self._floor is not None

    def written(self, *, ordered: bool) -> dict[str, JSON]:
        """What is stored of it."""
        if self.mark is None:
            return {}
        least = self._least(self.mark, ordered=ordered)
        rows = [number for number, mark in self._rows.items() if least is None or mark >= least]
        made: dict[str, JSON] = {"mark": self.mark}
        if len(rows) > STORED:
            rows = sorted(rows, key=self._rows.__getitem__)[-STORED:]
            if self.since is not None:
                made["cut"] = True
        if rows:
            made["rows"] = base64.b64encode(b"".join(number.to_bytes(_BYTES) for number in rows)).decode()
        made |= {name: mark for name, mark in (("since", self.since), ("floor", self._floor)) if mark is not None}
        return made

    def _least(self, mark: Any, *, ordered: bool) -> Any:
        """The least mark of rows that may be read again, in this round or the next one."""
        return self._earlier(mark) if ordered or self.since is None else self.since

    def _prune(self, least: Any) -> None:
        if least is not None:
            self._rows = {number: mark for number, mark in self._rows.items() if mark >= least}
        if len(self._rows) > KEPT:
            by_age = sorted(self._rows.items(), key=lambda each: each[1])
            self._floor = by_age[-KEPT - 1][1]
            if self._floor == self.mark:
                many = f"more than {KEPT:,} rows have the mark {self.mark!r}"
                msg = f"{many}, and no more can be told from new ones: take a field of finer steps"
                raise PermanentError(msg)
            self._rows = dict(by_age[-KEPT:])
        self._next_prune = max(_PRUNED, 2 * len(self._rows))


def _number(mark: Mark | None, name: object) -> int:
    return int.from_bytes(hashlib.blake2b(f"{mark!r}\n{name}".encode(errors="surrogatepass"), digest_size=_BYTES).digest())


def _mark(value: JSON) -> Mark | None:
    return value if isinstance(value, int | float | str) else None
