"""What was moved to or from a system, what that took, and what ours took above the client alone. Pure."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

_SUMS = 2**64
_PAD = "x" * 72


@dataclass(frozen=True, slots=True)
class Content:
    """What values there are, in any order: how many, and a sum of what each one hashes to."""

    count: int
    total: int

    @classmethod
    def of(cls, values: Iterable[str | bytes]) -> Self:
        """Of some values."""
        count = total = 0
        for value in values:
            data = value.encode() if isinstance(value, str) else value
            total += int.from_bytes(hashlib.blake2b(data, digest_size=8).digest())
            count += 1
        return cls(count, total % _SUMS)


@dataclass(frozen=True, slots=True)
class Took:
    """What it took to move some records, in a process of its own.

    Attributes:
        records: How many.
        seconds: By the clock.
        cpu_seconds: Of the process that moved them, all of its threads; servers are others.
        added_mib: The most memory that it held meanwhile, above what it held when it was connected.
    """

    records: int
    seconds: float
    cpu_seconds: float
    added_mib: float

    def figures(self) -> dict[str, float]:
        """For the table."""
        return {
            "records_per_s": self.records / self.seconds,
            "cpu_us_per_record": self.cpu_seconds / self.records * 1e6,
            "added_mib": self.added_mib,
        }


def ours_above(ours: Took, alone: Took) -> Mapping[str, float]:
    """The figures of ours, with the microseconds of processor that it takes for a record above those of the client alone."""
    found = ours.figures()
    return {**found, "above_client_us": found["cpu_us_per_record"] - alone.figures()["cpu_us_per_record"]}


def key(number: int) -> str:
    """Of a record: all are different."""
    return f"order-{number:09d}"


def text(number: int) -> str:
    """The value of a record: JSON of about 100 bytes, as a client would be given it."""
    return f'{{"id":{number},"note":"{_PAD}"}}'


def written(value: object) -> str | bytes:
    """The value of a record as `text` has it, of a client or a connector that gives it as an object."""
    return value if isinstance(value, str | bytes) else json.dumps(value, separators=(",", ":"))


def wanted(records: int) -> Content:
    """What has to be there when so many were moved."""
    return Content.of(map(text, range(records)))
