"""Tables that another program writes, and what a source reads of them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from connectors.delta_source import DeltaSource
from rocketconnect_sdk.conformance import SourceCase
from tests.connectors.lakes import reader


def write(path: Path, rows: list[dict[str, Any]], types: pa.Schema | None = None, **options: Any) -> None:
    """Appends rows, or what the options say."""
    write_deltalake(str(path), pa.Table.from_pylist(rows, types), **{"mode": "append", **options})


def numbered(*ids: int) -> list[dict[str, Any]]:
    """Rows with these ids."""
    return [{"id": number, "text": f"row {number}"} for number in ids]


def theirs(path: Path, version: int | None = None) -> list[dict[str, Any]]:
    """The rows of a table, as another reader has them."""
    rows: list[dict[str, Any]] = DeltaTable(str(path), version=version).to_pyarrow_table().to_pylist()
    return rows


def case_of(path: Path, **options: str) -> SourceCase:
    """A source of the table. An underscore stands for a point."""
    return SourceCase(DeltaSource(), {"path": str(path), **{key.replace("_", "."): value for key, value in options.items()}})


class Reader(reader.Reader):
    """A source of such a table."""

    def __init__(self, path: Path, *, gaps: str = "fail", **options: str) -> None:
        super().__init__(case_of(path, **options), gaps=gaps)


def ids(rows: list[Any]) -> list[int]:
    """The ids of rows, in order."""
    return sorted(row["id"] for row in rows)


def rebuilt(values: list[Any]) -> dict[int, Any]:
    """The table that changes make, each of which fits the ones before."""
    table: dict[int, Any] = {}
    for value in values:
        if value["op"] == "d":
            assert table.pop(value["before"]["id"]) == value["before"]
        else:
            if value["op"] == "u":
                assert table[value["after"]["id"]] == value["before"]
            else:
                assert value["after"]["id"] not in table
            table[value["after"]["id"]] = value["after"]
    return table
