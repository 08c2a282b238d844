"""Rows of tables in the order of their keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

import pyarrow as pa
import pytest

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.evolution import Policy
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.tables import TableSettings
from rocketconnect_sdk.tables.columns import Column, Table
from rocketconnect_sdk.tables.dialect import Dialect
from rocketconnect_sdk.tables.reader import Reader, among, beyond, floor, in_order, micros_of
from rocketconnect_sdk.tables.values import shown_bytes
from rocketconnect_sdk.tables.verification import KeptTables
from rocketconnect_sdk.verification import Key, ReadRows


@dataclass(frozen=True, slots=True)
class Plain(Column):
    def stands_for(self, field: Schema) -> bool:
        return False


COLUMNS = [Plain(name, "BIGINT", Schema(Type.INT64)) for name in "ab"]


class Numbers(Reader[Plain, Table[Plain]]):
    """Gives the same rows whatever it is asked for; notes what that is."""

    def __init__(self, numbers: Sequence[int] = ()) -> None:
        self.numbers = numbers
        self.asked: list[str] = []

    def ordered(self, column: Plain) -> str:
        return column.name

    def literal(self, value: int | str | Decimal, column: Plain) -> str:
        return f"{value}"

    def rows(self, table: Table[Plain], tail: str) -> ReadRows:
        self.asked.append(tail)
        return ReadRows(pa.StructArray.from_arrays([pa.array(self.numbers, pa.int64())] * 2, ["a", "b"]), {})


def kept(reader: Numbers) -> KeptTables:
    class Known:
        place = "here"

        def table(self, name: str) -> Table[Plain] | None:
            return Table(name, COLUMNS) if name == "t" else None

        def close(self) -> None:
            """Nothing is held."""

    return KeptTables(TableSettings("${topic}", False, Policy.FAIL, None), cast("Dialect[Plain, Table[Plain]]", Known()), reader)


@pytest.mark.parametrize("numbers", [(2, 1), tuple(range(501))])
def test_a_server_with_another_order_is_told_and_not_asked_for_ever(numbers: Sequence[int]) -> None:
    with kept(Numbers(numbers)).open("t") as rows, pytest.raises(PermanentError, match="t: the server has another order of a than"):
        list(rows.behind(None, ["a"]))


def test_rows_behind_a_key_are_asked_for_by_its_columns_one_after_the_other() -> None:
    begin = "WHERE a IS NOT NULL AND b IS NOT NULL"
    assert in_order(Numbers(), COLUMNS, None, 5) == f"{begin} ORDER BY a, b LIMIT 5"
    assert in_order(Numbers(), COLUMNS, (1, 2), 5) == f"{begin} AND a >= 1 AND (a > 1 OR (b > 2)) ORDER BY a, b LIMIT 5"
    assert beyond(["a", "b", "c"], ["1", "2", "3"]) == "a >= 1 AND (a > 1 OR (b >= 2 AND (b > 2 OR (c > 3))))"


def test_the_rows_of_many_keys_are_asked_for_some_at_a_time() -> None:
    assert among(Numbers(), COLUMNS, [(1, 2), (3, 4)]) == "WHERE (a = 1 AND b = 2) OR (a = 3 AND b = 4)"
    reader, keys = Numbers(), list[Key]((number,) for number in range(450))
    with kept(reader).open("t") as rows:
        rows.of(keys, ["a"])
    assert [each.count("a = ") for each in reader.asked] == [200, 200, 50]


@pytest.mark.parametrize(
    ("value", "scale", "lower"),
    [
        (5, 0, "5"),
        ("1.5", 2, "1.5"),
        ("1.999", 2, "1.99"),
        ("-1.001", 2, "-1.01"),
        ("-0.5", 0, "-1"),
        ("1" * 76 + ".9", 0, "1" * 76),
    ],
)
def test_a_number_that_a_column_cannot_have_is_the_next_lower_one(value: int | str, scale: int, lower: str) -> None:
    assert floor(value, scale) == Decimal(lower)


def test_a_moment_of_a_key_is_its_microseconds() -> None:
    assert [micros_of(text) for text in ("1969-12-31T23:59:59.999999", "1970-01-01T00:00:01.000002")] == [-1, 1_000_002]


def test_bytes_that_are_no_text_are_told_from_each_other_and_from_texts() -> None:
    values = pa.array([b"a", None, b"\xff", b"\xfe"], pa.binary())
    assert shown_bytes(values).to_pylist() == ["a", None, "0xff", "0xfe"]
