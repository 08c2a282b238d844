"""How many rows of a first snapshot are left."""

from rocketconnect_sdk.changes.snapshots.expected import Expected
from rocketconnect_sdk.record import SourceBatch


def batch(partition: str, rows: int) -> SourceBatch:
    return SourceBatch(partition, [None] * rows, [(number,) for number in range(rows)], end=(rows,))


def test_rows_that_were_read_are_left_no_more_and_a_table_that_is_done_has_none() -> None:
    expected = Expected({"a": 10, "b": 5})
    expected.saw(batch("a", 4))
    assert expected.left == 11
    expected.saw(batch("a", 0))
    assert expected.left == 5


def test_a_table_with_more_rows_than_were_expected_takes_nothing_from_others() -> None:
    expected = Expected({"a": 10, "b": 5})
    expected.saw(batch("a", 40))
    assert expected.left == 5


def test_it_is_not_known_before_those_tables_are_done_that_nobody_has_counted() -> None:
    expected = Expected({"a": None, "b": 5})
    expected.saw(batch("a", 4))
    assert expected.left is None
    expected.saw(batch("a", 0))
    assert expected.left == 5


def test_of_no_table_nothing_is_left() -> None:
    assert Expected({}).left == 0
