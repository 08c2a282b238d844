"""Counts in words."""

import pytest

from rocketconnect_sdk.wording.counts import counted


@pytest.mark.parametrize(
    ("what", "thing", "told"),
    [
        (0, "row", "0 rows"),
        (1, "row", "1 row"),
        (12_345, "dead letter", "12,345 dead letters"),
        (2, "entry", "2 entries"),
        (2, "key", "2 keys"),
        (2, "batch", "2 batches"),
        (1, "batch", "1 batch"),
        (["a"], "column", "1 column"),
        ({}, "column", "0 columns"),
        (b"ab", "byte", "2 bytes"),
        ("1", "row", "1 row"),
        ("3000", "row", "3,000 rows"),
    ],
)
def test_one_of_a_thing_is_no_plural(what: object, thing: str, told: str) -> None:
    assert counted(what, thing) == told  # type: ignore[arg-type]


def test_what_is_said_of_them_agrees_with_their_number() -> None:
    assert counted(1, "row", "differs", "differ") == "1 row differs"
    assert counted(2, "row", "differs", "differ") == "2 rows differ"
    assert [counted(number, "", "that was", "that were") for number in (1, 2)] == ["1 that was", "2 that were"]
