"""Rows of two tables, in whatever parts they come, differ where a comparison row by row finds it."""

from collections.abc import Iterator, Mapping

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.verification import Key
from services.executor.verification.comparing import Kind, Part, differences, ranges

VALUES = st.tuples(
    st.none() | st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf")]), st.none() | st.sampled_from(["", "a", "ä"])
)
KEYS = st.tuples(st.integers(-3, 3), st.sampled_from(["", "a", "b", "ä"]))
TABLES = st.dictionaries(KEYS, VALUES, max_size=15)
CUTS = st.lists(st.integers(1, 5))
SCHEMA = pa.schema([("x", pa.float64()), ("y", pa.string())])


def parts(table: Mapping[Key, tuple[float | None, str | None]], cuts: list[int]) -> Iterator[Part]:
    keys = sorted(table)
    sizes = iter(cuts)
    while keys:
        count = next(sizes, 3)
        head, keys = keys[:count], keys[count:]
        rows = pa.table([[table[key][column] for key in head] for column in range(2)], schema=SCHEMA)
        yield Part(head, rows)


def same(left: object, right: object) -> bool:
    return left == right or (repr(left), repr(right)) == ("nan", "nan")


@given(TABLES, TABLES, CUTS, CUTS)
def test_all_that_differs_is_found_in_the_order_of_keys_and_nothing_else(
    source: dict[Key, tuple[float | None, str | None]],
    sink: dict[Key, tuple[float | None, str | None]],
    cuts: list[int],
    others: list[int],
) -> None:
    found = [
        (each.key, each.kind, each.about) for part in ranges(parts(source, cuts), parts(sink, others)) for each in differences(part)
    ]
    expected = []
    for key in sorted({*source, *sink}):
        if key not in sink:
            expected.append((key, Kind.MISSING, ""))
        elif key not in source:
            expected.append((key, Kind.EXTRA, ""))
        else:
            names = [name for name, mine, other in zip("xy", source[key], sink[key], strict=True) if not same(mine, other)]
            if names:
                expected.append((key, Kind.DIFFERENT, ", ".join(names)))
    assert found == expected


@given(TABLES, CUTS, CUTS)
def test_ranges_have_every_row_once_and_end_in_order(
    table: dict[Key, tuple[float | None, str | None]], cuts: list[int], others: list[int]
) -> None:
    found = list(ranges(parts(table, cuts), parts(table, others)))
    assert [key for each in found for key in (each.source.keys if each.source else ())] == sorted(table)
    assert [each.end for each in found] == sorted({each.end for each in found})
    assert all(each.rows_to(each.end) <= 5 for each in found)


def test_a_second_row_of_a_key_in_the_sink_is_an_extra_one() -> None:
    source = iter([Part([(1,), (2,)], pa.table([[1.0, 2.0], ["", ""]], schema=SCHEMA))])
    sink = iter([Part([(1,), (1,), (2,)], pa.table([[1.0, 9.0, 2.0], ["", "", ""]], schema=SCHEMA))])
    found = [(each.key, each.kind, each.about) for part in ranges(source, sink) for each in differences(part)]
    assert found == [((1,), Kind.EXTRA, "there is more than one row of this key")]


def test_a_row_that_the_sink_does_not_take_is_told_with_the_reason_also_where_it_seems_to_be_there() -> None:
    rows = pa.table([[None, 2.0], ["", ""]], schema=SCHEMA)
    (each,) = ranges(iter([Part([(1,), (2,)], rows, {0: "x: is no number"})]), iter([Part([(1,), (2,)], rows)]))
    assert [(one.key, one.kind, one.about) for one in differences(each)] == [((1,), Kind.REFUSED, "x: is no number")]
