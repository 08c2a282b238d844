"""What a column of values becomes in a file. Runs on the driver and in Spark's Python workers; nothing here imports Spark."""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from rocketconnect_sdk.columns.arrow_types import from_arrow_type, readable
from rocketconnect_sdk.columns.objects import rows_of_array
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import json_lines, plainly, text_lines, to_json
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.spark.types import to_spark

_SHOWN = 100


@dataclass(frozen=True, slots=True)
class LineForm:
    """How values become lines. Picklable.

    Attributes:
        format: text, jsonlines or csv.
        columns: The columns of a CSV file, where they are not those of the values.
        delimiter: Between fields of CSV.
    """

    format: str
    columns: Schema | None = None
    delimiter: str = ","

    def lines(self, values: pa.Array) -> bytes | memoryview:
        """The lines of values.

        Raises:
            RecordError: a value has no such form.
        """
        if self.format == "csv":
            return self._csv(values)
        if self.format == "jsonlines":
            return json_lines(_plain(values))
        if not pa.types.is_string(values.type):
            return text_lines(_plain(values))
        return _joined(values)

    def names(self, kind: pa.DataType) -> list[str]:
        """The names of the columns of a CSV file."""
        if self.columns is not None:
            return [field.name for field in self.columns.fields]
        return [field.name for field in kind] if pa.types.is_struct(kind) else ["value"]

    def header(self, names: Sequence[str]) -> bytes:
        """The first line of a CSV file."""
        return self._rows(pa.table([pa.array([name]) for name in names], names=[str(i) for i in range(len(names))]))

    def _csv(self, values: pa.Array) -> bytes:
        if self.columns is not None:
            values = rows_of_array(values, self.columns)
        if not pa.types.is_struct(values.type):
            return self._rows(pa.table([_flat(values)], names=["value"]))
        # flatten() keeps a null struct as a row of nulls.
        columns = [_flat(column) for column in values.flatten()]
        return self._rows(pa.table(columns, names=[str(i) for i in range(len(columns))]))

    def _rows(self, table: pa.Table) -> bytes:
        out = io.BytesIO()
        options = csv.WriteOptions(include_header=False, delimiter=self.delimiter, quoting_style="needed")
        try:
            csv.write_csv(table, out, options)
        except pa.ArrowException as error:
            # Bytes that are no text, for one.
            msg = f"the value has no CSV form: {error}"
            raise RecordError(msg) from None
        return out.getvalue()


def blocks(form: LineForm, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For mapInArrow: the lines of each batch as one text, without its last newline, which the text writer of Spark adds."""
    for batch in batches:
        if batch.num_rows:
            data = bytes(form.lines(batch.column("value")))[:-1]
            text = pa.Array.from_buffers(
                pa.binary(), 1, [None, pa.array([0, len(data)], pa.int32()).buffers()[1], pa.py_buffer(data)]
            )
            yield pa.RecordBatch.from_arrays([text], names=["value"])


def typed_batches(columns: Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For mapInArrow: the rows of JSON objects, of the types that Spark has for them."""
    for batch in batches:
        rows = rows_of_array(batch.column("value"), columns)
        arrays = [to_spark(column) for column in rows.flatten()]
        yield pa.RecordBatch.from_arrays(arrays, names=[field.name for field in columns.fields])


def unwritable(values: pa.Array, make: Callable[[pa.Array], object]) -> dict[int, str]:
    """The values of which `make` can make nothing: by index, why not, and how the value begins.

    Halves ranges until what fails stands alone, so that a few among many are found with a few tries.
    """
    found: dict[int, str] = {}
    ranges = [(0, len(values))]
    while ranges:
        start, stop = ranges.pop()
        try:
            make(values[start:stop])
        except RecordError as error:
            if stop - start == 1:
                found[start] = f"{error}; the value begins {_beginning(values[start:stop])!r}"
            else:
                middle = (start + stop) // 2
                ranges += [(middle, stop), (start, middle)]
    return found


def _beginning(value: pa.Array) -> str | bytes:
    (held,) = _python(value)
    return held[:_SHOWN] if isinstance(held, str | bytes) else str(held)[:_SHOWN]


def _python(values: pa.Array) -> list[object]:
    found: list[object] = readable(values).to_pylist(maps_as_pydicts="strict")
    return found


def _plain(values: pa.Array) -> Sequence[object]:
    try:
        schema = from_arrow_type(values.type)
    except TypeError:
        # What no schema stands for is as Python has it, such as columns of nothing but nulls.
        schema = None
    return plainly(_python(values), schema)


def _joined(values: pa.Array) -> memoryview:
    """Lines of a string column: Arrow holds them one behind the other already."""
    ended = pc.binary_join_element_wise(values.fill_null(""), pa.scalar("\n"), "")
    _, offsets, data = ended.buffers()
    ends = memoryview(offsets).cast("i")
    if data is None:
        return memoryview(b"")
    return memoryview(data)[ends[ended.offset] : ends[ended.offset + len(ended)]]


def _flat(column: pa.Array) -> pa.Array:
    """A column that CSV can hold: nested values as JSON, bytes as they are."""
    if pa.types.is_nested(column.type):
        return pa.array([None if value is None else to_json(value).decode() for value in _plain(column)], pa.string())
    # A UUID or JSON as its text.
    return to_spark(column) if isinstance(column, pa.ExtensionArray) else column
