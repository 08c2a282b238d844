"""The store on SQLite and on PostgreSQL."""

import json
from dataclasses import replace

import sqlalchemy as sa

from services.state.core import LOG_LINES
from services.state.model import PLAN, Key, LogLine, State, TargetState
from services.state.sightings import Holding, Sighting
from services.state.store import Changes, ConnectorRow, LogRows, StateStore, TaskRow
from tests.services.state.things import assignment, connector, report


def lines(first: int, count: int) -> list[LogLine]:
    return [LogLine(number, number + 0.25, "INFO", f"line {number} é'", -1, "w1") for number in range(first, first + count)]


def test_what_was_written_is_read_as_it_was_but_not_as_heard_now(engine: sa.Engine) -> None:
    told = assignment(worker="", unowned=State.RESTARTING, reason="so", failures=2)
    said = report(metrics=b"\x00\xff", stall_after=1.5, last_progress=None, since=None, trace="a\n'b'")
    store = StateStore(engine, 0)
    store.write(
        Changes(
            {"u1": ConnectorRow(connector(wanted=TargetState.PAUSED), "w1", 3), "u2": ConnectorRow(None, "", 0)},
            {
                Key("u1", 0): TaskRow(Holding(told, None, restarts=3, failed=True), said),
                Key("u1", PLAN): TaskRow(Holding(assignment(PLAN), None), None),
                Key("u2", 5): TaskRow(None, report(5, "u2")),
            },
            {"u1": LogRows(lines(7, 3), 7)},
        )
    )
    tracks = StateStore(engine, 0).load()
    first = tracks["u1"]
    assert (first.connector, first.planner, first.planned_revision) == (connector(wanted=TargetState.PAUSED), "w1", 3)
    assert first.holdings == {0: Holding(told, None, restarts=3, failed=True), PLAN: Holding(assignment(PLAN), None)}
    assert first.sightings == {0: Sighting(said, None)}
    assert list(first.lines) == lines(7, 3)
    assert first.next_line == 10
    assert tracks["u2"].sightings == {5: Sighting(report(5, "u2"), None)}
    assert tracks["u2"].connector is None


def test_rows_of_before_plugins_were_known_have_none_and_new_ones_can_still_be_read_by_who_wrote_those(engine: sa.Engine) -> None:
    old = {"uid": "u1", "name": "name-u1", "revision": 1, "wanted": "RUNNING", "type": 1}
    row = {"uid": "u1", "connector": json.dumps(old), "planner": "", "planned_revision": 0}
    columns = ", ".join(row)
    with engine.begin() as connection:
        connection.execute(sa.text(f"INSERT INTO state_connectors ({columns}) VALUES (:{columns.replace(', ', ', :')})"), row)
    store = StateStore(engine, 0)
    assert store.load()["u1"].connector == connector()
    known = replace(connector(), plugin="file_lines")
    store.write(Changes({"u1": ConnectorRow(known, "", 0)}, {}, {}))
    assert store.load()["u1"].connector == known
    with engine.begin() as connection:
        assert json.loads(connection.execute(sa.text("SELECT connector FROM state_connectors")).scalar_one()) == old


def test_rows_are_replaced_and_removed(engine: sa.Engine) -> None:
    store = StateStore(engine, 0)
    store.write(
        Changes(
            {"u1": ConnectorRow(connector(), "", 0), "u2": ConnectorRow(connector("u2"), "", 0)},
            {
                Key("u1", 0): TaskRow(Holding(assignment(), None), None),
                Key("u2", 0): TaskRow(Holding(assignment(0, "u2"), None), None),
            },
            {"u1": LogRows(lines(1, 2), 1), "u2": LogRows(lines(1, 2), 1)},
        )
    )
    store.write(
        Changes(
            {"u1": None, "u2": ConnectorRow(connector("u2", revision=2), "w", 2)},
            {Key("u1", 0): None, Key("u2", 0): TaskRow(None, report(0, "u2"))},
            {"u1": None, "u2": LogRows(lines(3, 1), 2)},
        )
    )
    tracks = store.load()
    assert set(tracks) == {"u2"}
    assert tracks["u2"].connector == connector("u2", revision=2)
    assert (tracks["u2"].holdings, set(tracks["u2"].sightings)) == ({}, {0})
    assert [line.sequence for line in tracks["u2"].lines] == [2, 3]


def test_the_same_write_twice_is_one_write(engine: sa.Engine) -> None:
    store = StateStore(engine, 0)
    changes = Changes(
        {"u1": ConnectorRow(connector(), "", 0)}, {Key("u1", 0): TaskRow(None, report())}, {"u1": LogRows(lines(1, 5), 1)}
    )
    store.write(changes)
    store.write(changes)
    assert list(store.load()["u1"].lines) == lines(1, 5)


def test_only_the_newest_lines_are_kept(engine: sa.Engine) -> None:
    store = StateStore(engine, 0)
    store.write(Changes({}, {}, {"u1": LogRows(lines(1, LOG_LINES), 1)}))
    store.write(Changes({}, {}, {"u1": LogRows(lines(LOG_LINES + 1, 10), 11)}))
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) from state_logs")).scalar_one() == LOG_LINES


def test_texts_with_null_characters_are_kept_as_they_are(engine: sa.Engine) -> None:
    said = report(trace="a\x00b")
    store = StateStore(engine, 0)
    store.write(Changes({}, {Key("u1", 0): TaskRow(Holding(assignment(config={"a\x00": "\x00"}), None), said)}, {}))
    track = store.load()["u1"]
    assert (track.sightings[0].report, track.holdings[0].assignment.config) == (said, {"a\x00": "\x00"})
