"""What comes of statements: rows before and after, tables, transactions."""

import time
from itertools import pairwise

import pytest

from connectors.postgres_cdc_source.logical.wire import events as ev
from connectors.postgres_cdc_source.logical.wire.values import Missing
from tests.connectors.postgres_cdc_source.conftest import Changes

pytestmark = pytest.mark.postgres

BIG = "SELECT string_agg(md5(n::text), '') FROM generate_series(1, 500) n"
"""16,000 characters that do not shrink, so they are stored apart."""


def changes_in(events: list[ev.Event]) -> list[ev.Event]:
    return [event for event in events if isinstance(event, ev.Insert | ev.Update | ev.Delete | ev.Truncate)]


def test_a_large_value_that_did_not_change_is_said_to_be_unchanged(changes: Changes) -> None:
    events = changes.of([
        "CREATE TABLE toasted (id integer PRIMARY KEY, big text, small integer)",
        f"INSERT INTO toasted VALUES (1, ({BIG}), 1), (2, NULL, 1)",
        "UPDATE toasted SET small = 2",
        "UPDATE toasted SET big = 'x' WHERE id = 1",
        "DROP TABLE toasted",
    ])  # fmt: skip
    inserted, other, kept, null, changed = changes_in(events)
    assert isinstance(inserted, ev.Insert)
    assert isinstance(other, ev.Insert)
    assert isinstance(kept, ev.Update)
    assert isinstance(null, ev.Update)
    assert isinstance(changed, ev.Update)
    assert len(inserted.new[1]) == 16_000
    assert kept.new == (1, Missing.UNCHANGED, 2)
    assert null.new == (2, None, 2)
    assert changed.new == (1, "x", 2)


def test_with_replica_identity_full_nothing_is_unknown(changes: Changes) -> None:
    events = changes.of([
        "CREATE TABLE toasted (id integer, big text, small integer)",
        "ALTER TABLE toasted REPLICA IDENTITY FULL",
        f"INSERT INTO toasted VALUES (1, ({BIG}), NULL)",
        "UPDATE toasted SET small = 2",
        "DELETE FROM toasted",
        "DROP TABLE toasted",
    ])  # fmt: skip
    inserted, updated, deleted = changes_in(events)
    assert isinstance(inserted, ev.Insert)
    assert isinstance(updated, ev.Update)
    assert isinstance(deleted, ev.Delete)
    big = inserted.new[1]
    assert updated.relation.identity == "f"
    assert updated.old == (1, big, None)
    assert updated.new == (1, big, 2)
    assert deleted.old == (1, big, 2)


def test_by_default_an_old_row_is_its_key_and_only_when_that_changes(changes: Changes) -> None:
    events = changes.of([
        "CREATE TABLE keyed (a integer, id integer PRIMARY KEY)",
        "INSERT INTO keyed VALUES (10, 1)",
        "UPDATE keyed SET a = 11",
        "UPDATE keyed SET id = 2",
        "DELETE FROM keyed",
        "DROP TABLE keyed",
    ])  # fmt: skip
    _, plain, moved, deleted = changes_in(events)
    assert isinstance(plain, ev.Update)
    assert isinstance(moved, ev.Update)
    assert isinstance(deleted, ev.Delete)
    assert (plain.old, plain.new) == (None, (11, 1))
    assert (moved.old, moved.new) == ((Missing.ABSENT, 1), (11, 2))
    assert deleted.old == (Missing.ABSENT, 2)


def test_an_index_can_be_the_key(changes: Changes) -> None:
    events = changes.of([
        "CREATE TABLE indexed (id integer PRIMARY KEY, code text NOT NULL UNIQUE)",
        "ALTER TABLE indexed REPLICA IDENTITY USING INDEX indexed_code_key",
        "INSERT INTO indexed VALUES (1, 'a')",
        "DELETE FROM indexed",
        "DROP TABLE indexed",
    ])  # fmt: skip
    _, deleted = changes_in(events)
    assert isinstance(deleted, ev.Delete)
    assert deleted.relation.identity == "i"
    assert deleted.relation.key == (1,)
    assert deleted.old == (Missing.ABSENT, "a")


def test_without_a_replica_identity_there_are_inserts_alone(changes: Changes) -> None:
    changes.connection.execute("CREATE TABLE nothing (id integer PRIMARY KEY)")
    changes.connection.execute("ALTER TABLE nothing REPLICA IDENTITY NOTHING")
    (inserted,) = changes_in(changes.of(["INSERT INTO nothing VALUES (1)"]))
    assert isinstance(inserted, ev.Insert)
    assert (inserted.relation.identity, inserted.relation.key) == ("n", ())
    changes.connection.execute("DROP TABLE nothing")


def test_a_truncation_is_one_event_for_its_tables(changes: Changes) -> None:
    events = changes.of([
        "CREATE TABLE parents (id serial PRIMARY KEY)",
        "CREATE TABLE children (id integer PRIMARY KEY REFERENCES parents)",
        "INSERT INTO parents VALUES (1)",
        "TRUNCATE parents RESTART IDENTITY CASCADE",
        "DROP TABLE parents, children",
    ])  # fmt: skip
    _, truncated = changes_in(events)
    assert isinstance(truncated, ev.Truncate)
    assert {each.name for each in truncated.relations} == {"parents", "children"}
    assert truncated.restart_identity


def test_columns_are_those_of_their_place_in_the_log(changes: Changes) -> None:
    events = changes.of([
        "CREATE TABLE altered (id integer PRIMARY KEY, a integer)",
        "INSERT INTO altered VALUES (1, 1)",
        "ALTER TABLE altered ADD COLUMN b boolean DEFAULT true",
        "INSERT INTO altered VALUES (2, 2)",
        "ALTER TABLE altered DROP COLUMN a, ALTER COLUMN b TYPE text, ADD g integer GENERATED ALWAYS AS (id * 2) STORED",
        "INSERT INTO altered VALUES (3, 'c')",
        "DROP TABLE altered",
    ])  # fmt: skip
    inserts = [event for event in events if isinstance(event, ev.Insert)]
    assert [event.new for event in inserts] == [(1, 1), (2, 2, True), (3, "c")]
    assert [column.name for column in inserts[-1].relation.columns] == ["id", "b"]


def test_a_transaction_is_whole_and_in_the_order_of_commits(changes: Changes) -> None:
    changes.connection.execute("CREATE TABLE ordered (id integer PRIMARY KEY)")
    before = time.time()
    from connectors.postgres_cdc_source.logical.connection import connect

    with connect(changes.address) as other:
        other.execute("BEGIN")
        other.execute("INSERT INTO ordered VALUES (1)")
        row = other.execute("SELECT txid_current()").fetchone()
        assert row is not None
        changes.connection.execute("INSERT INTO ordered VALUES (2)")
        other.execute("SAVEPOINT here")
        other.execute("INSERT INTO ordered VALUES (3)")
        other.execute("ROLLBACK TO here")
        other.execute("INSERT INTO ordered VALUES (4)")
        other.execute("COMMIT")
    events = [event for event in changes.of([]) if not isinstance(event, ev.Relation)]
    begins = [event for event in events if isinstance(event, ev.Begin)][-2:]
    commits = [event for event in events if isinstance(event, ev.Commit)][-2:]
    assert [event.new[0] for event in events if isinstance(event, ev.Insert)] == [2, 1, 4]
    assert [type(event) for event in events[-7:]] == [ev.Begin, ev.Insert, ev.Commit, ev.Begin, ev.Insert, ev.Insert, ev.Commit]
    assert begins[1].xid == row[0] & 0xFFFFFFFF
    for begin, commit in zip(begins, commits, strict=True):
        assert (begin.commit_lsn, begin.time_us) == (commit.commit_lsn, commit.time_us)
        assert commit.commit_lsn < commit.end_lsn == commit.lsn
        assert before - 5 < begin.time_us / 1e6 < time.time() + 5
    assert all(one.commit_lsn < other.commit_lsn for one, other in pairwise(commits))
    changes.connection.execute("DROP TABLE ordered")


def test_messages_of_applications_are_events(changes: Changes) -> None:
    events = changes.of(["SELECT pg_logical_emit_message(false, 'app', 'now'), pg_logical_emit_message(true, 'app', 'later')"])
    found = [(event.transactional, event.prefix, event.content) for event in events if isinstance(event, ev.Message)]
    assert found == [(False, "app", b"now"), (True, "app", b"later")]


def test_a_large_transaction_is_streamed_while_in_progress_when_asked_for(changes: Changes) -> None:
    changes.connection.execute("CREATE TABLE streamed (id integer PRIMARY KEY, filler text)")
    changes.open(streaming=True)
    rows = 200_000
    events = changes.of([f"INSERT INTO streamed SELECT n, repeat('x', 400) FROM generate_series(1, {rows}) n"])
    starts = [event for event in events if isinstance(event, ev.StreamStart)]
    (commit,) = (event for event in events if isinstance(event, ev.StreamCommit))
    inserts = [event for event in events if isinstance(event, ev.Insert)]
    assert len(starts) > 1
    assert [event.new[0] for event in inserts] == list(range(1, rows + 1))
    assert {event.xid for event in inserts} == {event.xid for event in starts} == {commit.xid}
    changes.connection.execute("DROP TABLE streamed")


def test_changes_of_partitions_are_those_of_their_table(changes: Changes) -> None:
    events = changes.of([
        "CREATE TABLE parted (id integer PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE first_part PARTITION OF parted FOR VALUES FROM (1) TO (10)",
        "INSERT INTO parted VALUES (1)",
        "DROP TABLE parted",
    ])  # fmt: skip
    (inserted,) = changes_in(events)
    assert isinstance(inserted, ev.Insert)
    assert inserted.relation.name == "parted"
