"""Which rows are asked for again, and how."""

import json

from rocketconnect_cli.tables.repair import SnapshotRequest, conditions, deletions
from rocketconnect_sdk.changes.snapshots.incremental import LONGEST_CONDITION


def row(table: str, condition: str) -> dict[str, str]:
    return {"table": table, "condition": condition}


def test_rows_of_a_table_are_asked_for_with_few_conditions_none_of_which_is_too_long() -> None:
    rows = [row("a", f"id = ({number})") for number in range(100)] + [row("b", "id = (1)")]
    made, left = conditions(rows)
    assert not left
    assert all(len(each.condition) <= LONGEST_CONDITION for each in made)
    assert [each.table for each in made] == ["a"] * (len(made) - 1) + ["b"]
    assert " OR ".join(each.condition for each in made) == " OR ".join(f"({each['condition']})" for each in rows)
    assert len(made) < 10


def test_what_has_no_condition_or_too_long_a_one_is_left() -> None:
    rows = [row("a", ""), row("a", "id = (1)"), row("a", "x" * LONGEST_CONDITION)]
    assert conditions(rows) == ([SnapshotRequest("a", "(id = (1))")], [rows[0], rows[2]])


def test_rows_that_only_the_sink_has_are_asked_for_by_their_keys_as_few_times_as_there_can_be() -> None:
    rows = [{**row("a", "id = (1)"), "key": json.dumps([number, "ä"])} for number in range(100)]
    rows.append({**row("b", "id = (1)"), "key": "[7]"})
    made, left = deletions(rows)
    assert not left
    assert all(len(each.keys.encode()) <= LONGEST_CONDITION and not each.condition for each in made)
    assert [key for each in made[:-1] for key in json.loads(each.keys)] == [[number, "ä"] for number in range(100)]
    assert made[-1] == SnapshotRequest("b", keys="[[7]]")
    assert len(made) < 10


def test_a_key_that_is_too_long_or_of_a_source_that_cannot_is_left() -> None:
    rows = [{**row("a", ""), "key": "[1]"}, {**row("a", "id = (1)"), "key": json.dumps(["x" * LONGEST_CONDITION])}]
    assert deletions(rows) == ([], rows)
