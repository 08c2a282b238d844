from collections.abc import Callable

import pytest

from tests.queue_pipelines.comparing import Difference, at_least, each_once, in_order


@pytest.mark.parametrize(
    ("compare", "text"),
    [
        (lambda: each_once([1, 2, 3], [1, 3]), r"1 missing: \[2\]"),
        (lambda: each_once([1, 2, 3], [1, 2, 3, 3]), r"1 there too often, or never sent: \[3\]"),
        (lambda: each_once([1, 1], [1]), r"1 missing: \[1\]"),
        (lambda: at_least([1, 2], [2], [1, 2, 3]), r"1 missing: \[1\]"),
        (lambda: at_least([1, 2], [1, 2, 4], [1, 2, 3]), r"1 never sent: \[4\]"),
        (lambda: in_order({"a": [1, 2, 3]}, {"a": [1, 3, 2]}), r"'a': 3 of 3; from 1 on \[3, 2\], where \[2, 3\] was sent"),
        (lambda: in_order({"a": [1, 2, 3]}, {"a": [1, 2]}), r"'a': 2 of 3; from 2 on \[\], where \[3\] was sent"),
        (lambda: in_order({"a": [1, 2]}, {"a": [1, 2, 2]}), r"'a': 3 of 2; from 2 on \[2\], where \[\] was sent"),
        (lambda: in_order({"a": [1]}, {"a": [1], "b": [1]}), r"1 keys that are missing, or were never sent: \['b'\]"),
    ],
)
def test_what_is_missing_doubled_of_nobody_or_out_of_order_is_told(compare: Callable[[], None], text: str) -> None:
    with pytest.raises(Difference, match=text):
        compare()


def test_what_is_promised_passes() -> None:
    each_once([1, 2, 2], [2, 1, 2])
    at_least([1, 2], [1, 1, 2, 3], [1, 2, 3])
    in_order({"a": [1, 2], "b": [3]}, {"b": [3], "a": [1, 2]})
