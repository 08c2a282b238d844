"""A table as its readers see it: they ask the metastore where its files are, and know nothing of the sink."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from connectors.hive import thrift
from connectors.hive.metastore import HiveTable, Metastore, parse_addresses
from connectors.hive.thrift import I16, Struct, Value
from connectors.hive_sink import HiveSink
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config, Option, parse
from tests.connectors.object_store_sink.run import Run

LOG = logging.getLogger("hive")
_OF_ALL = (Option("errors.tolerance", "Of every connector.", default="none"), Option("topics", "Of every sink.", default="orders"))


@dataclass(frozen=True)
class Table:
    """A table of the database default.

    Attributes:
        uri: Of the metastore.
        name: Of the table.
        folder: Where its files are.
    """

    uri: str
    name: str
    folder: Path

    def options(self, **more: str) -> dict[str, str]:
        """Of a sink that writes it."""
        self.folder.parent.mkdir(exist_ok=True)
        return {"metastore": self.uri, "table": self.name, "url": f"file://{self.folder}"} | more

    def config(self, options: Mapping[str, str]) -> Config:
        return parse((*HiveSink.options, *_OF_ALL), self.options() | dict(options))

    def opened(
        self, options: Mapping[str, str] | None = None, *, epoch: int = 1, generation: int = 1, task: int = 0, uid: str = "uid"
    ) -> Run:
        """A task that writes it."""
        context = TaskContext("orders", uid, task, generation, epoch, log=LOG)
        made = HiveSink().open(self.config(options or {}), {}, context)
        return Run(made, {}, epoch, task, uid)

    @property
    def metastore(self) -> Metastore:
        return Metastore(parse_addresses(self.uri), 30)

    def there(self) -> HiveTable | None:
        return self.metastore.table("default", self.name)

    def found(self) -> HiveTable:
        found = self.there()
        assert found is not None
        return found

    def call(self, name: str, *arguments: Value) -> Struct:
        """The result of a method of the metastore."""
        ((host, port),) = parse_addresses(self.uri)
        return thrift.call(host, port, name, dict(enumerate(arguments, 1)), 30)

    def asked(self, name: str, *more: Value) -> Struct:
        """The result of a method whose first arguments are the database and the table."""
        return self.call(name, thrift.text("default"), thrift.text(self.name), *more)

    def partitions(self) -> list[Struct]:
        return thrift.list_in(self.asked("get_partitions", Value(I16, -1)), 0)

    def partition_names(self) -> list[str]:
        """As the metastore calls them."""
        return sorted(each.decode() for each in thrift.list_in(self.asked("get_partition_names", Value(I16, -1)), 0))

    def rows(self) -> list[dict[str, Any]]:
        """Those of all files, in the order of their names, with the values of their partitions as text in front."""
        table = self.there()
        if table is None:
            return []
        names = [name for name, _ in table.partitions]
        places: list[tuple[dict[str, str], str]] = [({}, table.location)]
        if names:
            places = [
                (dict(zip(names, (value.decode() for value in thrift.list_in(each, 1)), strict=True)), location_of(each))
                for each in self.partitions()
            ]
        return [
            values | row
            for values, location in places
            for path in sorted(Path(location.removeprefix("file:")).glob("[!_.]*.parquet"))
            for row in pq.read_table(path, partitioning=None).to_pylist()
        ]


def location_of(partition: Struct) -> str:
    return thrift.text_in(thrift.struct_in(partition, 6), 2)


def columns_of(partition: Struct) -> list[str]:
    return [thrift.text_in(each, 1) for each in thrift.list_in(thrift.struct_in(partition, 6), 1)]
