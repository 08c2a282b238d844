"""Tables that are made by hand in a metastore, and sources that read them."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from connectors.hive import thrift
from connectors.hive.metastore import Column, new_table
from connectors.hive.tables import partition_name
from connectors.hive.thrift import BOOL, Value
from connectors.hive_source import HiveSource
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.source import SourceTask
from tests.connectors.hive_sink.table import Table

LOG = logging.getLogger("hive")
ID: Sequence[Column] = [("id", "bigint")]
BY_DAY: Sequence[Column] = [("day", "date")]


def options(table: Table, **more: str) -> dict[str, str]:
    """Of a source that reads it. An underscore stands for a point."""
    given = {key.replace("_", "."): value for key, value in more.items()}
    return {"metastore": table.uri, "table": table.name, "poll.interval": "0s", **given}


def config_of(given: Mapping[str, str]) -> Config:
    return parse(HiveSource.options, given)


def opened(given: Mapping[str, str], *, share: str = "0/1", batch: int = 10_000, columns: bool = False) -> SourceTask:
    """A task that was not started."""
    return HiveSource().open(config_of(given), {"share": share}, TaskContext(batch_records=batch, columns=columns, log=LOG))


def problems(given: Mapping[str, str]) -> list[tuple[str, str, bool]]:
    """The option of each, the reason, and whether it is a warning."""
    return [(each.key, each.reason, each.is_warning) for each in HiveSource().check(config_of(given))]


class HandMade:
    """A table of the metastore, whose files are written by hand.

    Args:
        table: Which is not there yet.
        columns: Of its files.
        partitions: What it is partitioned by.
        location: Where it is; empty: in its folder.
    """

    def __init__(
        self, table: Table, columns: Sequence[Column] = ID, partitions: Sequence[Column] = BY_DAY, location: str = ""
    ) -> None:
        self.table = table
        self._names = [name for name, _ in partitions]
        table.metastore.create(new_table("default", table.name, location or f"file:{table.folder}", columns, partitions))
        if not location:
            table.folder.mkdir(parents=True, exist_ok=True)

    def part(self, *values: str, folder: str = "") -> str:
        """Makes a partition known; its name."""
        found, name = self.table.found(), partition_name(self._names, values)
        self.table.metastore.add_partitions(found, [found.partition(values, folder or name)])
        return name

    def drop(self, part: str) -> None:
        """The metastore forgets a partition; its files stay."""
        self.table.asked("drop_partition_by_name", thrift.text(part), Value(BOOL, False))

    def write(self, part: str, name: str, *ids: int) -> Path:
        """A file with rows that have these ids."""
        return self.write_table(part, name, pa.table({"id": pa.array(ids, pa.int64())}))

    def write_table(self, part: str, name: str, rows: pa.Table) -> Path:
        """A file, which is there whole at once."""
        path = self.table.folder / part / name
        path.parent.mkdir(exist_ok=True)
        hidden = path.with_name(f".{name}")
        pq.write_table(rows, hidden)
        hidden.rename(path)
        return path


def ids(values: Sequence[Any]) -> list[int]:
    return [value["id"] for value in values]
