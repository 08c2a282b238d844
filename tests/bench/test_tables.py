"""The check of tables: it must see a single row that is missing, doubled, changed or out of place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from bench import tables
from demo.flights import NULL

ROWS = 500
MIDDLE = 250


def _drop(table: Any) -> Any:
    return pa.concat_tables([table[:MIDDLE], table[MIDDLE + 1 :]])


def _double(table: Any) -> Any:
    return pa.concat_tables([table[:MIDDLE], table[MIDDLE - 1 :]])


def _swap(table: Any) -> Any:
    return pa.concat_tables([table[:MIDDLE], table[MIDDLE + 1 : MIDDLE + 2], table[MIDDLE : MIDDLE + 1], table[MIDDLE + 2 :]])


def _change(table: Any) -> Any:
    years = table["year"].to_pylist()
    years[MIDDLE] = 1913
    return table.set_column(table.column_names.index("year"), "year", pa.array(years, pa.int64()))


@pytest.fixture
def flights(tmp_path: Path) -> tuple[Path, str, Any]:
    path = tmp_path / "flights.csv"
    columns = tables.write(path, ROWS)
    types = {name: getattr(pa, kind)() for name, _, kind in (column.partition(":") for column in columns.split(","))}
    options = csv.ConvertOptions(column_types=types, null_values=[NULL], strings_can_be_null=True)
    return path, columns, csv.read_csv(path, convert_options=options)


def _written(folder: Path, *parts: Any) -> Path:
    folder.mkdir()
    for number, part in enumerate(parts):
        parquet.write_table(part, folder / f"{number}.parquet")
    return folder


def test_the_same_rows_in_several_files_are_the_same(flights: tuple[Path, str, Any], tmp_path: Path) -> None:
    path, columns, table = flights
    folder = _written(tmp_path / "out", table[MIDDLE:], table[:MIDDLE])
    assert tables.rows_in(folder) == ROWS
    assert tables.difference(path, columns, folder) == ""


@pytest.mark.parametrize(
    ("damage", "said"),
    [(_drop, "499 rows of 500"), (_double, "there twice"), (_swap, "not in their order"), (_change, "column year")],
)
def test_one_row_dropped_doubled_swapped_or_changed_is_found(
    flights: tuple[Path, str, Any], tmp_path: Path, damage: Callable[[Any], Any], said: str
) -> None:
    path, columns, table = flights
    assert said in tables.difference(path, columns, _written(tmp_path / "out", damage(table)))


def test_a_row_that_is_in_two_files_is_found(flights: tuple[Path, str, Any], tmp_path: Path) -> None:
    path, columns, table = flights
    folder = _written(tmp_path / "out", table[: MIDDLE + 1], table[MIDDLE:])
    assert tables.difference(path, columns, folder) == "501 rows of 500"
