"""Defaults of columns that records do not name are written by the sink, for each row by itself."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from connectors.doris.defaults import filled
from connectors.doris.types import Column, column_of

NOW = datetime(2024, 12, 31, 23, 59, 59, 123456, UTC)


def column(kind: str, default: str | None) -> Column:
    return column_of("a", kind, optional=True, default=default)


@pytest.mark.parametrize(
    ("kind", "default", "shown"),
    [
        ("datetime", "CURRENT_TIMESTAMP", "2024-12-31 23:59:59"),
        ("datetime(3)", "CURRENT_TIMESTAMP(3)", "2024-12-31 23:59:59.123"),
        ("datetime(6)", "current_timestamp(6)", "2024-12-31 23:59:59.123456"),
        ("date", "CURRENT_DATE", "2024-12-31"),
        ("date", "1970-01-01", "1970-01-01"),
        ("varchar(30)", "CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP"),
        ("int", "7", "7"),
        ("varchar(9)", "", ""),
    ],
)
def test_a_default_is_what_the_server_would_write(kind: str, default: str, shown: str) -> None:
    rows = pa.table({"id": [1]})
    assert filled(rows, [column(kind, default)], [()], NOW).to_pylist() == [{"id": 1, "a": shown}]


def test_a_null_that_a_record_names_stays_one_beside_a_default() -> None:
    rows = pa.table({"a": pa.array([5, None, None], pa.int64())})
    found = filled(rows, [column("bigint", "7")], [(), (), ("a",)], NOW)
    assert found.column("a").to_pylist() == ["5", None, "7"]


def test_a_column_without_a_default_and_one_of_numbers_of_the_server_are_left_to_it() -> None:
    numbered = column_of("n", "bigint", optional=False, is_numbered=True)
    rows = pa.table({"id": [1]})
    assert filled(rows, [column("int", None), numbered], [()], NOW).column_names == ["id"]
