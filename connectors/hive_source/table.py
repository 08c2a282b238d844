"""A table as a source reads it: its columns, and where the files of its partitions are."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import pyarrow as pa

from connectors.hive.metastore import HiveTable, Metastore
from connectors.hive.tables import columns_of, partition_name, same_place
from connectors.objects.location import Location
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.errors import PermanentError, SystemAway

NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value of a partition whose rows have none."""
_ASKED = 500
"""Of so many partitions the metastore is asked at once."""
_OTHERS = {"iceberg": "iceberg_source", "delta": "delta_source", "hudi": "hudi_source"}


class NoTable(SystemAway):
    """The metastore does not know the table; it may be made later."""


@dataclass(frozen=True, slots=True)
class Part:
    """A partition; of a table without partitions all that it has.

    Attributes:
        name: As the metastore calls it; empty: the table has no partitions.
        values: What its rows have in the columns that the table is partitioned by, as text.
        place: Where its files are.
    """

    name: str
    values: tuple[str, ...]
    place: Location


@dataclass(frozen=True, slots=True)
class State:
    """What a metastore says of a table.

    Attributes:
        columns: Of its rows; those that it is partitioned by are the last ones.
        levels: The names of those that it is partitioned by.
        root: Where the table is.
        parts: The partitions that are read.
        known: The names of all that there are.
    """

    columns: pa.Schema
    levels: Sequence[str]
    root: Location
    parts: Sequence[Part] = ()
    known: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class WatchedTable:
    """A table, and who knows it.

    All methods raise:
        SystemAway: the metastore does not answer.
        RetriableError: it failed.
        PermanentError: the table is none that can be read.

    Attributes:
        metastore: Who knows it.
        database: Its database.
        name: Its name.
        pattern: Of the names of the partitions that are read.
    """

    metastore: Metastore
    database: str
    name: str
    pattern: str

    def __str__(self) -> str:
        """For people."""
        return f"{self.database}.{self.name}"

    def state(self) -> State:
        """The table, without its partitions."""
        return self._state_of(self._there())

    def look(self) -> State:
        """The table, with the partitions that are read."""
        table = self._there()
        state = self._state_of(table)
        if not state.levels:
            return State(state.columns, (), state.root, [Part("", (), state.root)], [""])
        known = list(self.metastore.partition_names(table))
        names = sorted(name for name in known if fnmatchcase(name, self.pattern))
        parts: list[Part] = []
        for first in range(0, len(names), _ASKED):
            for each in self.metastore.partitions(table, names[first : first + _ASKED]):
                name = partition_name(state.levels, each.values)
                if not each.is_parquet:
                    reason = f"the partition {name} has files of another form ({each.input_format}), and Parquet is read"
                    raise self._wrong(reason)
                parts.append(Part(name, each.values, self._place(f"the partition {name}", each.location)))
        return State(state.columns, state.levels, state.root, parts, known)

    def _there(self) -> HiveTable:
        table = self.metastore.table(self.database, self.name)
        if table is None:
            msg = f"{self.metastore}: there is no table {self}"
            raise NoTable(msg)
        if (problem := next(_problems(table), None)) is not None:
            raise self._wrong(problem)
        return table

    def _state_of(self, table: HiveTable) -> State:
        fields = [pa.field(each.name, to_arrow_type(each.schema)) for each in columns_of(table).fields]
        levels = [name for name, _ in table.partitions]
        return State(pa.schema(fields), levels, self._place("it", table.location))

    def _place(self, what: str, location: str) -> Location:
        place = same_place(location)
        if place is None:
            reason = f"{what} is in {location or 'no place that is told'}, and files of file: and s3a: are read"
            raise self._wrong(reason)
        return place

    def _wrong(self, reason: str) -> PermanentError:
        return PermanentError(f"the table {self} cannot be read: {reason}")


def constants(part: Part, state: State) -> Mapping[str, Any]:
    """The values of a partition, as its columns have them: an Arrow scalar of each.

    Raises:
        PermanentError: one is no value of the type.
    """
    found = {}
    for name, value in zip(state.levels, part.values, strict=True):
        kind = state.columns.field(name).type
        try:
            found[name] = pa.scalar(None, kind) if value == NULL else _cast(value, kind)
        except pa.ArrowException as error:
            msg = (
                f"the partition {part.name} has a {name} that is no {kind}: {error}. Drop it, or set pattern so that it is not read"
            )
            raise PermanentError(msg) from None
    return found


def _cast(value: str, kind: pa.DataType) -> Any:
    plain = pa.timestamp(kind.unit) if pa.types.is_timestamp(kind) else kind
    return pa.scalar(value).cast(plain).cast(kind)


def _problems(table: HiveTable) -> Iterator[str]:
    """Why the files of a table are not its rows, or are not read."""
    if table.kind not in ("EXTERNAL_TABLE", "MANAGED_TABLE"):
        yield f"it is a {table.kind}, and only tables of files can be read"
    if table.parameters.get("transactional", "").lower() == "true":
        yield "it is transactional, and its files alone do not say which rows it has"
    given = (table.parameters.get("table_type", ""), table.parameters.get("spark.sql.sources.provider", ""))
    for name in filter(_OTHERS.get, map(str.lower, given)):
        yield f"it is one of {name}. Use {_OTHERS[name]}"
    if "hudi" in table.input_format.lower() or "hoodie" in table.input_format.lower():
        yield "it is one of hudi. Use hudi_source"
    if not table.is_parquet:
        form = table.input_format or "no form that is told"
        yield f"it has files of another form ({form}), and Parquet is read. Make one STORED AS PARQUET of it"
