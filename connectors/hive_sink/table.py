"""The table that a sink writes: made, checked and changed as records ask for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from connectors.hive.metastore import HiveTable, Metastore, new_table
from connectors.hive.tables import columns_of, location_of, same_place
from connectors.hive.types import hive_type, met
from connectors.hive_sink.levels import Levels
from connectors.objects.location import Location
from rocketconnect_sdk.errors import PermanentError, RecordError, RetriableError
from rocketconnect_sdk.evolution import OtherColumns, Policy, Takes, settle
from rocketconnect_sdk.schema import Schema

TAKES = Takes(columns=True, nulls=True, type=lambda column, wider: hive_type(column) == hive_type(wider))
"""Readers of Hive take a column that only some files have. One of two types some of them refuse."""
_ATTEMPTS = 8
_PROVIDER = "spark.sql.sources.provider"
_NOT_EMPTY = "the table has no column but those that it is partitioned by, and Hive needs one"


@dataclass(frozen=True, slots=True)
class Landing:
    """The table, and who knows it. Picklable.

    Attributes:
        metastore: Who knows it.
        database: Its database.
        name: Its name.
        place: Where its files are.
        levels: What it is partitioned by.
        policy: What becomes of records that do not have its columns.
    """

    metastore: Metastore
    database: str
    name: str
    place: Location
    levels: Levels
    policy: Policy

    def __str__(self) -> str:
        """For people."""
        return f"{self.database}.{self.name}"

    def there(self) -> HiveTable | None:
        """The table; None: there is none.

        Raises:
            PermanentError: it is no table that this sink can write.
            SystemAway, RetriableError: see Metastore.
        """
        table = self.metastore.table(self.database, self.name)
        if table is not None and (found := self.problem(table)) is not None:
            option, reason, fix = found
            msg = f"{self}: {option} {reason}. {fix}"
            raise PermanentError(msg)
        return table

    def problem(self, table: HiveTable) -> tuple[str, str, str] | None:
        """The option that is wrong for a table, why, and what to do about it; None stands for nothing."""
        return next(self._problems(table), None)

    def _problems(self, table: HiveTable) -> Iterator[tuple[str, str, str]]:
        names, wanted = [name for name, _ in table.partitions], [each.name for each in self.levels.all]
        if table.kind not in ("EXTERNAL_TABLE", "MANAGED_TABLE"):
            yield "table", f"is a {table.kind}, and only tables of files can be written", "Name another one"
        if table.parameters.get("transactional", "").lower() == "true":
            yield "table", "is transactional, and its files are written by Hive alone", "Make an external one"
        if table.parameters.get("table_type", "").upper() == "ICEBERG":
            yield "table", "is one of Iceberg", "Use iceberg_sink"
        if not table.is_parquet:
            form = table.input_format or "no form that is told"
            yield "table", f"has files of another form ({form}), and Parquet is written", "Make one STORED AS PARQUET"
        if table.buckets > 0:
            yield "table", "is bucketed, and rows are not dealt by their values", "Make one without CLUSTERED BY"
        if same_place(table.location) != self.place:
            yield "url", f"is {self.place}, and the table {self} is in {table.location}", "Set it to where the table is"
        if names != wanted:
            reason = f"has {_listed(wanted)}, and the table {self} is partitioned by {_listed(names)}"
            yield "partition.path", reason, "Make them the same"

    def ready(self, records: Schema) -> HiveTable:
        """The table with columns for records of a schema; makes and changes it.

        Raises:
            OtherColumns, RecordError: see rocketconnect_sdk.evolution.settle.
            PermanentError, SystemAway, RetriableError: as `there`.
        """
        for _ in range(_ATTEMPTS):
            table = self.there()
            if table is None:
                self.metastore.create(self._made(records))
                continue
            columns = columns_of(table)
            try:
                settled = settle(met(columns, records), records, self.policy, TAKES)
            except OtherColumns as error:
                msg = f"{self}: {error}. Give these records another table, or choose another policy"
                raise OtherColumns(msg) from None
            new = {change.path[0] for change in settled.changes}
            if not new:
                return table
            if is_of_spark(table):
                msg = (
                    f"{self}: Spark keeps the columns of the table ({_PROVIDER}). Add {_listed(sorted(new))} there with ALTER TABLE"
                )
                raise PermanentError(msg)
            changed = [(each.name, hive_type(each.schema)) for each in settled.table.fields if each.name in new]
            kept = [each for each in table.columns if each[0] not in new]
            order = {name: index for index, (name, _) in enumerate(table.columns)}
            made = sorted([*kept, *changed], key=lambda each: order.get(each[0], len(order)))
            self.metastore.alter(table, made)
        msg = f"{self}: the table is changed by others all the time, or not as it was to be"
        raise RetriableError(msg)

    def _made(self, records: Schema) -> HiveTable:
        moved = self.levels.moved
        columns = [(each.name, hive_type(each.schema)) for each in records.fields if each.name not in moved]
        partitions = self.levels.columns(records)
        doubled = [name for name, _ in partitions if name in dict(columns)]
        if doubled:
            msg = f"{self}: {_listed(doubled)} would be a column and a partition column. Rename it in partition.path"
            raise PermanentError(msg)
        if not columns:
            raise RecordError(_NOT_EMPTY)
        return new_table(self.database, self.name, location_of(self.place), columns, partitions)


def is_of_spark(table: HiveTable) -> bool:
    """Whether Spark made the table as one of its own sources, and reads the columns from where it has written them."""
    return table.parameters.get(_PROVIDER, "hive").lower() != "hive"


def without(columns: Schema, names: Sequence[str]) -> Schema:
    """The columns but for some."""
    return replace(columns, fields=tuple(each for each in columns.fields if each.name not in names))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
