"""Whole blocks of CSV into columns, where they mean the same as row by row; pure. Everything else is left to `rows`."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from connectors.file_source.documents import MARK
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.text_columns import NotPlain, read_texts
from rocketconnect_sdk.columns.texts import TEXTS
from rocketconnect_sdk.schema import WHOLE, Schema, Type

_NEWLINE = ord("\n")
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_BOOLEANS = ("true", "false", "0", "1")


def table_of(block: bytes, delimiter: str, schema: Schema, null: str | None) -> tuple[pa.StructArray, Sequence[int]]:
    """The rows of a block, and for each where it ends: the byte behind its newline.

    Args:
        block: Whole lines, each with its newline; at least one.
        delimiter: Between fields.
        schema: A struct of optional fields, of the types of rocketconnect_sdk.columns.declared.
        null: See Csv.

    Raises:
        NotPlain: by columns it can't be told, or would be another result.
    """
    returns = block.count(b"\r")
    if (
        b'"' in block
        or b"\0" in block
        or not delimiter.isascii()
        or block.startswith((b"\n", b"\r\n", MARK))
        or b"\n\n" in block
        or (returns and (b"\n\r\n" in block or block.count(b"\r\n") != returns))
    ):
        raise NotPlain
    texts = _texts(block, delimiter, [field.name for field in schema.fields], null)
    raw = pa.Array.from_buffers(pa.uint8(), len(block), [None, pa.py_buffer(block)])
    ends = pc.add(pc.indices_nonzero(pc.equal(raw, _NEWLINE)).cast(pa.int64()), 1)
    if len(ends) != texts.num_rows:
        raise NotPlain
    columns = [_typed(texts.column(index), field.schema) for index, field in enumerate(schema.fields)]
    return pa.StructArray.from_arrays(columns, fields=list(to_arrow_type(schema))), memoryview(ends.buffers()[1]).cast("q")


def _texts(block: bytes, delimiter: str, names: Sequence[str], null: str | None) -> pa.RecordBatch:
    options = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[] if null is None else [null],
        strings_can_be_null=True,
    )
    parsing = csv.ParseOptions(delimiter=delimiter, quote_char=False, double_quote=False, ignore_empty_lines=False)
    reading = csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=names)
    try:
        table = csv.read_csv(pa.py_buffer(block), reading, parsing, options)
    except pa.ArrowException as error:
        # A row with another number of fields, or bytes that are no text.
        raise NotPlain from error
    if table.column(0).num_chunks != 1:
        raise NotPlain
    (batch,) = table.to_batches()
    return batch


def _typed(texts: pa.StringArray, schema: Schema) -> pa.Array:
    """A column of its type. Only texts that both Arrow and the reader of rows take for the same value."""
    kind = schema.type
    if kind is Type.STRING:
        return texts
    lengths = pc.binary_length(texts)
    if pc.min(lengths).as_py() == 0:
        texts = pc.if_else(pc.equal(lengths, 0), pa.scalar(None, pa.string()), texts)
    if kind in TEXTS:
        return read_texts(texts, schema)
    try:
        if kind in WHOLE:
            return _integers(texts, lengths).cast(to_arrow_type(schema))
        if kind is Type.BOOLEAN:
            _demand(set(pc.unique(texts).to_pylist()) <= {*_BOOLEANS, None})
            return texts.cast(pa.bool_())
        return _floats(texts).cast(to_arrow_type(schema))
    except pa.ArrowException as error:
        raise NotPlain from error


def _integers(texts: pa.StringArray, lengths: pa.Array) -> pa.StringArray:
    data = _data(texts)
    _demand(not data.translate(None, b"0123456789-") and b"-0" not in data)
    zeros = pc.and_(pc.starts_with(texts, "0"), pc.greater(lengths, 1))
    _demand(not pc.any(zeros).as_py())
    return texts


def _floats(texts: pa.StringArray) -> pa.Array:
    _demand(pc.all(pc.match_substring_regex(texts, _NUMBER)).as_py() is not False)
    numbers = texts.cast(pa.float64())
    _demand(pc.all(pc.is_finite(numbers)).as_py() is not False)
    # Read row by row, the zero has no sign.
    _demand(not pc.any(pc.and_(pc.equal(numbers, 0), pc.starts_with(texts, "-"))).as_py())
    return numbers


def _data(texts: pa.StringArray) -> bytes:
    """All texts of a column, one behind the other."""
    _, offsets, data = texts.buffers()
    ends = memoryview(offsets).cast("i")
    return bytes(memoryview(data)[ends[texts.offset] : ends[texts.offset + len(texts)]]) if data is not None else b""


def _demand(is_plain: bool) -> None:
    if not is_plain:
        raise NotPlain
