"""Converters by themselves, on a table: each record alone, and many at once from columns and into them. See `flights` for arrow."""

import gc
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, TypeVar

from bench import tables
from bench.registry import registry
from bench.workload import BenchFailed, Options, Sample, Workload
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.converters import Converter, converter, converter_class
from rocketconnect_sdk.schema import Schema

ROWS = 20_000
_BATCH = 5_000
"""Rows at once, as a source has them."""
_PLAIN = {"schemas.enable": "false"}
CASES = {
    "string": ("string", {}, "tailnum"),
    "bytes": ("bytes", {}, "tailnum"),
    "long": ("long", {}, tables.COLUMN),
    "double": ("double", {}, "air_time"),
    "json with schemas": ("json", {}, ""),
    "json without": ("json", _PLAIN, ""),
    "avro": ("avro", {}, ""),
    "json_schema": ("json_schema", {}, ""),
    "protobuf": ("protobuf", {}, ""),
}
"""The converter, its options, and the column of the table that it converts; empty: all of them."""
_T = TypeVar("_T")


def run(options: Options) -> Iterator[Sample]:
    """Every converter that makes a message of a row, one by one and many at once in turns."""
    columns, schema = _table(options.rows or ROWS)
    with registry() as url:
        for _ in range(options.repeats):
            for case, (name, config, field) in CASES.items():
                taken, of = _taken(columns, schema, field)
                yield Sample(case, _measure(_made(name, config, url), taken, of))


def _made(name: str, config: Mapping[str, str], url: str) -> Converter:
    registered = converter_class(name).by_topic
    found = converter(name, {**config, "schema.registry.url": url} if registered else config, is_key=False)
    found.for_topic("flights")
    return found


def _table(rows: int) -> tuple[Any, Schema]:
    """The flights, with the types that their columns mean rather than those that CSV is read as by itself."""
    from connectors.file_source.table import table_of
    from demo.flights import NULL
    from rocketconnect_sdk.columns.declared import parse_columns

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "flights.csv")
        written = tables.write(path, rows)
        body = path.read_bytes().partition(b"\n")[2]
    kinds = dict(column.partition(":")[::2] for column in written.split(","))
    kinds |= {"distance": "decimal(9,2)", "air_time": "double", "time_hour": "timestamp"}
    schema = parse_columns(",".join(f"{name}:{kind}" for name, kind in kinds.items()))
    return table_of(body, ",", schema, NULL)[0], schema


def _taken(columns: Any, schema: Schema, field: str) -> tuple[Any, Schema]:
    if not field:
        return columns, schema
    of = next(each.schema for each in schema.fields if each.name == field)
    return columns.field(field).drop_null(), of


def _measure(subject: Converter, array: Any, schema: Schema) -> dict[str, float]:
    parts = [Column(array[at : at + _BATCH]) for at in range(0, len(array), _BATCH)]
    values = [list(part) for part in parts]
    rows = len(array)
    # What is done once for a schema, such as asking for it, is no part of the figures.
    subject.decode(subject.encode(values[0][0], schema))
    alone, each = _timed(lambda: [list(map(subject.encode, part, repeat(schema))) for part in values])
    many, at_once = _timed(lambda: [subject.encode_many(part, schema) for part in parts])
    read, decoded = _timed(lambda: [list(map(subject.decode, part)) for part in alone])
    found, decoded_at_once = _timed(lambda: [subject.decode_many(part) for part in alone])
    _check(subject.name, alone == many, "a column is written otherwise than its values")
    _check(subject.name, [[value for value, _ in part] for part in read] == [list(part) for part, _ in found], "read otherwise")
    _check(subject.name, _written(subject, read) == alone, "what was read is written otherwise")
    return {
        "encode_rows_per_s": rows / each,
        "encode_columns_rows_per_s": rows / at_once,
        "decode_rows_per_s": rows / decoded,
        "decode_many_rows_per_s": rows / decoded_at_once,
    }


def _written(subject: Converter, read: Sequence[Sequence[tuple[object, Schema | None]]]) -> list[list[bytes]]:
    return [[subject.encode(value, schema) for value, schema in part] for part in read]


def _check(name: str, is_right: bool, what: str) -> None:
    if not is_right:
        msg = f"{name}: {what}"
        raise BenchFailed(msg)


def _timed(do: Callable[[], _T]) -> tuple[_T, float]:
    # Nor is it that Python looks for cycles in what the bench itself holds.
    gc.collect()
    gc.freeze()
    begin = time.process_time()
    found = do()
    seconds = time.process_time() - begin
    gc.unfreeze()
    return found, seconds


WORKLOAD = Workload(
    "Converters, a table, rows for a second of processor time",
    run,
    ("encode_rows_per_s", "encode_columns_rows_per_s", "decode_rows_per_s", "decode_many_rows_per_s"),
    ("encode_rows_per_s", "encode_columns_rows_per_s"),
    usual=False,
)
