"""Chunks of a snapshot beside the log: what is sent makes the table, whatever happens while it is read."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rocketconnect_sdk.changes.snapshots.chunks import Window
from tests.examples import some

_KEYS = range(6)
_TRUNCATE = -1


def after(log: list[tuple[int, Any]]) -> dict[int, Any]:
    table: dict[int, Any] = {}
    for key, value in log:
        if key == _TRUNCATE:
            table.clear()
        elif value is None:
            table.pop(key, None)
        else:
            table[key] = value
    return table


@given(st.integers())
@settings(max_examples=some(400))
def test_the_target_becomes_the_table_though_it_changes_while_it_is_read(seed: int) -> None:
    """Chunks of three keys; where the query sees the table, and how far the log was read by then, is anything that can be."""
    pick = random.Random(seed)
    keys = [_TRUNCATE, *_KEYS, *_KEYS, *_KEYS]
    log = [(pick.choice(keys), pick.choice((None, 1, 2, 3, 4))) for _ in range(pick.randrange(40))]
    target: dict[int, Any] = {}
    read = 0

    def follow(until: int, window: Window[int] | None = None) -> None:
        nonlocal read
        for place in range(read + 1, until + 1):
            key, value = log[place - 1]
            if window is not None:
                window.saw_truncate(place) if key == _TRUNCATE else window.saw(place, key)
            if key == _TRUNCATE:
                target.clear()
            elif value is None:
                target.pop(key, None)
            else:
                target[key] = value
        read = max(read, until)

    def on(place: int) -> int:
        return min(len(log), place + pick.randrange(5))

    # The capture begins somewhere, and what is before that is only in the tables.
    low = read = on(0)
    behind = -1
    while True:
        low = on(max(low, read))
        seen = on(low)
        high = on(seen)
        rows = sorted((key, value) for key, value in after(log[:seen]).items() if key > behind)[:3]
        window: Window[int] = Window(lambda place, low=low: place <= low)  # type: ignore[misc]
        # They are sent then, or when the log was read further.
        follow(on(high), window)
        left = window.left([key for key, _ in rows])
        target.update({key: value for (key, value), is_left in zip(rows, left, strict=True) if is_left})
        if not rows:
            break
        behind = rows[-1][0]
    follow(len(log))
    assert target == after(log)
