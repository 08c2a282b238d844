"""Debezium's engine and postgres_cdc_source run on one PostgreSQL server: the messages of both, of the snapshot and of the log.

What differs is in docs/debezium.md. Debezium has its defaults.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from connectors.postgres_cdc_source import PostgresCdcSource
from rocketconnect_sdk.context import TaskContext
from tests.connectors.postgres_cdc_source import capturing
from tests.fidelity import documented, messages, theirs
from tests.fidelity.change import Change, differences
from tests.fidelity.messages import Both, of_table
from tests.fidelity.postgres_changes import SURPRISES, TYPED, WORKLOAD
from tests.fidelity.test_postgres import DATABASE, Reading
from tests.fidelity.workload import END, EVOLVING, LARGE
from tests.servers import debezium
from tests.servers.debezium import Event
from tests.servers.postgres import Postgres

SOURCE = ("connector", "db", "schema", "txId", "lsn", "ts_ms")
AGREED = ("typed", "keyed", "keyless", "keyless_full", "large", "default_identity", END)
"""The tables on whose messages both agree."""
THEIRS_ROUNDED = "92233720368547760.00"
"""What their snapshot says of money of 92233720368547758.07; their log has it right."""
MONTH = {"months": 1, "days": 0, "microseconds": 0}
DAYS = {"months": 0, "days": 30, "microseconds": 37_800_000_000}


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    """The workload, read by both."""
    server = Postgres(fsync="off", wal_level="logical")
    with server.running(DATABASE):
        database = Reading(server.port)
        database.run(*WORKLOAD.tables)
        more = {"table_include": r"public\..*", "tombstones": "true"}
        given = capturing.parsed(capturing.config_of(database.address, "ours", **more))
        source = PostgresCdcSource()
        with database.theirs() as engine:
            task = source.open(given, source.plan(given, 1, {}).tasks[0], TaskContext(connector_uid="fidelity", columns=True))
            try:
                reading = messages.Reading(task)
                reading.until(lambda run: run.positions.get("log", (0, 0))[1] == 1)
                engine.until(debezium.ends_snapshot)
                database.run(*WORKLOAD.changes)
                events = engine.until(lambda event: event["destination"].endswith(END))
                reading.until(lambda run: run.came(END))
            finally:
                task.close()
        yield Both(messages.changes_of(events), messages.messages(reading.batches))


@pytest.mark.slow
@pytest.mark.parametrize("table", AGREED)
def test_messages_of_a_table_agree_field_by_field(both: Both, table: str) -> None:
    # They say nothing of a TRUNCATE by default.
    of_ours = [event for event in of_table(both.ours.events, table) if not event["value"] or event["value"]["payload"]["op"] != "t"]
    of_theirs = of_table(both.theirs, table)
    assert list(messages.in_order(of_ours, table)) == list(messages.in_order(of_theirs, table))
    found = list(theirs.changes(of_ours, SOURCE))
    assert differences(map(_agreed, theirs.changes(of_theirs, SOURCE)), map(_agreed, found)) == []
    assert found


def test_there_are_snapshots_all_operations_and_tombstones_among_what_agrees(both: Both) -> None:
    found = [each for table in AGREED for each in messages.in_order(both.ours.events, table)]
    assert {op for _, op in found} == {*"rcudt", None}
    assert len(found) > 4 * LARGE
    assert not [table for table, _ in both.ours.bad if table in AGREED]


def test_envelopes_sources_and_names_of_rows_have_what_the_documents_say(both: Both) -> None:
    assert both.fields() == ({"ts_us", "ts_ns"}, {"unchanged"})
    assert both.fields("source") == ({"version", "sequence", "ts_us", "ts_ns", "xmin", "origin", "origin_lsn"}, set())
    assert both.fields("transaction") == (set(), set())
    assert messages.row_names(both.theirs, "typed") == messages.row_names(both.ours.events, "typed")


def test_columns_have_the_types_that_the_documents_say(both: Both) -> None:
    of_theirs, of_ours = both.forms("typed")
    assert list(of_theirs) == list(of_ours)
    differing = {TYPED[name][0]: (of_theirs[name], of_ours[name]) for name in TYPED if of_theirs[name] != of_ours[name]}
    assert not documented.missing_lines("### Types of PostgreSQL's columns", differing)


def test_their_snapshot_rounds_money_and_ours_does_not(both: Both) -> None:
    right = "92233720368547758.07"
    shown = [[_shown(value) for value in _values(events, "typed", "money_")] for events in (both.theirs, both.ours.events)]
    assert set(shown[0]) == {"-1234.56", THEIRS_ROUNDED, right, None}
    assert set(shown[1]) == {"-1234.56", right, None}


@pytest.mark.parametrize(
    ("column", "of_theirs", "why"),
    [
        ("nan", [None, None], "after.a is 'NaN'"),
        ("double_nan", ["NaN", "Infinity", "-Infinity"] * 2, "no double"),
        ("endless_date", ["-622191234", "-625821272", "-2147472692", "-2147472691"], "infinity'"),
        ("endless_timestamp", ["9223372036825200000", "-9223372036832400000"] * 2, "infinity'"),
        ("endless_timestamptz", ["infinity", "-infinity"] * 2, "infinity'"),
        ("before_christ", ["0044-03-15", "-735160"], "after.a is '0044-03-15 BC'"),
        ("midnight", ["1 day, 0:00:00"] * 2, "after.a is '24:00:00'"),
    ],
)
def test_what_has_no_value_here_goes_by_the_error_policy(both: Both, column: str, of_theirs: list[object], why: str) -> None:
    assert [_shown(value) for value in _values(both.theirs, column)] == of_theirs
    bad = [said for table, said in both.ours.bad if table == column]
    assert len(bad) == len(of_theirs)
    assert all(why in said for said in bad)
    assert not of_table(both.ours.events, column)


@pytest.mark.parametrize(
    ("column", "of_theirs", "of_ours"),
    [
        ("interval_", ["2629800000000"] * 4, [MONTH, DAYS] * 2),
        ("timetz_", ["10:34:56.789012Z"] * 2, ["12:34:56.789012+02"] * 2),
        ("free_numeric", ["1.5"] * 2, ["1.50"] * 2),
        ("name_", ["a_name", None], ["a_name"] * 2),
        ("bits", ["5", "1"] * 2, ["101", "001"] * 2),
        ("varbits", ["5"] * 2, ["0101"] * 2),
        ("hstore_", ['{"a":"1","b":null}'] * 2, [{"a": "1", "b": None}] * 2),
        ("oid_", ["4294967295"] * 2, ["4294967295"] * 2),
    ],
)
def test_what_they_say_of_a_value_and_what_we_do(both: Both, column: str, of_theirs: list[object], of_ours: list[object]) -> None:
    assert column in SURPRISES
    assert [_shown(value) for value in _values(both.theirs, column)] == of_theirs
    assert [value if isinstance(value, dict) else _shown(value) for value in _values(both.ours.events, column)] == of_ours


def test_a_large_value_that_did_not_change_is_named_and_never_a_text(both: Both) -> None:
    of_theirs, of_ours = of_table(both.theirs, "toasted"), of_table(both.ours.events, "toasted")
    assert list(messages.in_order(of_theirs, "toasted")) == list(messages.in_order(of_ours, "toasted"))
    rows = [(event["value"]["payload"]["after"], event["value"]["payload"]["unchanged"]) for event in of_ours if event["value"]]
    told = [(after["large"] and len(after["large"]), unchanged) for after, unchanged in rows if after]
    # One that got another key says all of the row that has it.
    assert told == [(32_000, None), (32_000, None), (None, ["large"]), (32_000, None)]
    theirs_told = [value for value in _values(both.theirs, "toasted", "large") if value == "__debezium_unavailable_value"]
    assert len(theirs_told) == 2


def test_they_say_nothing_of_a_truncate_by_default_and_we_do(both: Both) -> None:
    assert [op for events in (both.theirs, both.ours.events) for _, op in messages.in_order(events, "keyed") if op == "t"] == ["t"]


def test_each_row_has_the_columns_that_its_table_had_then(both: Both) -> None:
    assert [change.after for change in theirs.changes(of_table(both.ours.events, "evolving"), ())] == list(EVOLVING)


def _agreed(change: Change) -> Change:
    """What is compared of a change: the rest differs as documented."""
    transaction = change.transaction and (change.transaction[0], 0, 0)
    source = {} if change.op == "r" else change.source
    return change._replace(source=source, transaction=transaction, after=_unrounded(change))


def _unrounded(change: Change) -> Any:
    if change.op == "r" and change.after and str(change.after.get("money_")) in (THEIRS_ROUNDED, "92233720368547758.07"):
        return {**change.after, "money_": None}
    return change.after


def _values(events: Sequence[Event], table: str, column: str = "a") -> list[object]:
    return [change.after[column] for change in theirs.changes(of_table(events, table), ()) if change.after]


def _shown(value: object) -> object:
    return None if value is None else str(value)
