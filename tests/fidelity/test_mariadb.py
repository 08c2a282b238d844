"""Debezium's engine and our decoder read the log of one MariaDB server while the same changes are made.

What differs is in docs/debezium.md. A test of what Debezium does wrong fails when a later version does it right: then it goes from
there too.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from uuid import UUID

import pytest

from connectors.mysql_cdc_source.binlog.definitions import completed
from connectors.mysql_cdc_source.binlog.server import Position
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.schema import decimal
from tests.connectors.mysql_cdc_source import capturing
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.fidelity import our_mariadb, theirs
from tests.fidelity.change import Both, Change, differences, values
from tests.fidelity.mariadb_changes import SURPRISES, WORKLOAD
from tests.fidelity.workload import END, LARGE
from tests.servers import debezium
from tests.servers.mariadb import PASSWORD, Mariadb

# Of what Debezium says of two databases, as events and as messages, the messages of PostgreSQL are among the fast tests.
pytestmark = pytest.mark.slow

SURPRISING = ("surprises", "unsigned_key", "zero_year", *SURPRISES)
"""The tables whose values Debezium changes."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Mariadb]:
    """Where nobody else has tables: Debezium stumbles over types that it does not know in those that it leaves out, too."""
    with Mariadb().running() as server:
        yield server


@pytest.fixture(scope="module")
def both(mariadb: Mariadb) -> Iterator[Both]:
    """The workload, read by both."""
    with Database(mariadb) as database:
        database.run(*WORKLOAD.tables)
        settings = debezium.mariadb(mariadb.port, PASSWORD, rf"{database.name}\..*", skipped_operations="none")
        with debezium.running(settings) as engine:
            engine.until(debezium.ends_snapshot)
            start = database.end()
            database.run(*WORKLOAD.changes)
            events = engine.until(lambda event: event["destination"].endswith(END))
        ours = _ours(database, start)
        found = list(theirs.changes(events, our_mariadb.SOURCE))
        snapshot = [change for change in found if change.op == "r"]
        yield Both(events, snapshot, [change for change in found if change.op != "r"], ours)


def test_changes_agree_field_by_field(both: Both) -> None:
    of_ours = [change for change in both.ours if change.table not in SURPRISING]
    of_theirs = [_first_row(change) for change in both.theirs if change.table not in SURPRISING]
    assert differences(of_theirs, of_ours) == []
    assert len(of_ours) > 3 * LARGE
    assert {change.op for change in of_ours} == set("cudt")


def test_their_largest_unsigned_number_is_minus_one_in_the_key_too_and_ours_is_right(both: Both) -> None:
    assert values(both.theirs, "surprises", "u_largest") == [-1, None]
    assert values(both.ours, "surprises", "u_largest") == [(1 << 64) - 1, None]
    assert _one(both.theirs, "unsigned_key").key == {"id": -1}
    assert _one(both.ours, "unsigned_key").key == {"id": (1 << 64) - 1}


def test_their_uuids_that_end_in_zero_are_rotated_in_the_log_alone_and_ours_are_right(both: Both) -> None:
    right = UUID("00112233-4455-6677-8899-aabbccddee00")
    assert values(both.snapshot, "surprises", "uuid_0") == [right, None]
    assert values(both.theirs, "surprises", "uuid_0") == [UUID("00001122-3344-5566-7788-99aabbccddee"), None]
    assert values(both.ours, "surprises", "uuid_0") == [right, None]


def test_their_zero_timestamp_is_null_in_a_snapshot_and_1970_in_the_log_and_ours_is_a_zero_timestamp(both: Both) -> None:
    assert values(both.snapshot, "surprises", "zero_timestamp") == [None, None]
    assert values(both.theirs, "surprises", "zero_timestamp") == [EPOCH, None]
    assert values(both.ours, "surprises", "zero_timestamp") == ["0000-00-00 00:00:00", None]


@pytest.mark.parametrize(
    ("column", "text"), [("zero_date", "0000-00-00"), ("zero_datetime", "0000-00-00 00:00:00"), ("no_day", "2024-00-10")]
)
def test_their_days_of_no_calendar_are_null_and_ours_are_what_the_server_shows(both: Both, column: str, text: str) -> None:
    assert values(both.theirs, "surprises", column) == [None, None]
    assert values(both.ours, "surprises", column) == [text, None]


@pytest.mark.parametrize(
    ("column", "told"),
    [("long_time", -timedelta(hours=838, minutes=59, seconds=59)), ("short_time", -timedelta(microseconds=1))],
)
def test_a_time_that_is_none_of_a_day_is_the_same_in_both_logs(both: Both, column: str, told: timedelta) -> None:
    assert values(both.theirs, column, "a") == [told]
    assert values(both.ours, column, "a") == [told]


def test_their_year_zero_is_1900_and_ours_is_zero(both: Both) -> None:
    assert values(both.theirs, "zero_year", "year") == [1900]
    assert values(both.ours, "zero_year", "year") == [0]


def test_their_decimals_are_bytes_without_a_scale_and_ours_can_be_numbers(both: Both) -> None:
    event = next(event for event in both.events if event["destination"].endswith(".typed"))
    assert event["value"]["payload"]["after"]["decimal_"] == "/av0HAE="
    plain = converter("json", {"schemas.enable": "false", "decimal.format": "numeric"}, is_key=False)
    assert plain.encode(Decimal("-99999999.99"), decimal(2)) == b"-99999999.99"


def test_their_datetimes_are_microseconds_as_if_in_utc_and_ours_are_without_a_zone(both: Both) -> None:
    event = next(event for event in both.events if event["destination"].endswith(".typed"))
    wall = datetime(2024, 2, 29, 23, 59, 59, 123456)  # noqa: DTZ001 - it has none
    assert event["value"]["payload"]["after"]["datetime_6"] == (wall.replace(tzinfo=UTC) - EPOCH).total_seconds() * 1e6
    assert values(both.ours, "typed", "datetime_6")[0] == wall


def test_each_of_their_deletes_is_followed_by_a_tombstone(both: Both) -> None:
    of_large = [event for event in both.events if event["destination"].endswith(".large")]
    tombstones = [event for event in of_large if event["value"] is None]
    assert len(tombstones) == LARGE
    assert sum(change.table == "large" and change.op == "d" for change in both.ours) == LARGE


@pytest.mark.parametrize(("kind", "value"), [("INET6", "::1"), ("INET4", "127.0.0.1")])
def test_a_type_of_another_table_that_they_do_not_know_fails_them_and_is_read_by_us(
    mariadb: Mariadb, kind: str, value: str
) -> None:
    with Database(mariadb) as database:
        database.run("CREATE TABLE wanted (id INT PRIMARY KEY)", "INSERT INTO wanted VALUES (1)")
        start = database.end()
        database.run(f"CREATE TABLE other (id INT PRIMARY KEY, a {kind})", f"INSERT INTO other VALUES (1, '{value}')")
        with debezium.running(debezium.mariadb(mariadb.port, PASSWORD, rf"{database.name}\.wanted")) as engine:
            assert "NoViableAltException" in engine.wait()
        assert values(_ours(database, start), "other", "a") == [value]
        with capturing.running(capturing.options(database, table_include=rf"{database.name}\.wanted")) as run:
            run.until_records(1)
            database.run(f"INSERT INTO other VALUES (2, '{value}')", "ALTER TABLE other ADD b INT", "INSERT INTO wanted VALUES (2)")
            run.until_records(2)
            assert [each["after"] for each in run.values] == [{"id": 1}, {"id": 2}]


def test_a_year_zero_fails_their_snapshot(mariadb: Mariadb) -> None:
    with Database(mariadb) as database:
        database.run("CREATE TABLE years (id INT PRIMARY KEY, a YEAR)", "INSERT INTO years VALUES (1, 0)")
        with debezium.running(debezium.mariadb(mariadb.port, PASSWORD, rf"{database.name}\..*")) as engine:
            assert "Snapshot was not completed successfully" in engine.wait()


def _ours(database: Database, start: Position) -> list[Change]:
    with database.server.connect() as asked:
        return list(our_mariadb.changes(database.entries(start, complete=partial(completed, asked)), database.name))


def _first_row(change: Change) -> Change:
    # Theirs of a TRUNCATE has the number of a row of what came before it.
    return change._replace(source={**change.source, "row": 0}) if change.op == "t" else change


def _one(changes: Sequence[Change], table: str) -> Change:
    (found,) = (change for change in changes if change.table == table)
    return found
