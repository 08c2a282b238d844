"""Debezium's engine and mysql_cdc_source run on one MariaDB server: the messages of both, of the snapshot and of the log.

What differs is in docs/debezium.md.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from connectors.mysql_cdc_source import MysqlCdcSource
from rocketconnect_sdk.context import TaskContext
from tests.connectors.mysql_cdc_source import capturing
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.fidelity import documented, messages, theirs
from tests.fidelity.change import Change, differences
from tests.fidelity.mariadb_changes import SURPRISES, TYPED, WORKLOAD
from tests.fidelity.messages import Both, of_table
from tests.fidelity.workload import END, LARGE
from tests.servers import debezium
from tests.servers.debezium import Event
from tests.servers.mariadb import PASSWORD, Mariadb

# Of what Debezium says of two databases, as events and as messages, the messages of PostgreSQL are among the fast tests.
pytestmark = pytest.mark.slow

SOURCE = ("connector", "db", "file", "pos", "row", "gtid", "server_id", "ts_ms")
AGREED = ("typed", "keyed", "keyless", "evolving", "large", END)
"""The tables on whose messages both agree."""
GEOMETRIES = ("point_", "line_", "geometry_")


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    """The workload, read by both."""
    with Mariadb().running() as server, Database(server) as database:
        database.run(*WORKLOAD.tables)
        settings = debezium.mariadb(server.port, PASSWORD, rf"{database.name}\..*", skipped_operations="none")
        given = capturing.parsed(capturing.options(database, tombstones="true"))
        with debezium.running(settings) as engine:
            task = MysqlCdcSource().open(given, {}, TaskContext(columns=True))
            try:
                reading = messages.Reading(task)
                reading.until(lambda run: run.positions.get("log", (0, 0, 0, 0))[3] == 1)
                engine.until(debezium.ends_snapshot)
                database.run(*WORKLOAD.changes)
                events = engine.until(lambda event: event["destination"].endswith(END))
                reading.until(lambda run: run.came(END))
            finally:
                task.close()
        yield Both(messages.changes_of(events), messages.messages(reading.batches))


@pytest.mark.parametrize("table", AGREED)
def test_messages_of_a_table_agree_field_by_field(both: Both, table: str) -> None:
    of_ours, of_theirs = of_table(both.ours.events, table), of_table(both.theirs, table)
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
    assert both.fields("source") == ({"version", "sequence", "ts_us", "ts_ns", "thread", "query"}, set())
    assert both.fields("transaction") == (set(), set())
    assert messages.row_names(both.theirs, "typed") == messages.row_names(both.ours.events, "typed")


def test_columns_have_the_types_that_the_documents_say(both: Both) -> None:
    of_theirs, of_ours = both.forms("typed")
    assert list(of_theirs) == list(of_ours)
    differing = {TYPED[name][0]: (of_theirs[name], of_ours[name]) for name in TYPED if of_theirs[name] != of_ours[name]}
    assert not documented.missing_lines("### Types of MariaDB's columns", differing)


@pytest.mark.parametrize(
    ("column", "snapshot", "log", "ours"),
    [
        ("u_largest", -1, -1, (1 << 64) - 1),
        ("uuid_0", "00112233-4455-6677-8899-aabbccddee00", "00001122-3344-5566-7788-99aabbccddee", None),
        ("zero_timestamp", None, "1970-01-01 00:00:00+00:00", "after.a is '0000-00-00 00:00:00'"),
        ("zero_date", None, None, "after.a is '0000-00-00'"),
        ("zero_datetime", None, None, "after.a is '0000-00-00 00:00:00'"),
        ("no_day", None, None, "after.a is '2024-00-10'"),
        ("long_time", "-35 days, 1:00:01", "-35 days, 1:00:01", "after.a is '-838:59:59'"),
        ("short_time", "-1 day, 23:59:59.999999", "-1 day, 23:59:59.999999", "after.a is '-00:00:00.000001'"),
    ],
)
def test_what_they_say_of_a_value_and_what_we_do(both: Both, column: str, snapshot: object, log: object, ours: object) -> None:
    assert column in SURPRISES
    assert [_shown(value) for value in _values(both.theirs, column)] == [snapshot, log]
    bad = [why for table, why in both.ours.bad if table == column]
    of_ours = [_shown(value) for value in _values(both.ours.events, column)]
    if isinstance(ours, str):
        # Goes by the error policy.
        assert not of_ours
        assert len(bad) == 2
        assert all(ours in why for why in bad)
    else:
        assert of_ours == [ours or snapshot] * 2
        assert not bad


def test_their_largest_unsigned_key_is_minus_one_and_ours_is_right(both: Both) -> None:
    (of_theirs,), (of_ours,) = (theirs.changes(of_table(e, "unsigned_key"), ()) for e in (both.theirs, both.ours.events))
    assert (of_theirs.key, of_ours.key) == ({"id": -1}, {"id": (1 << 64) - 1})


def test_their_year_zero_is_1900_and_ours_is_zero(both: Both) -> None:
    (of_theirs,), (of_ours,) = (theirs.changes(of_table(e, "zero_year"), ()) for e in (both.theirs, both.ours.events))
    assert (of_theirs.after, of_ours.after) == ({"id": 1, "year": 1900}, {"id": 1, "year": 0})


def _agreed(change: Change) -> Change:
    """What is compared of a change: the rest differs as documented."""
    source = {} if change.op == "r" else {**change.source, **({"row": 0} if change.op == "t" else {})}
    transaction = change.transaction and (change.transaction[0], 0, 0)
    return change._replace(
        source=source, transaction=transaction, before=_without_srid(change.before), after=_without_srid(change.after)
    )


def _without_srid(row: Any) -> Any:
    return row and {name: v[1] if name in GEOMETRIES and isinstance(v, tuple) else v for name, v in row.items()}


def _values(events: list[Event] | Any, table: str) -> list[object]:
    return [change.after and change.after["a"] for change in theirs.changes(of_table(events, table), ())]


def _shown(value: object) -> object:
    return value if value is None or isinstance(value, int) else int(value) if _is_whole(value) else str(value)  # type: ignore[call-overload]


def _is_whole(value: object) -> bool:
    return type(value).__name__ == "Decimal"
