"""What must be in a sink, and what is wrong with what is there. Pure but for reading the file."""

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Line:
    """One record of the load.

    Attributes:
        partition: Within it order holds: a source file, or a key.
        number: From 0 in its partition, without a gap.
        tick: When it was fed: rises with the time.
    """

    partition: str
    number: int
    tick: int

    @property
    def check(self) -> str:
        """Says whether the rest is as it was."""
        return f"{zlib.crc32(f'{self.partition}|{self.number}|{self.tick}'.encode()):08x}"

    def text(self) -> str:
        """As a line of text; all have the same length while partitions have."""
        return f"{self.partition}|{self.number:09d}|{self.tick:07d}|{self.check}|{'.' * 24}"

    def json(self) -> str:
        """As an object."""
        fields = {"key": self.partition, "number": f"{self.number:09d}", "tick": f"{self.tick:07d}", "check": self.check}
        return json.dumps(fields, separators=(",", ":"))


def parse(text: str) -> Line | None:
    """The record of a line of a sink; None when it is none that was fed: changed, torn or somebody else's."""
    try:
        if text.startswith("{"):
            fields = json.loads(text)
            line, check = Line(fields["key"], int(fields["number"]), int(fields["tick"])), fields["check"]
        else:
            partition, number, tick, check, _ = text.split("|")
            line = Line(partition, int(number), int(tick))
    except (ValueError, KeyError, TypeError):
        return None
    return line if check == line.check else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a sink differs from what was fed: counts, and a few examples for people."""

    missing: int = 0
    duplicated: int = 0
    changed: int = 0
    disordered: int = 0
    examples: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Nothing is wrong."""
        return not (self.missing or self.duplicated or self.changed or self.disordered)

    def __add__(self, other: "Verdict") -> "Verdict":
        """Of both sinks."""
        return Verdict(
            self.missing + other.missing,
            self.duplicated + other.duplicated,
            self.changed + other.changed,
            self.disordered + other.disordered,
            (*self.examples, *other.examples),
        )


@dataclass(slots=True)
class Reader:
    """Reads a sink's file on and on, and keeps account of each partition. What is wrong is told once.

    Call `check` only while nothing is under way: a sink may cut off what it has not committed.
    """

    path: Path
    _offset: int = 0
    _next: dict[str, int] = field(default_factory=dict)
    _missing: set[tuple[str, int]] = field(default_factory=set)
    _found: Verdict = field(default_factory=Verdict)

    def check(self, fed: dict[str, int]) -> Verdict:
        """Compare what came since the last check with the number of records that were fed to each partition."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        self._offset += len(data)
        return self.compare(data.decode(errors="replace").splitlines(), fed)

    def compare(self, texts: Iterable[str], fed: dict[str, int]) -> Verdict:
        """Compare lines that came since the last check with the number of records that were fed to each partition."""
        self._found = Verdict()
        for text in texts:
            self._take(text, fed)
        for partition, count in fed.items():
            self._lacks(partition, range(self._next.get(partition, 0), count))
            self._next[partition] = max(count, self._next.get(partition, 0))
        return self._found

    def _take(self, text: str, fed: dict[str, int]) -> None:
        line = parse(text)
        if line is None or line.number >= fed.get(line.partition, 0):
            self._wrong(Verdict(changed=1), f"changed: {text}")
            return
        expected = self._next.get(line.partition, 0)
        place = (line.partition, line.number)
        if line.number >= expected:
            self._lacks(line.partition, range(expected, line.number))
            self._next[line.partition] = line.number + 1
        elif place in self._missing:
            self._missing.remove(place)
            self._wrong(Verdict(missing=-1, disordered=1), f"disordered: {text}")
        else:
            self._wrong(Verdict(duplicated=1), f"duplicated: {text}")

    def _lacks(self, partition: str, numbers: range) -> None:
        if numbers:
            self._missing.update((partition, number) for number in numbers)
            self._wrong(Verdict(missing=len(numbers)), f"missing: {partition} {numbers.start}..{numbers.stop - 1}")

    def _wrong(self, what: Verdict, example: str) -> None:
        shown = (f"{self.path.name}: {example[:100]}",) if len(self._found.examples) < _SHOWN else ()
        self._found += replace(what, examples=shown)
