"""Debezium's engine and our decoder read the log of one PostgreSQL server while the same changes are made. See test_mariadb.py.

Debezium has its defaults, so that what it leaves out is what it leaves out for whoever has set nothing.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal

import psycopg
import pytest

from connectors.postgres_cdc_source.logical.catalog import Catalog
from connectors.postgres_cdc_source.logical.connection import Address, connect
from connectors.postgres_cdc_source.logical.stream import Stream
from connectors.postgres_cdc_source.logical.wire import events as ev
from connectors.postgres_cdc_source.logical.wire.messages import Decoder
from connectors.postgres_cdc_source.logical.wire.values import Missing
from tests.fidelity import our_postgres, theirs
from tests.fidelity.change import Both, differences, values
from tests.fidelity.postgres_changes import SURPRISES, WORKLOAD
from tests.fidelity.workload import END, EVOLVING, LARGE
from tests.servers import debezium
from tests.servers.debezium import Event
from tests.servers.postgres import Postgres

# Of what Debezium says of two databases, as events and as messages, the messages of PostgreSQL are among the fast tests.
pytestmark = pytest.mark.slow

SURPRISING = ("surprises", "toasted", "evolving", *SURPRISES)
"""Of evolving Debezium may take a later definition for that of a row; of the others, it changes the values."""
DATABASE = "fidelity"
_KEYS = """
SELECT c.relname, array_remove(array_agg(a.attname::text ORDER BY a.attnum), NULL) FROM pg_class c
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace GROUP BY c.relname
"""


class Reading:
    """A server with the workload's tables, and slots of both from now on."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.address = Address("127.0.0.1", port, "postgres", DATABASE)
        self.url = f"postgresql://postgres@127.0.0.1:{port}/{DATABASE}"

    def run(self, *statements: str) -> None:
        """Run statements on one connection."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def slot(self, name: str) -> None:
        """Make a slot and a publication of all tables."""
        self.run(f"CREATE PUBLICATION {name} FOR ALL TABLES", f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")

    def ours(self, slot: str) -> tuple[list[ev.Event], Mapping[str, Sequence[str]]]:
        """What our decoder reads from a slot, up to the end of the workload, and the key columns of each table."""
        found: list[ev.Event] = []
        with connect(self.address) as connection, Stream(self.address, slot, [slot], 0) as stream:
            keys: Mapping[str, Sequence[str]] = dict(connection.execute(_KEYS.encode()).fetchall())
            decoder = Decoder(Catalog(connection).resolve)
            while not any(isinstance(event, ev.Insert) and event.relation.name == END for event in found):
                found += decoder.decode_frames(stream.read(1.0).frames)
        return found, keys

    @contextmanager
    def theirs(self, **settings: str) -> Iterator[debezium.Engine]:
        """Debezium reads all tables of the schema public."""
        with debezium.running(debezium.postgres(self.port, DATABASE, r"public\..*", **settings)) as engine:
            yield engine


@pytest.fixture(scope="module")
def reading() -> Iterator[Reading]:
    """A server of its own."""
    server = Postgres(fsync="off", wal_level="logical")
    with server.running(DATABASE):
        reading = Reading(server.port)
        reading.run(*WORKLOAD.tables)
        yield reading


Logs = tuple[list[Event], list[ev.Event], Mapping[str, Sequence[str]]]


@pytest.fixture(scope="module")
def logs(reading: Reading) -> Logs:
    """What Debezium and our decoder read of the workload, and the key columns of each table."""
    reading.slot("ours")
    with reading.theirs() as engine:
        engine.until(debezium.ends_snapshot)
        reading.run(*WORKLOAD.changes)
        events = engine.until(lambda event: event["destination"].endswith(END))
    return events, *reading.ours("ours")


@pytest.fixture(scope="module")
def both(logs: Logs) -> Both:
    """The same in the same words."""
    events, ours, keys = logs
    found = list(theirs.changes(events, our_postgres.SOURCE))
    return Both(
        events, [c for c in found if c.op == "r"], [c for c in found if c.op != "r"], list(our_postgres.changes(ours, keys))
    )


def test_changes_agree_field_by_field(both: Both) -> None:
    of_ours = [change for change in both.ours if change.table not in SURPRISING and change.op != "t"]
    of_theirs = [change for change in both.theirs if change.table not in SURPRISING]
    assert differences(of_theirs, of_ours) == []
    assert len(of_ours) > 3 * LARGE
    assert {change.op for change in of_ours} == set("cud")


def test_they_say_nothing_of_a_truncate_by_default_and_we_do(both: Both) -> None:
    assert [change for change in both.theirs if change.op == "t"] == []
    assert [(change.table, change.key) for change in both.ours if change.op == "t"] == [("keyed", None)]


@pytest.mark.parametrize(
    ("column", "wrong", "right"),
    [
        ("nan", [None, None, None], ["NaN"] * 3),
        ("endless_date", [-2147472692, -2147472691, -2147472692], ["infinity", "-infinity", "infinity"]),
        ("endless_timestamp", [9223372036825200000, -9223372036832400000] * 2, ["infinity", "-infinity", "infinity"]),
        ("before_christ", [-735160] * 3, ["0044-03-15 BC"] * 3),
        ("interval_", [2629800000000, 2629800000000], [(1, 0, 0), (0, 30, 37_800_000_000)]),
        ("name_", [None] * 3, ["a_name"] * 3),
        ("timetz_", ["10:34:56.789012Z"] * 3, ["12:34:56.789012+02"] * 3),
        ("free_numeric", [Decimal("1.5")] * 3, ["1.50"] * 3),
    ],
)
def test_what_they_say_of_a_value_and_what_we_do(both: Both, column: str, wrong: list[object], right: list[object]) -> None:
    assert values(both.theirs, "surprises", column)[: len(right)] == wrong[: len(right)]
    assert [_comparable(value) for value in values(both.ours, "surprises", column)[: len(right)]] == right


@pytest.mark.parametrize(
    ("column", "their_form", "our_form"),
    [
        ("bits", 5, "101"),
        ("varbits", 5, "0101"),
        ("hstore_", '{"a":"1","b":null}', {"a": "1", "b": None}),
        ("midnight", timedelta(days=1), "24:00:00"),
        ("endless_timestamptz", "infinity", "infinity"),
        ("oid_", (1 << 32) - 1, (1 << 32) - 1),
    ],
)
def test_forms_that_differ_and_say_the_same(both: Both, column: str, their_form: object, our_form: object) -> None:
    assert values(both.theirs, "surprises", column)[0] == their_form
    assert values(both.ours, "surprises", column)[0] == our_form


def test_numbers_that_are_none_are_texts_to_them_and_numbers_to_us(both: Both) -> None:
    assert values(both.theirs, "surprises", "double_nan")[:3] == ["NaN", "Infinity", "-Infinity"]
    found = values(both.ours, "surprises", "double_nan")[:3]
    assert isinstance(found[0], float)
    assert math.isnan(found[0])
    assert found[1:] == [math.inf, -math.inf]


def test_an_unchanged_large_value_is_a_text_to_them_and_unchanged_to_us(both: Both) -> None:
    assert values(both.theirs, "toasted", "large")[1:] == ["__debezium_unavailable_value"] * 2
    assert values(both.ours, "toasted", "large")[1:] == [Missing.UNCHANGED] * 2
    assert values(both.ours, "toasted", "large")[0] == values(both.theirs, "toasted", "large")[0]


def test_before_an_update_is_null_to_both_by_the_default_replica_identity(both: Both) -> None:
    updated = [change for change in both.ours if change.table == "default_identity" and change.op == "u"]
    assert [change.before for change in updated] == [None]


def test_each_row_has_the_columns_that_its_table_had_then(both: Both) -> None:
    assert [change.after for change in both.ours if change.table == "evolving"] == list(EVOLVING)


def _comparable(value: object) -> object:
    if isinstance(value, dict):
        return tuple(value.values())
    return str(value) if isinstance(value, Decimal) else value
