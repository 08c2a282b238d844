"""Rows of many tables that come in turns: a poll gives batches of several source partitions, which are on their way together."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from services.executor.contract.task import Kind, State
from tests.services.executor.runtime.conftest import TOPIC_TYPES, Tasks, rows
from tests.services.executor.runtime.plugins.interleaved import Interleaved

TABLES = 20
ROWS = 2_000


def config(**more: str) -> dict[str, str]:
    """Row by row, in batches of one row each, of which a poll gives 1,000."""
    given = {"tables": str(TABLES), "rows": str(ROWS), "together": "1", "polled": "1000"}
    return {"connector.class": "interleaved", **given, **more}


def by_table(bodies: list[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for body in bodies:
        _, table, _, row, _ = body.split()
        found[table].append(int(row))
    return found


WHOLE = {str(table): list(range(ROWS // TABLES)) for table in range(TABLES)}


class TestInterleaved(SourceSuite):
    """What every source must do holds also where a poll gives several batches."""

    subject = SourceCase(Interleaved(), {"tables": "3", "rows": "60", "together": "2", "polled": "16"})


@pytest.mark.rocketmq
@TOPIC_TYPES
def test_rows_of_many_tables_in_turns_are_as_many_batches_as_there_are_tables_at_each_poll(tasks: Tasks) -> None:
    """Not as many as there are rows: what a batch costs is paid for each of them. So one table costs as much as twenty."""
    tasks.create_topic(4)
    running = tasks.start(Kind.SOURCE, config())
    running.reporter.wait_for_out(ROWS)
    assert running.stop().clean
    assert running.reporter.metrics.records_in == ROWS
    assert running.reporter.metrics.batches == ROWS // 1_000 * TABLES
    messages = tasks.messages()
    assert {table: sorted(found) for table, found in by_table([body for _, body, _ in messages]).items()} == WHOLE
    for queue in range(4):
        for found in by_table([body for number, body, _ in messages if number == queue]).values():
            assert found == sorted(found), "rows of a table that go to one queue keep their order"


@pytest.mark.rocketmq
def test_each_table_may_have_a_topic_of_its_own(tasks: Tasks) -> None:
    topic = f"own-{tasks.unique}-"
    running = tasks.start(Kind.SOURCE, config(topics=topic))
    running.reporter.wait_for_out(ROWS)
    assert running.stop().clean
    assert running.reporter.metrics.batches == ROWS // 1_000 * TABLES
    for table in range(TABLES):
        found = by_table(tasks.bodies(f"{topic}{table}"))
        assert {name: sorted(numbers) for name, numbers in found.items()} == {str(table): WHOLE[str(table)]}


@pytest.mark.rocketmq
@TOPIC_TYPES
def test_a_new_owner_skips_what_was_sent_and_not_committed_of_batches_that_were_read_together(tasks: Tasks) -> None:
    first = tasks.start(Kind.SOURCE, config(polled="300"))
    first.reporter.wait_for_out(ROWS // 2)
    first.control.fence()
    assert first.end().fenced
    second = tasks.start(Kind.SOURCE, config(polled="700"), epoch=2)
    second.reporter.wait_for_state(State.IDLE)
    assert second.stop().clean
    assert {table: sorted(found) for table, found in by_table(tasks.bodies()).items()} == WHOLE


@pytest.mark.rocketmq
def test_a_direct_task_copies_them_once(tasks: Tasks, tmp_path: Path) -> None:
    source = {f"source.{key}": value for key, value in config().items()}
    given = {"connector.class": "direct", **source, "sink.connector.class": "table", "sink.file": str(tmp_path / "out.db")}
    running = tasks.start(Kind.DIRECT, given)
    running.reporter.wait_for_out(ROWS // 2)
    running.stop()
    again = tasks.start(Kind.DIRECT, given, epoch=2)
    again.reporter.wait_for(lambda: len(rows(tmp_path / "out.db")) == ROWS)
    assert again.stop().clean
    bodies = rows(tmp_path / "out.db")
    assert by_table(bodies) == WHOLE
    assert Counter(Counter(bodies).values()) == {1: ROWS}
