"""Whoever is late, whatever is lost: each row is there once."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from connectors.clickhouse import client
from connectors.clickhouse.inserts import Inserts
from rocketconnect_sdk.conformance.runs import QUEUE, row
from rocketconnect_sdk.errors import ConnectorError, PermanentError, SystemAway
from rocketconnect_sdk.http import Answer
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.clickhouse.run import Run, opened
from tests.servers.clickhouse import ClickHouse

OTHER = "orders/broker-a/1"


@pytest.fixture
def options(clickhouse: ClickHouse) -> dict[str, str]:
    return clickhouse.options() | {"table": "rows", "table.create": "true", "request.timeout": "20s"}


def rows(server: ClickHouse) -> list[dict[str, object]]:
    found = server.run("SELECT queue, offset, text FROM rows ORDER BY queue, offset")
    return [dict(zip(("queue", "offset", "text"), each, strict=True)) for each in found]


def expected(until: int, queue: int = 0) -> list[dict[str, object]]:
    return [row(queue, offset) for offset in range(until)]


class Lost(BaseException):
    """The process is gone."""


@contextmanager
def losing(monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException, *, before: bool = False) -> Iterator[None]:
    """The error comes in the place of the answer to the number-th INSERT, or before it."""
    real, seen = client.send, 0

    def send(made: Any, parameters: Any, body: bytes, headers: Any) -> Answer:
        nonlocal seen
        seen += "INSERT" in parameters.get("query", "")
        if seen != number:
            return real(made, parameters, body, headers)
        if not before:
            real(made, parameters, body, headers)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(client, "send", send)
        yield


@pytest.mark.parametrize("until", [15, 30])
def test_rows_without_their_position_are_left_out_by_the_next_owner(
    clickhouse: ClickHouse, options: dict[str, str], monkeypatch: pytest.MonkeyPatch, until: int
) -> None:
    dying = opened(options).start()
    dying.write(10)
    with losing(monkeypatch, 1, Lost()), pytest.raises(Lost):
        dying.write(20)
    assert rows(clickhouse) == expected(20)
    newer = opened(options, epoch=2).start()
    assert newer.positions == {QUEUE: QueuePosition(10)}
    for end in (until, until + 10):
        newer.write(end)
    assert rows(clickhouse) == expected(until + 10)


def test_an_answer_that_is_lost_doubles_nothing(
    clickhouse: ClickHouse, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = opened(options).start()
    for number, (loss, before) in enumerate(((1, False), (2, False), (1, True), (2, True)), 1):
        receipt, commit = run.stage(run.batch(10 * number)), run.commit_of(10 * number)
        with losing(monkeypatch, loss, SystemAway("no answer"), before=before), pytest.raises(SystemAway):
            run.task.commit([receipt], commit)
        run.task.commit([receipt], commit)
        run.positions |= commit.after
        assert rows(clickhouse) == expected(10 * number)


def test_a_part_of_a_batch_that_is_there_is_completed(clickhouse: ClickHouse, options: dict[str, str]) -> None:
    """Of an INSERT into several partitions some may be there, and no server undoes them."""
    run = opened(options | {"table.partition.by": "offset % 3"}).start()
    run.write(10)
    columns = "queue, offset, text, _rc_queue, _rc_offset, _rc_row"
    done = "SELECT queue, toInt64(offset + 10), text, _rc_queue, toUInt64(_rc_offset + 10), _rc_row FROM rows WHERE offset % 3 = 1"
    clickhouse.run(f"INSERT INTO rows ({columns}) {done}")
    newer = opened(options, epoch=2).start()
    newer.write(20)
    found = clickhouse.run("SELECT offset FROM rows ORDER BY offset")
    assert [offset for (offset,) in found] == list(range(20))


def test_an_insert_that_is_under_way_is_waited_for(old_clickhouse: ClickHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was sent before the claim, and ends behind it: it must be seen by whoever has claimed."""
    server = old_clickhouse.with_database("under_way")
    options = server.options() | {"table": "rows", "table.create": "true"}
    late = opened(options).start()
    late.write(10)
    real = client.Client.insert

    def slow(self: client.Client, head: str, tail: str, *rest: Any) -> None:
        real(self, head, f"{tail} AND sleepEachRow(0.1) = 0" if "rows" in head else tail, *rest)

    told: list[BaseException] = []

    def write() -> None:
        try:
            late.write(20)
        except PermanentError as error:
            told.append(error)

    with monkeypatch.context() as patch:
        patch.setattr(client.Client, "insert", slow)
        thread = threading.Thread(target=write)
        thread.start()
        while not server.run("SELECT query_id FROM system.processes WHERE query LIKE 'INSERT INTO %sleepEachRow%'"):
            time.sleep(0.01)
        newer = opened(options, epoch=2).start()
        assert rows(server) == expected(20)
        thread.join()
    assert len(told) == 1
    assert newer.positions == {QUEUE: QueuePosition(10)}
    newer.write(15)
    newer.write(30)
    assert rows(server) == expected(30)


def test_an_insert_that_does_not_end_makes_the_next_owner_wait(old_clickhouse: ClickHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    server = old_clickhouse.with_database("endless")
    options = server.options() | {"table": "rows", "table.create": "true"}
    opened(options).start()
    monkeypatch.setattr("connectors.clickhouse.positions._WAIT_SECONDS", 0.2)
    newer = opened(options, epoch=2)
    loader = newer.task._loader
    assert isinstance(loader, Inserts)
    query_id = loader._store.query_id().replace("-0-2-", "-0-1-")
    asked = {"query_id": query_id, "query": "SELECT sum(sleepEachRow(0.5)) FROM numbers(6) SETTINGS max_block_size = 1"}
    thread = threading.Thread(target=lambda: httpx.post(server.url, params=asked, timeout=60))
    thread.start()
    while not server.run(f"SELECT 1 FROM system.processes WHERE query_id = '{query_id}'"):
        time.sleep(0.01)
    with pytest.raises(SystemAway, match="an INSERT of an earlier run of this task has not ended yet"):
        newer.start()
    thread.join()
    newer.start().write(10)
    assert rows(server) == expected(10)


def test_rows_of_one_message_are_told_apart(
    clickhouse: ClickHouse, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = opened(options).start()
    batch = run.batch(6)
    packed = replace(batch, offsets=[0, 0, 0, 1, 1, 1], rows=[0, 1, 2, 0, 1, 2])
    with losing(monkeypatch, 1, Lost()), pytest.raises(Lost):
        run.write(2, batch=packed.take(range(2)))
    opened(options, epoch=2).start().write(2, batch=packed)
    assert rows(clickhouse) == expected(6)


@pytest.mark.slow
def test_killed_at_any_time_it_goes_on_with_every_row(old_clickhouse: ClickHouse) -> None:
    """A process that writes batch after batch is killed with SIGKILL again and again."""
    server = old_clickhouse.with_database("killed")
    options = server.options() | {"table": "rows", "table.create": "true", "table.partition.by": "offset % 4"}
    opened(options).start().write(20)
    chance, epoch, deadline = random.Random(5), 1, time.monotonic() + 400
    while epoch < 12 or server.run("SELECT count() FROM rows")[0][0] < 150:
        assert time.monotonic() < deadline
        epoch += 1
        child = os.fork()
        if child == 0:
            _write_until_killed(options, epoch)
        time.sleep(chance.uniform(0.05, 0.3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    last = opened(options, epoch=epoch + 1).start()
    last.write(last.positions[QUEUE].until + 50)
    until = last.positions[QUEUE].until
    found = server.run("SELECT count(), uniqExact(offset), min(offset), max(offset) FROM rows")[0]
    assert found == [until, until, 0, until - 1]


def _write_until_killed(options: dict[str, str], epoch: int) -> None:
    try:
        run = opened(options, epoch=epoch).start()
        chance = random.Random(epoch)
        while True:
            run.write(run.positions[QUEUE].until + chance.randrange(1, 30))
    finally:
        os._exit(1)


def test_a_server_that_is_killed_is_waited_for_and_has_every_row_once() -> None:
    with ClickHouse().running() as server:
        options = server.options() | {"table": "rows", "table.create": "true", "request.timeout": "5s"}
        run = opened(options).start()
        run.write(10)
        stop = threading.Event()
        thread = threading.Thread(target=_write_on, args=(run, stop, SystemAway))
        thread.start()
        for _ in range(3):
            time.sleep(0.3)
            server.kill()
            server.start()
        stop.set()
        thread.join()
        run.start()
        until = run.positions[QUEUE].until
        run.write(until + 10)
        found = server.run("SELECT count(), uniqExact(offset), max(offset) FROM rows")[0]
        assert found == [until + 10, until + 10, until + 9]


def _write_on(run: Run, stop: threading.Event, away: type[ConnectorError]) -> None:
    """As the runtime does: a batch that failed is written again."""
    while not stop.is_set():
        until = run.positions[QUEUE].until + 10
        commit = run.commit_of(until)
        _again(lambda: run.task.commit([run.stage(run.batch(until))], commit), away)  # noqa: B023 - called at once
        run.positions |= commit.after


def _again(work: Callable[[], None], away: type[ConnectorError]) -> None:
    deadline = time.monotonic() + 300
    while True:
        try:
            work()
        except away:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return


def test_without_places_rows_may_be_there_twice_and_none_is_lost(
    clickhouse: ClickHouse, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = options | {"delivery": "at_least_once"}
    dying = opened(plain).start()
    dying.write(10)
    assert [name for name, *_ in clickhouse.run("DESCRIBE TABLE rows")] == ["queue", "offset", "text"]
    with losing(monkeypatch, 1, Lost()), pytest.raises(Lost):
        dying.write(20)
    opened(plain, epoch=2).start().write(30)
    found: Sequence[dict[str, object]] = rows(clickhouse)
    assert len(found) == 40
    assert [each for index, each in enumerate(found) if each not in found[:index]] == expected(30)


def test_a_table_that_replaces_rows_has_the_newest_record_of_each_key_whoever_dies(
    clickhouse: ClickHouse, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that come again come in their order, and the last of them stays."""
    replacing = {"delivery": "at_least_once", "table.engine": "ReplacingMergeTree", "table.order.by": "id"}
    schema = struct([("id", Schema(Type.INT32)), ("name", Schema(Type.STRING))])

    def write(run: Run, until: int) -> None:
        begin = run.positions.get(QUEUE, QueuePosition(0)).until
        values = [{"id": offset % 7, "name": str(offset)} for offset in range(begin, until)]
        run.write(until, batch=SinkBatch(QUEUE, "orders", values, range(begin, until), schema=schema))

    dying = opened(options | replacing).start()
    write(dying, 10)
    with losing(monkeypatch, 1, Lost()), pytest.raises(Lost):
        write(dying, 40)
    newer = opened(options | replacing, epoch=2).start()
    for until in (15, 40):
        write(newer, until)
    found = clickhouse.run("SELECT id, name FROM rows FINAL ORDER BY id")
    assert found == sorted([offset % 7, str(offset)] for offset in range(33, 40))


def test_batches_of_equal_rows_are_all_there_in_a_table_that_finds_doubles(new_clickhouse: ClickHouse, database: str) -> None:
    server = new_clickhouse.with_database(database)
    settings = {"delivery": "at_least_once", "table.settings": "non_replicated_deduplication_window = 100"}
    run = opened(server.options() | {"table": "rows", "table.create": "true", **settings}).start()
    for _ in range(3):
        run.write_values([{"id": 1}, {"id": 2}], struct([("id", Schema(Type.INT32))]))
    assert server.run("SELECT count() FROM rows") == [[6]]
