"""The changes that are measured: as many as the rate is said of."""

import re

import pytest

from bench.captured import changes


@pytest.mark.parametrize("count", [1, 9, 10, 15_555, 505_164])
def test_statements_change_as_many_rows_as_told(count: int) -> None:
    found = [re.fullmatch(r'(\w+) .* "row" >= (\d+) AND "row" < (\d+)', text) for text in changes(count, '"')]
    rows = {
        word: sum(int(each[3]) - int(each[2]) for each in found if each and each[1] == word)
        for word in ("INSERT", "UPDATE", "DELETE")
    }
    assert sum(rows.values()) == count
    assert rows["INSERT"] >= rows["UPDATE"] >= rows["DELETE"] == count // 10


def test_no_statement_changes_more_than_a_thousand_rows() -> None:
    assert all(int(end) - int(first) <= 1_000 for text in changes(5_001, "`") for first, end in [re.findall(r"[<>]=? (\d+)", text)])
