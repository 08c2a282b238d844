"""What columns become: the table of docs/types.md, line by line."""

import re
from pathlib import Path

import pytest

from rocketconnect_sdk.errors import ConfigError, PermanentError, RecordError
from rocketconnect_sdk.evolution import POLICY, Kind, Policy, Takes, as_table, nullable, policy_problems, settle
from rocketconnect_sdk.evolution.numbers import has_all, joined
from rocketconnect_sdk.evolution.tables import differences, told_changes, told_old_rows
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import STRING, Field, Schema, Type, Unit, decimal, struct, timestamp

INT8, INT32, INT64, UINT32, UINT64, FLOAT32, FLOAT64 = (
    Schema(Type(name)) for name in ("int8", "int32", "int64", "uint32", "uint64", "float32", "float64")
)
ALL = Takes(columns=True, nulls=True, type=lambda *_: True)
NOTHING = Takes(columns=False, nulls=False, type=lambda *_: False)


def table(**columns: Schema) -> Schema:
    return struct(list(columns.items()))


@pytest.mark.parametrize(
    ("old", "new", "made"),
    [
        (INT32, INT64, INT64),
        (INT64, INT32, INT64),
        (INT32, UINT32, INT64),
        (INT64, UINT64, decimal(0, precision=20)),
        (INT32, decimal(2, precision=5), decimal(2, precision=12)),
        (decimal(2, precision=10), decimal(4, precision=8), decimal(4, precision=12)),
        (decimal(2, precision=38), decimal(4, precision=38), None),
        (FLOAT32, FLOAT64, FLOAT64),
        (INT32, FLOAT32, FLOAT64),
        (INT64, FLOAT64, None),
        (decimal(2, precision=5), FLOAT64, None),
        (STRING, Schema(Type.UUID), STRING),
        (Schema(Type.JSON), STRING, STRING),
        (Schema(Type.UUID), Schema(Type.JSON), None),
        (STRING, INT32, None),
        (Schema(Type.DATE), timestamp(), None),
        (timestamp(Unit.MILLISECONDS), timestamp(Unit.NANOSECONDS), timestamp(Unit.NANOSECONDS)),
        (timestamp(zone=True), timestamp(zone=False), None),
        (Schema(Type.TIME, unit=Unit.MICROSECONDS), Schema(Type.TIME, unit=Unit.MILLISECONDS), Schema(Type.TIME)),
    ],
)
def test_two_types_have_the_smallest_type_with_all_values_of_both(old: Schema, new: Schema, made: Schema | None) -> None:
    assert joined(old, new) == made
    if made is not None:
        assert has_all(made, old)
        assert has_all(made, new)


def test_what_a_wider_column_is_called_stays() -> None:
    old = Schema(Type.INT32, optional=True, name="n", version=2, doc="d", default=7)
    assert joined(old, INT64) == Schema(Type.INT64, optional=True, name="n", version=2, doc="d")
    assert joined(old, INT8) == old
    assert joined(old, UINT32) == Schema(Type.INT64, optional=True, name="n", version=2, doc="d")


SAME = table(a=INT32)


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SAME, SAME),
        (table(a=INT32, b=nullable(INT32)), SAME),
        (table(a=INT32, b=Schema(Type.INT32, default=7)), SAME),
        (table(b=INT32, a=INT32), table(a=INT32, b=INT32)),
        (table(a=INT64), SAME),
        (table(a=nullable(INT32)), SAME),
        (SAME, Schema(Type.STRUCT, name="other", version=9, fields=(Field("a", Schema(Type.INT32, doc="said")),))),
    ],
    ids=["same", "missing, may be null", "missing, has a default", "order", "narrower", "never null", "names"],
)
def test_what_the_columns_have_changes_nothing_under_any_policy(policy: Policy, old: Schema, new: Schema) -> None:
    settled = settle(old, new, policy, ALL)
    assert (settled.table, list(settled.changes), list(settled.left_out)) == (old, [], [])


DIFFERENT = [
    (SAME, table(a=INT32, b=INT64), table(a=INT32, b=nullable(INT64)), "b (int64) is no column"),
    (SAME, table(a=nullable(INT32)), table(a=nullable(INT32)), "a may be null, and the column takes no null"),
    (table(a=INT32, b=INT32), SAME, table(a=INT32, b=nullable(INT32)), "b is missing, and the column takes no null"),
    (SAME, table(a=INT64), table(a=INT64), "a is int64, and the column is int32"),
    (table(s=SAME), table(s=table(a=INT32, b=INT8)), table(s=table(a=INT32, b=nullable(INT8))), "s.b (int8) is no column"),
    (
        table(l=Schema(Type.ARRAY, items=INT8)),
        table(l=Schema(Type.ARRAY, items=INT64)),
        table(l=Schema(Type.ARRAY, items=INT64)),
        "l.[] is int64, and the column is int8",
    ),
    (
        table(m=Schema(Type.MAP, keys=STRING, items=SAME)),
        table(m=Schema(Type.MAP, keys=STRING, items=table(a=INT64))),
        table(m=Schema(Type.MAP, keys=STRING, items=table(a=INT64))),
        "m.{}.a is int64, and the column is int32",
    ),
    (SAME, table(a=STRING), SAME, "a is string, and the column is int32"),
    (
        table(m=Schema(Type.MAP, keys=STRING, items=INT8)),
        table(m=Schema(Type.MAP, keys=INT8, items=INT8)),
        table(m=Schema(Type.MAP, keys=STRING, items=INT8)),
        "m is map of int8 to int8, and the column is map of string to int8",
    ),
]
"""Old, new, evolved, and how it is told."""


@pytest.mark.parametrize(("old", "new", "evolved", "told"), DIFFERENT, ids=[told for *_, told in DIFFERENT])
def test_each_policy_does_its_own_about_a_difference(old: Schema, new: Schema, evolved: Schema, told: str) -> None:
    assert settle(old, new, Policy.EVOLVE, ALL).table == evolved
    assert settle(old, new, Policy.IGNORE, ALL).table == old
    assert settle(old, new, Policy.EVOLVE, NOTHING).table == old
    with pytest.raises(PermanentError, match=re.escape(told)):
        settle(old, new, Policy.FAIL, ALL)
    with pytest.raises(RecordError, match=re.escape(told)):
        settle(old, new, Policy.DEAD_LETTER, ALL)
    # Once evolved, nothing is left that can be changed.
    again = settle(evolved, new, Policy.EVOLVE, ALL)
    assert (again.table, list(again.changes)) == (evolved, [])


def test_what_was_changed_and_what_is_left_out_is_known() -> None:
    old, new = table(a=INT32, s=SAME), table(a=INT64, s=table(a=INT32, b=INT8), c=STRING)
    evolved = settle(old, new, Policy.EVOLVE, ALL)
    assert [(change.name, change.kind) for change in evolved.changes] == [("a", Kind.TYPE), ("s.b", Kind.NEW), ("c", Kind.NEW)]
    assert list(evolved.left_out) == []
    for ignored in (settle(old, new, Policy.IGNORE, ALL), settle(old, new, Policy.EVOLVE, NOTHING)):
        assert (list(ignored.changes), list(ignored.left_out)) == ([], ["s.b", "c"])


def test_a_field_that_differs_from_a_column_by_case_becomes_none_and_is_not_left_out() -> None:
    with pytest.raises(RecordError, match="A is no column, and can become none: it differs from a by the case"):
        settle(SAME, table(a=INT32, A=INT32), Policy.EVOLVE, ALL)
    with pytest.raises(RecordError, match=r"s\.X is no column.*differs from x"):
        settle(table(s=SAME), table(s=table(a=INT32, x=INT8, X=INT8)), Policy.EVOLVE, ALL)


def test_of_many_differences_ten_are_told_and_the_others_counted() -> None:
    new = table(**{f"c{number}": INT8 for number in range(13)})
    with pytest.raises(PermanentError, match=r"c9 \(int8\) is no column; and 3 more$"):
        settle(table(), new, Policy.FAIL, ALL)


def test_values_that_are_no_structs_are_a_column() -> None:
    assert as_table(STRING) == table(value=STRING)
    assert as_table(SAME) is SAME
    assert [str(change) for change in differences(as_table(STRING), as_table(INT32))] == [
        "value is int32, and the column is string"
    ]


def test_the_policy_of_dead_letters_needs_a_topic_for_them_and_others_what_they_need() -> None:
    def problems(raw: dict[str, str], allowed: tuple[Policy, ...]) -> list[str]:
        return [
            str(problem) for problem in policy_problems(parse((POLICY,), raw, known_prefixes=("errors.",)), allowed, "so it is")
        ]

    letters = {"schema.evolution": "dead_letter"}
    assert [problem.partition(" needs ")[2].split()[0] for problem in problems(letters, tuple(Policy))] == [
        "errors.tolerance",
        "errors.deadletterqueue.topic.name",
    ]
    there = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dead"}
    assert problems({**letters, **there}, tuple(Policy)) == []
    assert len(problems({**letters, **there, "errors.tolerance": "none"}, tuple(Policy))) == 1
    assert problems({}, ()) == []
    (wrong,) = problems({"schema.evolution": "evolve"}, (Policy.FAIL, Policy.IGNORE))
    assert "is not possible here: so it is" in wrong
    assert "Use one of fail, ignore." in wrong
    (nothing,) = problems({"schema.evolution": "evolve"}, ())
    assert "means nothing here: so it is" in nothing
    with pytest.raises(ConfigError, match="must be one of evolve, ignore, fail, dead_letter"):
        problems({"schema.evolution": "change"}, tuple(Policy))


def test_the_page_has_every_kind_of_difference_and_every_policy() -> None:
    page = Path("docs/types.md").read_text().partition("## When columns change")[2]
    lines = [line for line in page.splitlines() if line.startswith("|")]
    assert [cell.strip(" `") for cell in lines[0].split("|")[2:-1]] == [policy.value for policy in Policy]
    assert len(lines) >= 2 + len(Kind)


@pytest.mark.parametrize("policy", [Policy.EVOLVE, Policy.IGNORE])
def test_records_that_share_no_column_with_the_table_are_of_another_table(policy: Policy) -> None:
    """Neither is the table widened for them, nor are they rows of nothing but nulls."""
    table = struct([("iata", Schema(Type.STRING)), ("name", Schema(Type.STRING))])
    records = struct([("date", Schema(Type.DATE)), ("wind", Schema(Type.FLOAT64))])
    with pytest.raises(RecordError, match="it has date, wind, and none of the columns of this one, which are iata, name"):
        settle(table, records, policy, Takes(columns=True, nulls=True, type=lambda *_: True))
    assert settle(struct([]), records, Policy.EVOLVE, Takes(columns=True, nulls=True, type=lambda *_: True)).table.fields


def test_what_a_table_becomes_is_told_of_the_table() -> None:
    before = table(a=INT32, b=STRING)
    records = table(a=INT64, c=FLOAT64, d=timestamp(Unit.MILLISECONDS, zone=False))
    settled = settle(before, records, Policy.EVOLVE, ALL)
    assert told_changes(settled.changes) == (
        "it gets the columns c (double), d (timestamp_ntz(ms)), null in the rows that are there; its column a was int32, and "
        "becomes int64; its column b takes nulls from now on"
    )


def test_how_old_rows_get_values_of_a_new_column_is_told_and_that_a_rename_leaves_both() -> None:
    before = table(a=INT32, b=STRING)
    added = table(a=INT32, b=STRING, c=FLOAT64)
    told = told_old_rows(settle(before, added, Policy.EVOLVE, ALL).changes, before, added)
    assert told.startswith("rows that are there have null in c, also where the source has values for them, such as a default.")
    assert told.endswith("`rocketconnect connector signal SOURCE execute-snapshot tables=TABLE`")
    renamed = table(a=INT32, c=STRING)
    told = told_old_rows(settle(before, renamed, Policy.EVOLVE, ALL).changes, before, renamed)
    assert ". Records have no b: if one of these is renamed, the table has both columns; drop the old one when" in told
    fewer = table(a=INT64)
    assert told_old_rows(settle(before, fewer, Policy.EVOLVE, ALL).changes, before, fewer) == ""
