"""A source of a table of Hudi, and what its changes make of a copy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from connectors.hudi_source import HudiSource
from rocketconnect_sdk.conformance import SourceCase
from tests.connectors.hudi_sink.tables import read
from tests.connectors.hudi_source.theirs import Theirs
from tests.connectors.lakes import reader

CHANGES = {"mode": "changes", "key_columns": "id"}


def case(root: Path, **options: str) -> SourceCase:
    """A source of the table. An underscore stands for a point."""
    return SourceCase(HudiSource(), {"path": str(root), **{key.replace("_", "."): value for key, value in options.items()}})


class Reader(reader.Reader):
    """A source of such a table."""

    def __init__(self, table: Theirs | Path, *, gaps: str = "fail", **options: str) -> None:
        super().__init__(case(table if isinstance(table, Path) else table.root, **options), gaps=gaps)


def row(number: int, text: str = "a", day: int = 5, **more: object) -> dict[str, object]:
    return {"id": number, "text": text, "day": day, **more}


def ids(rows: Sequence[Any]) -> list[int]:
    """The ids of rows, in order."""
    return sorted(found["id"] for found in rows)


def theirs(root: Path) -> list[dict[str, object]]:
    """The rows of the table as another reader has them, by their ids."""
    return sorted(read(root), key=lambda found: int(str(found["id"])))


class Copy:
    """What changes make of a table, key by key."""

    def __init__(self) -> None:
        self._rows: dict[object, dict[str, object]] = {}

    def follow(self, changes: Sequence[Any]) -> None:
        """Makes changes, in their order."""
        for change in changes:
            before, after = change["before"], change["after"]
            if change["op"] == "u":
                assert before == self._rows[after["id"]]
            if change["op"] == "d":
                assert self._rows.pop(before["id"]) == before
            else:
                assert (after["id"] in self._rows) == (change["op"] == "u")
                self._rows[after["id"]] = after

    @property
    def rows(self) -> list[dict[str, object]]:
        """By their ids."""
        return sorted(self._rows.values(), key=lambda found: int(str(found["id"])))
