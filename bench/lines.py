"""The input of the benchmarks: lines of a fixed width, all different, and the check of what came out."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WIDTH = 100
"""Bytes of a line without its newline."""


@dataclass(frozen=True, slots=True)
class Check:
    """How an output differs from its input. All zeros: it is the same, in order."""

    missing: int
    doubled: int
    strange: int
    order_breaks: int

    @property
    def exact(self) -> bool:
        """Nothing differs."""
        return self == Check(0, 0, 0, 0)


def generate(count: int, seed: int = 1) -> Iterator[bytes]:
    """Lines with their newlines: a number of nine digits, then digits that depend on it and on the seed."""
    for number in range(count):
        digest = hashlib.blake2b(b"%d/%d" % (seed, number), digest_size=45).hexdigest()
        yield b"%09d %s\n" % (number, digest.encode())


def write(path: Path, count: int, seed: int = 1) -> None:
    """Writes them to a file."""
    with path.open("wb") as file:
        file.writelines(generate(count, seed))


def check(path: Path, count: int, seed: int = 1) -> Check:
    """Compares a file with what write() would write, line by line, in whatever order it is."""
    seen = bytearray(count)
    doubled = strange = breaks = 0
    last = -1
    wanted = list(generate(count, seed))
    with path.open("rb") as file:
        for line in file:
            number = int(line[:9]) if line[:9].isdigit() else count
            if number >= count or line != wanted[number]:
                strange += 1
                continue
            doubled += seen[number]
            seen[number] = 1
            breaks += number < last
            last = number
    return Check(count - sum(seen), doubled, strange, breaks)
