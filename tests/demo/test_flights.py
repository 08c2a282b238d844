"""The demo's own check: a check that can't fail would prove nothing."""

from pathlib import Path

from demo import flights

ROWS = "a,carrier\n1,AA\n2,NA\nNA,UA\n"


def test_the_content_is_the_same_in_another_order(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text(ROWS)
    rows = list(flights.of_csv(table))
    assert rows == [{"a": 1, "carrier": "AA"}, {"a": 2, "carrier": None}, {"a": None, "carrier": "UA"}]
    assert flights.content(rows) == flights.content(reversed(rows))


def test_a_missing_a_doubled_and_a_changed_row_show() -> None:
    rows = [{"a": n} for n in range(100)]
    whole = flights.content(rows)
    assert flights.content(rows[1:]) != whole
    assert flights.content([*rows, rows[5]]) != whole
    assert flights.content([*rows[:-1], {"a": 7}]) != whole
    assert flights.content([*rows[:-1], {"a": 7}]).rows == whole.rows


def test_the_real_table_is_there(tmp_path: Path) -> None:
    table = tmp_path / "flights.csv"
    flights.extract(table)
    assert flights.columns(table).startswith("year:int64,month:int64,")
    with table.open() as lines:
        assert sum(1 for _ in lines) == 336_777
