"""Durations as people write them."""

import pytest

from rocketconnect_cli.durations import seconds


@pytest.mark.parametrize(
    ("text", "found"),
    [("90", 90.0), ("0.5", 0.5), ("60s", 60.0), ("500ms", 0.5), ("1m30s", 90.0), ("2h", 7200.0), ("1d", 86400.0), (" 5m ", 300.0)],
)
def test_a_number_has_a_unit_or_is_seconds(text: str, found: float) -> None:
    assert seconds(text) == found


@pytest.mark.parametrize("text", ["", "s", "5x", "-5s", "5 s", "1e3", "nan", "5m-", "\N{ARABIC-INDIC DIGIT FIVE}s"])
def test_all_else_is_none(text: str) -> None:
    assert seconds(text) is None
