"""Rows of a chunk are sent only where the log has not said more of them by then."""

import uuid

import pytest

from connectors.mysql_cdc_source.binlog.gtid import MariadbGtid, MysqlGtid, MysqlGtidSet
from connectors.mysql_cdc_source.rows.window import Seen, ShownBefore, ShownDone, TableWindow
from connectors.mysql_cdc_source.tables import Name
from connectors.mysql_cdc_source.watermark import BinlogCoordinate

SOURCE = uuid.UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")
OTHER = uuid.UUID("4e11fa47-71ca-11e1-9e33-c80aa9429562")
DONE = ShownDone(MysqlGtidSet.parse(f"{SOURCE}:1-5:8"))
KEY = ("id",)


def _seen(number: int, source: uuid.UUID = SOURCE, at: int = 100) -> Seen:
    return Seen(BinlogCoordinate(0, 1, at), MysqlGtid(source, number))


def _window() -> TableWindow:
    return TableWindow(Name("shop", "orders"), KEY, DONE)


def test_a_change_that_was_done_before_the_chunk_leaves_its_row_and_one_that_was_not_takes_its_place() -> None:
    window = _window()
    window.saw_rows(_seen(5), KEY, [(1,)], whole=True)
    window.saw_rows(_seen(6), KEY, [(2,), (3,)], whole=True)
    window.saw_rows(_seen(8), KEY, [(4,)], whole=True)
    window.saw_rows(_seen(1, OTHER), KEY, [(5,)], whole=True)
    assert window.left([(number,) for number in range(1, 7)]) == [True, False, False, True, False, True]
    assert not window.spoiled


def test_a_change_without_a_gtid_is_none_that_was_done_before() -> None:
    window = _window()
    window.saw_rows(Seen(BinlogCoordinate(0, 1, 4), None), KEY, [(1,)], whole=True)
    assert window.left([(1,), (2,)]) == [False, True]


@pytest.mark.parametrize(("number", "left"), [(5, True), (6, False)])
def test_a_truncation_that_was_not_done_before_the_chunk_takes_all_its_rows(number: int, left: bool) -> None:
    window = _window()
    window.saw_truncate(_seen(number))
    assert window.left([(1,)]) == [left]


@pytest.mark.parametrize(("number", "spoiled"), [(5, False), (6, True)])
def test_a_chunk_is_spoiled_by_what_was_not_done_before_it(number: int, spoiled: bool) -> None:
    """A part of a row, which the chunk alone has as a whole, and another definition."""
    part, definition, another = _window(), _window(), _window()
    part.saw_rows(_seen(number), KEY, [(1,)], whole=False)
    definition.saw_definition(_seen(number), "ALTER TABLE orders ADD COLUMN a INT")
    another.saw_definition(_seen(number), "ALTER TABLE others ADD COLUMN a INT")
    assert (part.spoiled, definition.spoiled, another.spoiled) == (spoiled, spoiled, False)


def test_a_table_with_another_key_spoils_a_chunk_whenever_that_was() -> None:
    window = _window()
    window.saw_rows(_seen(1), ("name",), [("a",)], whole=True)
    assert window.spoiled


@pytest.mark.parametrize(
    ("last", "read", "missing"),
    [
        (None, "", ""),
        (_seen(5), f"{SOURCE}:1-4", ""),
        (_seen(8), f"{SOURCE}:1-5", ""),
        (_seen(6), f"{SOURCE}:1-5", f"{SOURCE}:6"),
        (_seen(8), f"{SOURCE}:1-8", f"{SOURCE}:6-7"),
        (_seen(8), f"{SOURCE}:1-5,{OTHER}:1-2", f"{OTHER}:1-2"),
    ],
)
def test_a_log_that_was_read_further_than_what_is_done_is_told_with_its_transactions(
    last: Seen | None, read: str, missing: str
) -> None:
    assert DONE.missing(last, read) == missing


def test_of_mariadb_the_place_of_the_transaction_decides() -> None:
    shown = ShownBefore(BinlogCoordinate(0, 1, 100))
    first, second = Seen(BinlogCoordinate(0, 1, 100), MariadbGtid(0, 1, 7)), Seen(BinlogCoordinate(0, 1, 101), MariadbGtid(0, 1, 8))
    assert (shown(first), shown(second)) == (True, False)
    assert (shown.missing(None, ""), shown.missing(first, "0-1-7"), shown.missing(second, "0-1-7")) == ("", "", "0-1-8")
