"""How much a connector moves in a second at most: the operator of the executors says it, whatever the configuration asks for."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from rocketconnect_sdk.errors import RetriableError
from rocketconnect_sdk.options import Kind, Option

QUOTAS = "ROCKETCONNECT_QUOTAS"
"""The file of quotas: TOML with a table for each pattern of names of connectors, `["team-a-*"]`, of records and bytes a second."""

_KINDS = {
    "records": Option("records", "", Kind.FLOAT, minimum=0.001, maximum=1_000_000_000),
    "bytes": Option("bytes", "", Kind.SIZE, minimum=1, maximum=1 << 40),
}


class QuotasWrong(ValueError):
    """The file of quotas cannot be read, or is no such file; what it says is for its operator."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What all tasks of a connector together move in a second at most; None: no limit.

    Attributes:
        records: Of records.
        size: Of bytes.
        said_by: The patterns that say it, for people.
    """

    records: float | None = None
    size: float | None = None
    said_by: tuple[str, ...] = ()

    def share(self, tasks: int, records: float | None, size: float | None) -> tuple[float | None, float | None]:
        """The limits of one of so many tasks, whose own limits are these: the lower ones count."""
        return _least(records, self.records and self.records / tasks), _least(size, self.size and self.size / tasks)

    def __str__(self) -> str:
        """For people."""
        limits = {"records": self.records, "bytes": self.size}
        told = ", ".join(f"{name}={limit:.15g}" for name, limit in limits.items() if limit)
        return f"{told} a second, by {', '.join(self.said_by)}"


def read_quotas(path: Path) -> dict[str, Quota]:
    """The quotas of a file, by pattern.

    Raises:
        QuotasWrong: see there; the text names the file and all that is wrong in it.
    """
    try:
        with path.open("rb") as file:
            tables = tomllib.load(file)
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise QuotasWrong(msg) from None
    except ValueError as error:  # of bytes that are no text, or no TOML
        msg = f"{path} is no TOML: {error}"
        raise QuotasWrong(msg) from None
    wrong: list[str] = []
    found = {pattern: _quota(pattern, table, wrong) for pattern, table in tables.items()}
    if wrong:
        msg = f'{path}: {"; ".join(wrong)}. Write ["orders-*"], and below it records = 1000 or bytes = "10MB"'
        raise QuotasWrong(msg)
    return found


def quota_of(connector: str, environment: Mapping[str, str] = os.environ) -> Quota:
    """The quota of a connector: of all patterns that its name has, the lowest.

    Raises:
        RetriableError: the file is wrong by now. Nothing is moved then: without a limit would be more than is allowed.
    """
    file = environment.get(QUOTAS, "")
    if not file:
        return Quota()
    try:
        quotas = read_quotas(Path(file))
    except QuotasWrong as error:
        msg = f"the quotas of the executor can't be looked up: {error}. Tell its operator"
        raise RetriableError(msg) from None
    return lowest({pattern: quota for pattern, quota in quotas.items() if fnmatchcase(connector, pattern)})


def lowest(quotas: Mapping[str, Quota]) -> Quota:
    """What holds where all of these do."""
    records = size = None
    for quota in quotas.values():
        records, size = _least(records, quota.records), _least(size, quota.size)
    return Quota(records, size, tuple(f'["{pattern}"]' for pattern in quotas))


def _quota(pattern: str, table: object, wrong: list[str]) -> Quota:
    if not isinstance(table, dict) or not table:
        wrong.append(f"{pattern!r} is no table of limits")
        return Quota()
    found: dict[str, float] = {}
    for key, value in table.items():
        if key not in _KINDS:
            wrong.append(f'{key!r} in ["{pattern}"] is neither records nor bytes')
            continue
        try:
            found[key] = float(_KINDS[key].parse(str(value)))
        except ValueError as error:
            wrong.append(f'{key} = {value!r} in ["{pattern}"] {error}')
    return Quota(found.get("records"), found.get("bytes"))


def _least(one: float | None, other: float | None) -> float | None:
    return min((each for each in (one, other) if each is not None), default=None)
