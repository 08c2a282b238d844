"""Tables that another program writes, and what a source reads of them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from connectors.delta_source import DeltaSource
from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.conformance import SourceCase
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position


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


class Reader:
    """A source as the runtime runs it: the plan is made once, positions are kept, and each run is a new task."""

    def __init__(self, path: Path, *, gaps: str = "fail", **options: str) -> None:
        case = case_of(path, **options)
        self.source = case.source
        self.config = parse_source(case.source, {"connector.class": "delta_source", "topic": "rows", "on.gap": gaps, **case.config})
        self.positions: dict[str, Position] = {}
        self.seen: list[Any] = []
        """All values, also of a run that has failed."""
        self.plan()

    def plan(self) -> None:
        (self.share,) = self.source.plan(self.config, 1, self.positions).tasks

    def run(self, *, columns: bool = True) -> list[Any]:
        """The values that are new."""
        before = len(self.seen)
        task = self.source.open(self.config, self.share, TaskContext(columns=columns))
        try:
            task.start(dict(self.positions))
            while batches := batches_of(task.poll()):
                for batch in batches:
                    self.positions[batch.partition] = Position(tuple(batch.end or batch.offsets[-1]))
                    self.seen += batch.values
        finally:
            task.close()
        return self.seen[before:]


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
