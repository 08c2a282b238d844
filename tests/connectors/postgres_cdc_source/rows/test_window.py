"""What a transaction shows of others."""

import pytest

from connectors.postgres_cdc_source.rows.window import Shown

AGE = 7 << 32
"""Numbers of transactions have 64 bits, of which the log has 32."""


@pytest.mark.parametrize(
    ("snapshot", "shown", "not_shown"),
    [
        ("10:20:12,15", [3, 10, 11, 13, 19], [12, 15, 20, 21, 1000]),
        (f"{AGE + 10}:{AGE + 20}:{AGE + 12}", [10, 13, 19, (1 << 32) - 5], [12, 20, 21]),
        (f"{AGE - 3}:{AGE + 2}:{AGE - 2}", [(1 << 32) - 4, (1 << 32) - 1, 1], [(1 << 32) - 2, 2, 3]),
        ("20:20:", [19], [20]),
    ],
)
def test_it_shows_those_that_ended_before_it_began(snapshot: str, shown: list[int], not_shown: list[int]) -> None:
    sees = Shown(snapshot)
    assert all(map(sees, shown))
    assert not any(map(sees, not_shown))
