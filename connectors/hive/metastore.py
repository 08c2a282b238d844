"""A metastore of Hive, from 2.3 on: what it knows of a table, and how that is changed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from connectors.hive import thrift
from connectors.hive.thrift import BOOL, I16, I32, STRUCT, Struct, Value
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway

PORT = 9083
_ADDRESS = re.compile(r"(?:thrift://)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?/?")
_PORTS = 65_535
_INPUT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
_OUTPUT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
_SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
_TIME = "transient_lastDdlTime"
_VERSION = "rocketconnect.columns"
"""The parameter of a table that a change of its columns is compared by and sets anew."""
_CHANGED = "has been modified"
_SHOWN = 300
Column = tuple[str, str]
"""A name and a type of Hive."""


class MetastoreRejected(Exception):
    """What a method raises.

    Attributes:
        number: The number of what it raises, as the method declares it.
    """

    def __init__(self, number: int, said: str) -> None:
        super().__init__(said)
        self.number = number


@dataclass(frozen=True, slots=True)
class HiveTable:
    """A table, as a metastore has it.

    Attributes:
        raw: All of it.
    """

    raw: Struct = field(repr=False)

    @property
    def columns(self) -> list[Column]:
        """Without those that it is partitioned by."""
        return _columns_in(self._storage, 1)

    @property
    def partitions(self) -> list[Column]:
        """What it is partitioned by, in order."""
        return _columns_in(self.raw, 8)

    @property
    def location(self) -> str:
        """Where its files are."""
        return thrift.text_in(self._storage, 2)

    @property
    def input_format(self) -> str:
        """The class that reads its files."""
        return thrift.text_in(self._storage, 3)

    @property
    def parameters(self) -> dict[str, str]:
        """Its properties."""
        return thrift.pairs_in(self.raw, 9)

    @property
    def kind(self) -> str:
        """EXTERNAL_TABLE, MANAGED_TABLE, VIRTUAL_VIEW and others."""
        return thrift.text_in(self.raw, 12)

    @property
    def buckets(self) -> int:
        """Into so many files its rows are dealt by their values; below 1: they are not."""
        return int(self._storage[6].held) if 6 in self._storage else 0  # the number of the field

    @property
    def is_parquet(self) -> bool:
        """Whether its files are read as Parquet."""
        return self.input_format == _INPUT

    @property
    def _storage(self) -> Struct:
        return thrift.struct_in(self.raw, 7)

    def with_columns(self, columns: Sequence[Column]) -> "HiveTable":
        """The same with other columns: those that it has keep what is said of them, and the others come behind."""
        there = {thrift.text_in(each, 1): each for each in thrift.list_in(self._storage, 1)}
        made = [{**there.get(name, {}), **_column(name, kind)} for name, kind in columns]
        storage = {**self._storage, 1: thrift.structs(made)}
        return replace(self, raw={**self.raw, 7: Value(STRUCT, storage)})

    def partition(self, values: Sequence[str], folder: str) -> Struct:
        """A partition of it, in a folder of its own below it."""
        storage = {**self._storage, 2: thrift.text(f"{self.location.rstrip('/')}/{folder}")}
        return {
            1: thrift.texts(values),
            2: self.raw[2],
            3: self.raw[1],
            4: Value(I32, 0),
            5: Value(I32, 0),
            6: Value(STRUCT, storage),
            7: thrift.pairs({}),
        }


def new_table(database: str, name: str, location: str, columns: Sequence[Column], partitions: Sequence[Column]) -> HiveTable:
    """An external table of Parquet files: who drops it leaves its files."""
    storage: Struct = {
        1: thrift.structs([_column(*each) for each in columns]),
        2: thrift.text(location),
        3: thrift.text(_INPUT),
        4: thrift.text(_OUTPUT),
        5: Value(BOOL, False),
        6: Value(I32, -1),
        7: Value(STRUCT, {2: thrift.text(_SERDE), 3: thrift.pairs({"serialization.format": "1"})}),
        8: thrift.texts([]),
        9: thrift.structs([]),
        10: thrift.pairs({}),
        12: Value(BOOL, False),
    }
    raw = {
        1: thrift.text(name),
        2: thrift.text(database),
        3: thrift.text("rocketconnect"),
        4: Value(I32, 0),
        5: Value(I32, 0),
        6: Value(I32, 0),
        7: Value(STRUCT, storage),
        8: thrift.structs([_column(*each) for each in partitions]),
        9: thrift.pairs({"EXTERNAL": "TRUE", _VERSION: "1"}),
        12: thrift.text("EXTERNAL_TABLE"),
    }
    return HiveTable(raw)


@dataclass(frozen=True, slots=True)
class HivePartition:
    """A partition, as a metastore has it.

    Attributes:
        values: Of the columns that the table is partitioned by, in their order.
        location: Where its files are.
        input_format: The class that reads them.
    """

    values: tuple[str, ...]
    location: str
    input_format: str

    @property
    def is_parquet(self) -> bool:
        """Whether its files are read as Parquet."""
        return self.input_format == _INPUT


@dataclass(frozen=True, slots=True)
class Metastore:
    """A metastore. Connections are made for one call each: none is there to be closed, and none is shared with a forked process.

    All methods but for what they say raise:
        SystemAway: none of the addresses answers.
        RetriableError: it failed.
        PermanentError: it does not know the call.

    Attributes:
        addresses: Host and port of each of its servers, of which any will do.
        seconds: The time that an answer may take.
    """

    addresses: Sequence[tuple[str, int]]
    seconds: float = 60.0

    def __str__(self) -> str:
        """The addresses, for people."""
        return ",".join(f"thrift://{host}:{port}" for host, port in self.addresses)

    def table(self, database: str, name: str) -> HiveTable | None:
        """A table; None: there is none."""
        request: Struct = {1: thrift.text(database), 2: thrift.text(name)}
        try:
            result = self._call("get_table_req", {1: Value(STRUCT, request)})
        except MetastoreRejected as error:
            if error.number == 2:  # NoSuchObjectException
                return None
            raise self._failed(error) from None
        return HiveTable(thrift.struct_in(thrift.struct_in(result, 0), 1))

    def has_database(self, name: str) -> bool:
        """Whether there is a database."""
        try:
            self._call("get_database", {1: thrift.text(name)})
        except MetastoreRejected as error:
            if error.number == 1:
                return False
            raise self._failed(error) from None
        return True

    def create(self, table: HiveTable) -> None:
        """Makes a table, unless there is one of its name.

        Raises:
            PermanentError: there is no such database, or the table is none.
        """
        try:
            self._call("create_table", {1: Value(STRUCT, table.raw)})
        except MetastoreRejected as error:
            if error.number == 1:
                return
            if error.number == 3:  # MetaException
                raise self._failed(error) from None
            msg = f"{self}: the metastore does not make the table: {error}"
            raise PermanentError(msg) from None

    def alter(self, before: HiveTable, columns: Sequence[Column]) -> bool:
        """Gives a table other columns, and its partitions too, unless somebody has changed it since it was read.

        Servers before 2.3.10, and those of 3.1, do not compare: there the later one of two changes at the same time wins.

        Returns: whether it was done; false: it is to be read again.

        Raises:
            PermanentError: the columns cannot become these.
        """
        parameters = before.parameters
        key = _VERSION if _VERSION in parameters else _TIME
        told = {**parameters, _VERSION: str(_next(parameters.get(_VERSION)))}
        context = {"CASCADE": "true"}
        if key in parameters:
            told[key] = str(_next(parameters[key]))
            context |= {"expected_parameter_key": key, "expected_parameter_value": parameters[key]}
        changed = before.with_columns(columns).raw | {9: thrift.pairs(told)}
        arguments = {
            1: before.raw[2],
            2: before.raw[1],
            3: Value(STRUCT, changed),
            4: Value(STRUCT, {1: thrift.pairs(context)}),
        }
        try:
            self._call("alter_table_with_environment_context", arguments)
        except MetastoreRejected as error:
            if _CHANGED in str(error):
                return False
            if error.number == 1:
                msg = f"{self}: the metastore does not change the table: {error}"
                raise PermanentError(msg) from None
            raise self._failed(error) from None
        return True

    def add_partitions(self, table: HiveTable, partitions: Sequence[Struct]) -> None:
        """Makes partitions known, as far as they are not.

        Raises:
            PermanentError: there is no such table.
        """
        request = {
            1: table.raw[2],
            2: table.raw[1],
            3: thrift.structs(partitions),
            4: Value(BOOL, True),
            5: Value(BOOL, False),
        }
        try:
            self._call("add_partitions_req", {1: Value(STRUCT, request)})
        except MetastoreRejected as error:
            if error.number == 2:  # AlreadyExistsException: somebody else was quicker
                msg = f"{self}: somebody else adds the same partitions now"
                raise RetriableError(msg, wait=0.1) from None
            if error.number == 1:
                msg = f"{self}: the metastore does not take the partitions: {error}"
                raise PermanentError(msg) from None
            raise self._failed(error) from None

    def partition_names(self, table: HiveTable) -> list[str]:
        """The names of all partitions of a table."""
        try:
            result = self._call("get_partition_names", {1: table.raw[2], 2: table.raw[1], 3: Value(I16, -1)})
        except MetastoreRejected as error:
            raise self._failed(error) from None
        return [each.decode(errors="replace") for each in thrift.list_in(result, 0)]

    def partitions(self, table: HiveTable, names: Sequence[str]) -> list[HivePartition]:
        """The partitions of these names, as far as they are known, in any order."""
        try:
            result = self._call("get_partitions_by_names", {1: table.raw[2], 2: table.raw[1], 3: thrift.texts(names)})
        except MetastoreRejected as error:
            raise self._failed(error) from None
        found = []
        for each in thrift.list_in(result, 0):
            values = tuple(value.decode(errors="replace") for value in thrift.list_in(each, 1))
            storage = thrift.struct_in(each, 6)
            found.append(HivePartition(values, thrift.text_in(storage, 2), thrift.text_in(storage, 3)))
        return found

    def _call(self, name: str, arguments: Struct) -> Struct:
        """The result of a method. Raises MetastoreRejected, too."""
        told: list[str] = []
        for host, port in self.addresses:
            try:
                result = thrift.call(host, port, name, arguments, self.seconds)
            except (OSError, thrift.NoThrift) as error:
                told.append(f"{host}:{port}: {str(error) or type(error).__name__}")
                continue
            except thrift.CallFailed as error:
                if error.is_unknown:
                    msg = f"{self}: the metastore has no {name}, which Hive has from 2.3 on: {error}"
                    raise PermanentError(msg) from None
                raise self._failed(error) from None
            for number, value in result.items():
                if number:
                    raise MetastoreRejected(number, thrift.text_in(value.held, 1)[:_SHOWN])
            return result
        msg = f"{self}: the metastore does not answer ({'; '.join(told)})"
        raise SystemAway(msg)

    def _failed(self, error: Exception) -> RetriableError:
        return RetriableError(f"{self}: the metastore failed: {str(error)[:_SHOWN]}")


def parse_addresses(text: str) -> list[tuple[str, int]]:
    """The servers that a text names.

    Raises:
        ValueError: it names none.
    """
    found = []
    for each in filter(None, map(str.strip, text.split(","))):
        parts = _ADDRESS.fullmatch(each)
        port = int(parts[2] or PORT) if parts else 0
        if parts is None or not 0 < port <= _PORTS:
            msg = f"{each} is no thrift://HOST:PORT"
            raise ValueError(msg)
        found.append((parts[1].strip("[]"), port))
    if not found:
        msg = "names no server"
        raise ValueError(msg)
    return found


def addresses_problem(text: str) -> str | None:
    """What is wrong with such a text."""
    try:
        parse_addresses(text)
    except ValueError as error:
        return str(error)
    return None


def _next(number: str | None) -> int:
    return int(number) + 1 if number is not None and number.isdecimal() else 1


def _column(name: str, kind: str) -> Struct:
    return {1: thrift.text(name), 2: thrift.text(kind)}


def _columns_in(of: Struct, number: int) -> list[Column]:
    return [(thrift.text_in(each, 1), thrift.text_in(each, 2)) for each in thrift.list_in(of, number)]
