"""Changes of rows in every form in which sources tell them: fields in any order, too many of them, or the key alone."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from rocketconnect_sdk.schema import STRING, Schema, Type, struct

Row = dict[str, Any]
KEY, COLUMNS = "id", ("v", "id", "c")
"""The key is not the first column, and its values are some of another one's: a row that is read by places is the wrong one."""
_NUMBER, _TEXT = Schema(Type.INT64, optional=True), Schema(Type.STRING, optional=True)
_TYPES = {"v": _NUMBER, "id": _NUMBER, "c": _TEXT, "more": _TEXT}
_EITHER = st.booleans()
_IDS = st.integers(0, 3)
_TEXTS = st.sampled_from(["a", "b", ""])
_ROWS: st.SearchStrategy[Row] = st.fixed_dictionaries({"v": _IDS, "id": _IDS, "c": _TEXTS})


@dataclass(frozen=True)
class Story:
    """Batches of change envelopes, and what a table has when all are made.

    Attributes:
        batches: Of envelopes.
        schemas: By batch; its rows before a change have other fields than those after it.
        after: By key its row.
    """

    batches: Sequence[Sequence[Row]]
    schemas: Sequence[Schema]
    after: dict[int, Row]

    @property
    def texts(self) -> list[list[str]]:
        """The same as JSON without a schema."""
        return [[json.dumps(each) for each in batch] for batch in self.batches]


@st.composite
def stories(draw: st.DrawFn, *, more: bool = True) -> Story:
    """Of some batches, of an empty table.

    Args:
        draw: Of Hypothesis.
        more: Rows after a change may have a field that is no column.
    """
    table: dict[int, Row] = {}
    batches = [_batch(draw, table, more=more) for _ in range(draw(st.integers(1, 3)))]
    return Story([batch for batch, _ in batches], [schema for _, schema in batches], table)


def _batch(draw: st.DrawFn, table: dict[int, Row], *, more: bool) -> tuple[list[Row], Schema]:
    others = draw(st.lists(st.sampled_from(["v", "c", "more"]), unique=True))
    before = draw(st.permutations([KEY, *others]))
    after = draw(st.permutations([*COLUMNS, *(["more"] if more and draw(_EITHER) else [])]))
    told = [_change(draw, table, before, after) for _ in range(draw(st.integers(1, 4)))]
    rows = [struct([(name, _TYPES[name]) for name in names], optional=True) for names in (before, after)]
    return told, struct([("op", STRING), ("before", rows[0]), ("after", rows[1])], name="change", optional=True)


def _change(draw: st.DrawFn, table: dict[int, Row], before: Sequence[str], after: Sequence[str]) -> Row:
    def told(row: Row, names: Sequence[str]) -> Row:
        return {name: row.get(name, "x") for name in names}

    there = bool(table) and draw(_EITHER)
    old = table.pop(draw(st.sampled_from(sorted(table)))) if there else None
    if old is not None and draw(_EITHER):
        return {"op": "d", "before": told(old, before), "after": None}
    row = draw(_ROWS)
    table[row[KEY]] = row
    # An update need not tell the row before it, unless it changes the key.
    is_told = old is not None and (old[KEY] != row[KEY] or draw(_EITHER))
    return {
        "op": "c" if old is None else "u",
        "before": told(old, before) if is_told and old is not None else None,
        "after": told(row, after),
    }
