"""What a store has and what this process needs, again and again: a curve, and whether it is flat."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import sqlalchemy as sa

STEPS = 10
"""So many times it is measured."""
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Point:
    """What there is after so many."""

    done: int
    rows: Mapping[str, int]
    bytes: int
    memory: int


@dataclass(slots=True)
class Curve:
    """Points of what one part of the soak has done.

    Attributes:
        what: What was done, for people.
        engines: The stores.
        others: What is counted besides rows of tables, by its name.
        kept: Tables that keep a row of each for good.
        bounds: Tables that may grow up to so many rows.
    """

    what: str
    engines: tuple[sa.Engine, ...]
    others: Mapping[str, Callable[[], int]] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    bounds: Mapping[str, int] = field(default_factory=dict)
    points: list[Point] = field(default_factory=list)

    def measure(self, done: int) -> None:
        """Add a point."""
        rows = {name: count() for name, count in self.others.items()}
        size = 0
        for engine in self.engines:
            file = Path(str(engine.url.database))
            with closing(sqlite3.connect(file, isolation_level=None, timeout=60)) as store:
                # What waits in its log is in the store when it is looked at.
                store.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
                rows |= {name: store.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0] for name in tables}
            size += sum(each.stat().st_size for each in file.parent.glob(f"{file.name}*"))
        self.points.append(Point(done, rows, size, psutil.Process().memory_info().rss))

    def steps(self, count: int) -> Iterator[range]:
        """The numbers up to a count in so many ranges; behind each, what there is then is measured."""
        for step in range(STEPS):
            numbers = range(count * step // STEPS, count * (step + 1) // STEPS)
            yield numbers
            self.measure(numbers.stop)

    def table(self) -> str:
        """The curve for people: tables that never have more than one row are left out."""
        names = [name for name in self.points[0].rows if max(each.rows[name] for each in self.points) > 1]
        head = [self.what, *names, "store MiB", "memory MiB"]
        lines = [
            [f"{each.done:,}", *(f"{each.rows[name]:,}" for name in names), f"{each.bytes / _MIB:.1f}", f"{each.memory / _MIB:.0f}"]
            for each in self.points
        ]
        widths = [max(len(line[column]) for line in (head, *lines)) for column in range(len(head))]
        return "\n".join("  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in (head, *lines))

    def growing(self) -> list[str]:
        """What is more at the end than in the middle by a tenth and more, but for what is kept for good; empty: it is flat."""
        middle, last = self.points[STEPS // 2 - 1], self.points[-1]
        told = [
            f"{name}: {middle.rows[name]:,} -> {last.rows[name]:,}"
            for name in last.rows
            if name not in self.kept and last.rows[name] > max(middle.rows[name] * 1.1 + 2, self.bounds.get(name, 0))
        ]
        if last.memory > middle.memory * 1.1 + 4 * _MIB:
            told.append(f"memory: {middle.memory / _MIB:.0f} -> {last.memory / _MIB:.0f} MiB")
        kept = sum(last.rows[name] - middle.rows[name] for name in self.kept)
        if last.bytes > middle.bytes * 1.1 + 512 * kept + _MIB:
            told.append(f"store: {middle.bytes / _MIB:.1f} -> {last.bytes / _MIB:.1f} MiB")
        return told
