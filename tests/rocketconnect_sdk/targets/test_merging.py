"""A merge comes to the same as its changes, one after the other."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.targets.changes import by_value, read_changes
from rocketconnect_sdk.targets.envelopes import NO_DELETION
from rocketconnect_sdk.targets.fitted import fit_rows, keyed, keys_gone, moved, only, rows_written
from rocketconnect_sdk.targets.merging import Merge, merge_of

Row = dict[str, Any]
NUMBER = Schema(Type.INT64, optional=True)
ROW = struct([("id", NUMBER), ("a", NUMBER), ("b", NUMBER)], name="row", optional=True)
NAMES = Schema(Type.ARRAY, optional=True, items=STRING)
ENVELOPE = struct([("op", STRING), ("before", ROW), ("after", ROW), ("unchanged", NAMES)], name="change")
THERE: Mapping[int, Row] = {0: {"id": 0, "a": -1, "b": -1}, 1: {"id": 1, "a": -2, "b": -2}}


def write(key: int, a: int, b: int, unchanged: Sequence[str] = (), was: int | None = None) -> Row:
    """As sources tell it: what is unchanged is null."""
    after = {"id": key, "a": a, "b": b} | dict.fromkeys(unchanged)
    return {"op": "u", "before": None if was is None else {"id": was}, "after": after, "unchanged": list(unchanged) or None}


def delete(key: int) -> Row:
    return {"op": "d", "before": {"id": key}, "after": None}


TRUNCATE: Row = {"op": "t", "before": None, "after": None}
KEYS = st.integers(0, 3)
UNCHANGED = st.sampled_from([(), (), ("a",), ("b",), ("a", "b")])
WHOLE = st.builds(write, KEYS, st.integers(0, 9), st.integers(0, 9), was=st.none() | KEYS)
IN_PART = st.builds(write, KEYS, st.integers(0, 9), st.integers(0, 9), UNCHANGED, st.none() | KEYS)
OTHERS = st.builds(delete, KEYS) | st.just(TRUNCATE)


def one_by_one(changes: Sequence[Row]) -> dict[int, Row]:
    table = {key: dict(row) for key, row in THERE.items()}
    for change in changes:
        after, before = change["after"], change["before"]
        if change["op"] == "t":
            table.clear()
        elif change["op"] == "d":
            table.pop(before["id"], None)
        else:
            old = table.pop(after["id"] if before is None else before["id"], {})
            kept = {name: old.get(name) for name in change["unchanged"] or ()}
            table[after["id"]] = {**after, **kept}
    return table


def merge(changes: Sequence[Row]) -> Merge:
    found = read_changes(
        to_array([{"before": None, "after": None, "unchanged": None, **each} for each in changes], ENVELOPE), ENVELOPE
    )
    by_value(found, deletes=True)
    columns = keyed(ROW, ["id"])
    rows, bad = rows_written(found, columns, fit_rows)
    gone, left = keys_gone(found, only(columns, ["id"]), moved(found, ["id"]), fit_rows)
    assert not found.reasons
    assert not bad
    return merge_of(found, rows, gone, left, ["id"])


@pytest.mark.parametrize("beside", [[], [{"op": "d", "before": {"id": 1}, "after": None}]])
def test_a_record_without_a_value_is_nothing_where_deletions_are_made_and_else_bad_whatever_is_beside_it(beside: list[Row]) -> None:
    values: list[Row | None] = [None, *({"unchanged": None, **each} for each in beside)]
    for schema in (ENVELOPE, *([] if beside else [ROW])):
        for deletes in (True, False):
            found = read_changes(to_array(values, replace(schema, optional=True)), schema)
            by_value(found, deletes=deletes)
            assert found.reasons == ({} if deletes else {0: NO_DELETION})
            assert found.writes == []


def merged(changes: Merge) -> dict[int, Row]:
    """As MERGE does it: all that is looked at is the table before."""
    table = {} if changes.truncates else {key: dict(row) for key, row in THERE.items()}
    bases = changes.bases.to_pylist() if changes.bases is not None else [None] * len(changes.gone)
    rows = changes.rows.to_pylist()
    assert len({row["id"] for row in rows}) == len(rows), "a key is there twice"
    for row, gone, kept, base in zip(rows, changes.gone, changes.kept or [()] * len(rows), bases, strict=True):
        table.pop(row["id"], None)
        if not gone:
            of = THERE.get(base["id"], {}) if base else {}
            table[row["id"]] = row | {name: of.get(name) for name in kept}
    return table


@given(st.lists(WHOLE | OTHERS, max_size=8))
@example([write(0, 1, 1), write(1, 2, 2, was=0), write(0, 3, 3)])
@example([delete(0), write(0, 1, 1), TRUNCATE, write(1, 2, 2)])
def test_it_comes_to_the_same(changes: list[Row]) -> None:
    assert merged(merge(changes)) == one_by_one(changes)


@given(st.lists(IN_PART | OTHERS, max_size=8))
@example([write(0, 1, 1), write(0, 2, 2, ["a"])])
@example([write(0, 1, 1, ["a"]), write(0, 2, 2, ["b"])])
@example([write(2, 1, 1, ["a"], was=0), write(0, 5, 5, ["b"])])
@example([delete(0), write(0, 1, 1, ["a"])])
@example([TRUNCATE, write(0, 1, 1, ["a"])])
@example([write(1, 1, 1, ["b"], was=0), write(0, 1, 1, ["a"], was=1)])
def test_it_comes_to_the_same_where_changes_leave_columns_as_they_are(changes: list[Row]) -> None:
    assert merged(merge(changes)) == one_by_one(changes)


def test_of_a_row_that_goes_there_is_the_key_alone() -> None:
    made = merge([write(0, 1, 1), delete(0)])
    assert made.rows.to_pylist() == [{"id": 0, "a": None, "b": None}]
    assert made.gone == [True]
    assert made.rows.schema.field("a").type == pa.int64()


@pytest.mark.parametrize("changes", [[], [TRUNCATE]])
def test_there_may_be_no_rows(changes: list[Row]) -> None:
    made = merge(changes)
    assert (made.rows.num_rows, made.truncates) == (0, bool(changes))
