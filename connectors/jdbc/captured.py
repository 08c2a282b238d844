"""The tables that a source captures from the log of a database, read for comparisons with those of a sink."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, TypeVar

import pyarrow as pa

from connectors.jdbc.keys import among, in_order, same
from connectors.jdbc.reading.dialect import Reading
from rocketconnect_sdk.changes.arrays import compared
from rocketconnect_sdk.database_logs.capture import Capture
from rocketconnect_sdk.database_logs.making import CapturedTable, Path, named_of
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.verification import CapturedTable as Captured
from rocketconnect_sdk.verification import Key, ReadRows, SourceTables, TableRows, joined

N = TypeVar("N")
T = TypeVar("T", bound=CapturedTable[Any])


class CapturedTables(SourceTables, ABC, Generic[N, T]):
    """See SourceTables.

    Args:
        capture: As configured.
        path: Where a table stands.
    """

    def __init__(self, capture: Capture, path: Callable[[N], Path]) -> None:
        self._capture, self._path = capture, path

    @abstractmethod
    def names(self) -> Sequence[N]:
        """The tables that are captured."""

    @abstractmethod
    def now(self, name: N) -> T | None:
        """What of a table is captured, as it is now; None: it is gone."""

    @abstractmethod
    def rows(self, table: T) -> TableRows:
        """Its rows."""

    def tables(self) -> Sequence[Captured]:
        """See SourceTables."""
        made = []
        for name in self.names():
            path = self._path(name)
            topic = named_of(self._capture.template, self._capture.topic, name, path).topic
            made.append(Captured(str(name), topic, path._asdict()))
        return made

    def open(self, name: str) -> TableRows:
        """See SourceTables."""
        found = next((each for each in self.names() if str(each) == name), None)
        table = None if found is None else self.now(found)
        if table is None:
            msg = f"{name} is no table that the connector captures: name one that it does"
            raise PermanentError(msg)
        return self.rows(table)


class CapturedRows(TableRows, ABC):
    """See TableRows: with what the configuration makes of the values.

    Args:
        capture: As configured.
        table: What of it is captured.
        reading: How the database is asked.
        quoted: A name, as SQL has it.
    """

    def __init__(self, capture: Capture, table: CapturedTable[Any], reading: Reading, quoted: Callable[[str], str]) -> None:
        name, key = str(table.name), tuple(table.key)
        self._masks = capture.masks.on_compared(name, table.schema, key)
        self.columns, self.key = self._masks.schema(table.schema), key
        self._fitting = capture.masks.unfit.fitting(name, self.columns, key)
        self._reading, self._quoted = reading, quoted
        self._types = {field.name: field.schema for field in table.schema.fields}

    @abstractmethod
    def texts(self, behind: str) -> Generator[Sequence[pa.Array]]:
        """Rows as the database sends them, column by column, of a query that ends with this."""

    @abstractmethod
    def arrays(self, texts: Sequence[pa.Array]) -> list[pa.Array] | None:
        """The columns with their types; None: a value is none of its type."""

    @abstractmethod
    def values(self, texts: Sequence[pa.Array]) -> list[list[Any]]:
        """The same one by one; a value that is none of its type as the error policies see it."""

    def behind(self, key: Key | None, names: Sequence[str]) -> Generator[ReadRows]:
        """See TableRows."""
        return self._rows(in_order(self._reading, self._names(names), self._schemas(names), key))

    def of(self, keys: Sequence[Key], names: Sequence[str]) -> ReadRows:
        """See TableRows."""
        return joined(list(self._rows(among(self._reading, self._names(names), keys, self._schemas(names)))), self.columns)

    def condition(self, key: Key, names: Sequence[str]) -> str:
        """See TableRows."""
        return same(self._reading, self._names(names), key, self._schemas(names))

    def orders(self, schema: Schema) -> bool:
        """See TableRows."""
        return self._reading.orders(schema)

    def close(self) -> None:
        """See TableRows. A connection ends with its rows."""

    def _names(self, names: Sequence[str]) -> list[str]:
        return [self._quoted(name) for name in names]

    def _schemas(self, names: Sequence[str]) -> list[Schema]:
        return [self._types[name] for name in names]

    def _rows(self, behind: str) -> Generator[ReadRows]:
        for texts in self.texts(behind):
            arrays = self.arrays(texts)
            if arrays is not None:
                yield ReadRows(pa.StructArray.from_arrays(self._masks.arrays(arrays), list(self._types)), {})
            else:
                rows = self._fitting.after(self._masks.rows(list(zip(*self.values(texts), strict=True))))
                yield ReadRows(*compared(self.columns, [row for row in rows if row is not None]))
