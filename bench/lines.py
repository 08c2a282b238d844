"""The input of the benchmarks: lines of a fixed width, all different, and the check of what came out."""

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

WIDTH = 100
"""Bytes of a line without its newline, unless told otherwise."""

_POOL = random.Random(1).randbytes(1 << 20).hex().encode()
_STRIDE = 7919


@dataclass(frozen=True, slots=True)
class Check:
    """How an output differs from its input: count, content and order.

    Attributes:
        rows: How many lines came out.
        missing: Lines of the input that did not come out.
        doubled: Lines that came out before.
        strange: Lines that are not in the input.
        order_breaks: Lines that came out after a later line of the same file.
        checksum: SHA-256 of the output.
    """

    rows: int
    missing: int = 0
    doubled: int = 0
    strange: int = 0
    order_breaks: int = 0
    checksum: str = field(default="", compare=False)

    @property
    def exact(self) -> bool:
        """Nothing differs."""
        return self == Check(self.rows)


def generate(count: int, width: int = WIDTH, first: int = 0) -> Iterator[bytes]:
    """Lines with their newlines: a number of nine digits from `first` on, then digits that don't compress to nothing.

    A line is at least 10 bytes wide.
    """
    rest = width - 10
    pool = _POOL * (rest // len(_POOL) + 2)
    for number in range(first, first + count):
        start = number * _STRIDE % len(_POOL)
        yield b"%09d %b\n" % (number, pool[start : start + rest])


def write(path: Path, count: int, width: int = WIDTH, first: int = 0) -> None:
    """Writes them to a file."""
    with path.open("wb") as file:
        file.writelines(generate(count, width, first))


def compare(sources: Sequence[Path], sink: Path) -> Check:
    """Compares what a sink wrote with the files that went in; the order is looked at within each of them.

    The lines of the sources must all be different.
    """
    digest = _sha256(sink)
    if len(sources) == 1 and digest == _sha256(sources[0]):
        return Check(_count(sink), checksum=digest)
    return _line_by_line(sources, sink, digest)


def _line_by_line(sources: Sequence[Path], sink: Path, digest: str) -> Check:
    wanted: dict[int, tuple[int, int]] = {}
    for source, path in enumerate(sources):
        with path.open("rb") as file:
            wanted |= {hash(line): (source, number) for number, line in enumerate(file)}
    seen: set[int] = set()
    last = [-1] * len(sources)
    rows = doubled = strange = breaks = 0
    with sink.open("rb") as file:
        for rows, line in enumerate(file, 1):  # noqa: B007 - the last one is the count
            key = hash(line)
            if key not in wanted:
                strange += 1
            elif key in seen:
                doubled += 1
            else:
                seen.add(key)
                source, number = wanted[key]
                breaks += number < last[source]
                last[source] = max(last[source], number)
    return Check(rows, len(wanted) - len(seen), doubled, strange, breaks, digest)


def _count(path: Path) -> int:
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
