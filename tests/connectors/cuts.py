"""Records that name some columns of a table, and what the table has when they are made one after the other."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Row = dict[str, Any]
COLUMNS = ("id", "v", "c", "x")
DEFAULTS: Mapping[str, Any] = {"v": 7, "c": None, "x": "x"}
_EITHER = st.booleans()
_IDS = st.integers(0, 2)
_PARTS = st.fixed_dictionaries(
    {}, optional={"v": st.integers(0, 3), "c": st.sampled_from(["a", "b", None]), "x": st.sampled_from(["y", "z"])}
)


@dataclass(frozen=True)
class History:
    """Records in their order, in batches of any size.

    Attributes:
        batches: By batch its records; None: one without a value.
    """

    batches: Sequence[Sequence[Row | None]]

    @property
    def texts(self) -> list[list[str | None]]:
        """As JSON without a schema."""
        return [[None if each is None else json.dumps(each) for each in batch] for batch in self.batches]

    @property
    def whole(self) -> "History":
        """All in one batch."""
        return History([[each for batch in self.batches for each in batch]])

    def __iter__(self) -> Iterator[Row]:
        """The records that have a value."""
        return (each for batch in self.batches for each in batch if each is not None)


@st.composite
def histories(draw: st.DrawFn, *, changes: bool = True, truncates: bool = False) -> History:
    """Of an empty table with these defaults.

    Args:
        draw: Of Hypothesis.
        changes: There are change envelopes beside rows, and records without a value, as sources send them behind deletions.
        truncates: There are truncations.
    """
    there: set[int] = set()
    ends = draw(st.lists(_EITHER, min_size=7, max_size=7))
    made = [_record(draw, there, changes=changes, truncates=truncates) for _ in range(draw(st.integers(1, 7)))]
    batches: list[list[Row | None]] = [[]]
    for record, ends_one in zip(made, ends, strict=False):
        if batches[-1] and ends_one:
            batches.append([])
        batches[-1].append(record)
    return History(batches)


def _record(draw: st.DrawFn, there: set[int], *, changes: bool, truncates: bool) -> Row | None:
    row: Row = {"id": draw(_IDS), **draw(_PARTS)}
    of_changes = ["after", "nothing", *(["d", "moved"] if there else [])] if changes else []
    kinds: list[str] = ["row", *of_changes, *(["t"] if truncates else [])]
    kind = draw(st.sampled_from(kinds))
    if kind == "nothing":
        return None
    if kind == "t":
        there.clear()
        return {"op": "t", "before": None, "after": None}
    if kind in ("d", "moved"):
        old = draw(st.sampled_from(sorted(there)))
        there.discard(old)
        if kind == "d":
            return deletion(old)
        row["id"] = draw(st.sampled_from([each for each in range(4) if each not in there]))
        there.add(row["id"])
        return written(row, was=old)
    there.add(row["id"])
    return row if kind == "row" else written(row)


def deletion(key: int) -> Row:
    """The envelope of it."""
    return {"op": "d", "before": {"id": key}, "after": None}


def written(row: Row, was: int | None = None) -> Row:
    """The envelope of a row that is written; `was`: the key that it had."""
    return {"op": "c" if was is None else "u", "before": None if was is None else {"id": was}, "after": row}


def table(records: History, defaults: Mapping[str, Any] = DEFAULTS, *, keeps: bool = True) -> dict[int, Row]:
    """By key its row: what a record does not name keeps its value, and is the default in a row that was not there.

    Args:
        records: One after the other.
        defaults: Of the columns.
        keeps: A row that is there keeps what the record does not name.
    """
    rows: dict[int, Row] = {}
    for record in records:
        change: Row = record if "op" in record else written(record)
        before, after = change["before"], change["after"]
        if change["op"] == "t":
            rows.clear()
        # A row that gets another key takes along what it has, unless all of it is told.
        old = rows.pop(before["id"], None) if before else None
        if after is not None:
            kept = (old if before else rows.get(after["id"])) if keeps else None
            rows[after["id"]] = {**defaults, **(kept or {}), **after}
    return rows
