"""What the comparison of a pipeline finds."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import pytest

from tests.databases.mariadb import COLUMNS, KEYS
from tests.databases.oracle import Difference, compare_rows
from tests.databases.tables import Table
from tests.pipelines.pipeline import found_rows
from tests.pipelines.targets import Row, Target

TABLE = Table("orders", {"id": KEYS[0]}, {name: COLUMNS[name] for name in ("name", "price", "data")})
HELD = {**TABLE.key, **TABLE.columns}
WANTED = [(1, "é😀", Decimal("1.5"), b"\0a"), (2, None, Decimal(-3), b""), (10, "", None, None)]
THERE: list[Row] = [
    {"id": 10, "name": ""},
    {"id": "2", "name": None, "price": "-3.0000000000", "data": ""},
    {"id": 1, "name": "é😀", "price": Decimal("1.50"), "data": "AGE="},
]


class Rows(Target):
    name = "rows"

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows

    def options(self) -> Mapping[str, str]:
        return {}

    def rows(self, table: Table) -> Iterable[Row]:
        del table
        return self._rows

    def is_lost(self, error: BaseException) -> bool:
        del error
        return False


def _compared(rows: Iterable[Row]) -> int:
    return compare_rows(iter(WANTED), found_rows(Rows(rows), TABLE, HELD), TABLE, HELD)


def test_rows_in_any_order_and_in_the_forms_of_targets_are_the_same() -> None:
    assert _compared(THERE) == len(WANTED)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (THERE[1:], r"\(10,\) is missing"),
        ([*THERE, THERE[1]], r"\(2,\) should not be there"),
        ([*THERE, {"id": 11}], r"\(11,\) should not be there"),
        ([*THERE[:2], {**THERE[2], "price": "1.51"}], r"\(1,\): \[\('price'"),
        ([*THERE[1:], {"id": 10, "name": "", "more": 1}], r"nobody has written: \['more'\]"),
        ([*THERE[1:], {"id": 10}], r"\(10,\): \[\('name', '', None\)\]"),
    ],
)
def test_a_row_that_is_missing_doubled_or_changed_is_found(rows: list[Mapping[str, Any]], why: str) -> None:
    with pytest.raises(Difference, match=why):
        _compared(rows)
