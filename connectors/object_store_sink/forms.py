"""What rows become in an object. Runs where the records are."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import orc, parquet

from connectors.file_sink.forms import LineForm
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.objects import rows_of_array
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.spark.types import to_spark

PARQUET, ORC, JSON_LINES, CSV = "parquet", "orc", "jsonlines", "csv"
TABLES = (PARQUET, ORC)
COMPRESSIONS: Mapping[str, Sequence[str]] = {
    PARQUET: ("snappy", "zstd", "gzip", "lz4", "none"),
    ORC: ("snappy", "zstd", "lz4", "none"),
    JSON_LINES: ("none", "gzip", "zstd"),
    CSV: ("none", "gzip", "zstd"),
}
"""By format those that there are, the default first."""
_ENDINGS = {PARQUET: ".parquet", ORC: ".orc", JSON_LINES: ".jsonl", CSV: ".csv"}
_PACKED = {"gzip": ".gz", "zstd": ".zst", "none": ""}
_ORC_NONE = "uncompressed"
_PLAIN = (str, bytes, int, float)
_VALUE = "value"
_BEGINNING = 100


@dataclass(frozen=True, slots=True)
class Form:
    """How values become an object. Picklable.

    Attributes:
        format: PARQUET, ORC, JSON_LINES or CSV.
        compression: One of COMPRESSIONS.
        columns: What JSON objects are made rows of; None: the fields of the schema of the values.
        delimiter: Between fields of CSV.
        header: CSV begins with the names of its columns.
    """

    format: str
    compression: str
    columns: Schema | None = None
    delimiter: str = ","
    header: bool = True

    @property
    def ending(self) -> str:
        """Of the names of its objects."""
        return _ENDINGS[self.format] + ("" if self.format in TABLES else _PACKED[self.compression])

    def array(self, values: Sequence[object], schema: Schema | None) -> pa.Array:
        """The values as one array: of structs, where they are rows.

        Raises:
            RecordError: one of them does not fit.
        """
        if schema is None:
            _check_json(values)
        made = to_array(values, schema)
        if self.columns is not None:
            made = rows_of_array(made, self.columns)
        # What no file has a type for becomes what Spark has for it, so that all sinks of files write the same.
        return to_spark(made) if self.format in TABLES else made

    def data(self, values: pa.Array) -> memoryview:
        """The object.

        Raises:
            RecordError: a value has no such form.
        """
        sink = pa.BufferOutputStream()
        if self.format in TABLES:
            self._table(table_of(values), sink)
            return memoryview(sink.getvalue()).cast("B")
        lines = LineForm(self.format, None, self.delimiter)
        head = lines.header(lines.names(values.type)) if self.format == CSV and self.header else b""
        parts = (head, lines.lines(values))
        if self.compression == "none":
            return memoryview(b"".join(parts))
        with pa.CompressedOutputStream(sink, self.compression) as packed:
            for part in parts:
                packed.write(part)
        return memoryview(sink.getvalue()).cast("B")

    def _table(self, rows: pa.Table, sink: pa.BufferOutputStream) -> None:
        try:
            if self.format == PARQUET:
                parquet.write_table(rows, sink, compression=self.compression)
            else:
                orc.write_table(rows, sink, compression=_ORC_NONE if self.compression == "none" else self.compression)
        except pa.ArrowException as error:
            msg = f"the values have no form as {self.format}: {error}"
            raise RecordError(msg) from None


def table_of(values: pa.Array) -> pa.Table:
    """Rows as a table; values that are none as a column of it."""
    if not pa.types.is_struct(values.type):
        return pa.table({_VALUE: values})
    # flatten() keeps a null as a row of nulls.
    return pa.table(values.flatten(), [each.name for each in values.type])


def _check_json(values: Sequence[object]) -> None:
    """Of values without a schema: what has no JSON form would become a text that nobody has sent."""
    for value in values:
        if value is not None and not isinstance(value, _PLAIN):
            with suppress(OverflowError):  # whole numbers of any size are JSON
                to_json(value)


def refusals(batch: SinkBatch, make: Callable[[SinkBatch], object]) -> dict[int, str]:
    """The records of which `make` can make nothing: by index, why not, and how the value begins.

    Halves ranges until what fails stands alone, so that a few among many are found with a few tries.
    """
    found: dict[int, str] = {}
    ranges = [(0, len(batch))]
    while ranges:
        start, stop = ranges.pop()
        try:
            make(batch.slice(start, stop))
        except RecordError as error:
            if stop - start == 1:
                found[start] = f"{error}; the value begins {str(batch.values[start])[:_BEGINNING]!r}"
            else:
                middle = (start + stop) // 2
                ranges += [(middle, stop), (start, middle)]
    return found
