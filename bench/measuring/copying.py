"""Files that somebody copies to one file: timed, metered and checked, whoever does it."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.lines import compare
from bench.measuring.costs import Cost, Meter, per_million
from bench.workload import BenchFailed

LIMIT_SECONDS = 300.0
POLL_SECONDS = 0.002
LATE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Copied:
    """What it took.

    Attributes:
        rows: Lines.
        size: Bytes, with the newlines.
        seconds: From the beginning to the last byte in the sink's file.
        first_seconds: From the beginning until the first bytes were seen there.
        first_size: How many bytes they were.
        costs: What each process used.
    """

    rows: int
    size: int
    seconds: float
    first_seconds: float
    first_size: int
    costs: Sequence[Cost]

    def figures(self) -> Mapping[str, float]:
        """Rates of the whole time, of the time in which rows flow, and what a million rows costs."""
        return {
            "rows_per_s": self.rows / self.seconds,
            "mb_per_s": self.size / self.seconds / 1e6,
            "first_row_s": self.first_seconds,
            **self._flowing(),
            **per_million(self.costs, self.rows),
        }

    def _flowing(self) -> Mapping[str, float]:
        rest = self.size - self.first_size
        if rest < self.size / 2:
            # Most of it came at once: it is not known since when it flowed.
            return {}
        speed = rest / max(self.seconds - self.first_seconds, POLL_SECONDS)
        return {"flowing_rows_per_s": speed / self.size * self.rows, "flowing_mb_per_s": speed / 1e6}


def copy(
    begin: Callable[[], None],
    sources: Sequence[Path],
    sink: Path,
    rows: int,
    roots: Collection[int],
    trouble: Callable[[], str] = lambda: "",
) -> Copied:
    """Measures from the call of `begin` until the sink's file, which is removed then, is as long as the sources are.

    Args:
        begin: Has the copying begin.
        sources: The files that go in.
        sink: The file that comes out.
        rows: Lines of all sources.
        roots: The processes that are metered, with all below them.
        trouble: What to say when it does not end.

    Raises:
        BenchFailed: what came out is not what went in, each file in its order.
    """
    size = _size([*sources])
    meter = Meter(roots)
    begin()
    first_size, first_seconds = _wait(sink, 1, meter, trouble)
    _, seconds = _wait(sink, size, meter, trouble)
    costs = meter.costs()
    # What comes twice may come late.
    time.sleep(LATE_SECONDS)
    found = compare(sources, sink)
    if not found.exact or found.rows != rows:
        msg = f"{sink.name}: {found}"
        raise BenchFailed(msg)
    sink.unlink()
    return Copied(rows, size, seconds, first_seconds, first_size, costs)


def _wait(path: Path, size: int, meter: Meter, trouble: Callable[[], str]) -> tuple[int, float]:
    while (there := _size([path])) < size:
        if meter.seconds > LIMIT_SECONDS:
            msg = f"{there} of {size} bytes arrived within {LIMIT_SECONDS:g} s; {trouble()}"
            raise BenchFailed(msg)
        time.sleep(POLL_SECONDS)
    return there, meter.seconds


def _size(paths: Collection[Path]) -> int:
    return sum(path.stat().st_size for path in paths if path.exists())
