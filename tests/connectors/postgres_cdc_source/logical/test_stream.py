"""The stream of a slot: places, confirmations, ends of the connection, memory."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from connectors.postgres_cdc_source.logical.connection import Address, connect
from connectors.postgres_cdc_source.logical.lsn import parse_lsn
from connectors.postgres_cdc_source.logical.slots import inspect_slot
from connectors.postgres_cdc_source.logical.stream import Stream, StreamClosed
from connectors.postgres_cdc_source.logical.types import TEXT, builtin
from connectors.postgres_cdc_source.logical.wire import events as ev
from connectors.postgres_cdc_source.logical.wire.messages import Decoder
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from tests.connectors.postgres_cdc_source.capturing import wait_until_free
from tests.connectors.postgres_cdc_source.conftest import SECONDS, Changes, Connection, address_of
from tests.servers.postgres import Postgres

pytestmark = pytest.mark.postgres


def table(changes: Changes, name: str) -> None:
    changes.connection.execute(f"DROP TABLE IF EXISTS {name}".encode())
    changes.connection.execute(f"CREATE TABLE {name} (id integer PRIMARY KEY, filler text)".encode())


def insert(changes: Changes, name: str, first: int, last: int) -> None:
    for number in range(first, last + 1):
        changes.connection.execute(f"INSERT INTO {name} VALUES ({number})".encode())


def read_commits(changes: Changes, wanted: int) -> list[tuple[int, int]]:
    """The number of each inserted row, with the end of its transaction."""
    found: list[tuple[int, int]] = []

    def is_last(event: ev.Event) -> bool:
        return isinstance(event, ev.Insert) and event.new[0] == wanted

    events = changes.until(is_last)
    while not isinstance(events[-1], ev.Commit):
        assert changes.stream is not None
        events += changes.decoder.decode_frames(changes.stream.read(1.0).frames)
    number = 0
    for event in events:
        if isinstance(event, ev.Insert):
            number = event.new[0]
        elif isinstance(event, ev.Commit) and number:
            found.append((number, event.end_lsn))
    return found


def confirmed(changes: Changes) -> int:
    slot = inspect_slot(changes.connection, changes.name)
    assert slot is not None
    return slot.confirmed_lsn


def said(changes: Changes) -> int:
    """What the stream says to be confirmed."""
    statement = "SELECT flush_lsn::text FROM pg_stat_replication WHERE application_name = 'rocketconnect'"
    row = changes.connection.execute(statement).fetchone()
    assert row is not None
    return parse_lsn(row[0])


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_reading_goes_on_exactly_behind_any_transaction(changes: Changes) -> None:
    table(changes, "places")
    insert(changes, "places", 1, 20)
    places = read_commits(changes, 20)
    assert [number for number, _ in places] == list(range(1, 21))
    for number, end in (places[3], places[10], places[18]):
        changes.open(end)
        assert [later for later, _ in read_commits(changes, 20)] == list(range(number + 1, 21))


def test_the_slot_moves_only_when_it_is_told_to(changes: Changes) -> None:
    table(changes, "told")
    insert(changes, "told", 1, 3)
    before = confirmed(changes)
    stream = changes.stream = Stream(changes.address, changes.name, [changes.name], 0, status_seconds=0.05)
    changes.decoder = Decoder(lambda oid, modifier: builtin(oid, modifier, 2) or TEXT)
    places = read_commits(changes, 3)
    time.sleep(0.5)
    assert confirmed(changes) == before
    stream.confirm(places[0][1])
    eventually(lambda: confirmed(changes) == places[0][1])
    # Never back; some servers would let us.
    stream.confirm(before)
    time.sleep(0.3)
    assert said(changes) == confirmed(changes) == places[0][1]
    changes.open()
    assert [number for number, _ in read_commits(changes, 3)] == [2, 3]


def test_what_was_not_read_cannot_be_confirmed(changes: Changes) -> None:
    with pytest.raises(ValueError, match="lies behind what was read"):
        changes.open().confirm(1 << 50)


def test_where_nothing_comes_the_log_that_was_read_can_be_confirmed(changes: Changes) -> None:
    stream = changes.open()
    changes.connection.execute("CREATE TEMPORARY TABLE not_published AS SELECT generate_series(1, 1000)")
    row = changes.connection.execute("SELECT pg_current_wal_lsn() - '0/0'").fetchone()
    assert row is not None
    wanted = int(row[0])
    deadline = time.monotonic() + SECONDS
    while stream.read(0.2).reached < wanted:
        assert time.monotonic() < deadline
    stream.confirm(wanted)
    eventually(lambda: confirmed(changes) >= wanted)


def test_a_slow_reader_keeps_its_connection(changes: Changes, connection: Connection) -> None:
    table(changes, "slow")
    connection.execute("CREATE ROLE impatient SUPERUSER LOGIN")
    connection.execute("ALTER ROLE impatient SET wal_sender_timeout = '1s'")
    changes.address = replace(changes.address, user="impatient")
    try:
        changes.open()
        # More than the buffers of both ends hold, so that the server waits for us.
        statement = "INSERT INTO slow SELECT n, repeat('x', 1000) FROM generate_series(1, 30000) n"
        connection.execute(statement.encode())
        time.sleep(3)
        assert [number for number, _ in read_commits(changes, 30_000)] == [30_000]
    finally:
        changes.close()
        connection.execute("DROP ROLE impatient")


@pytest.mark.parametrize("answers", [True, False])
def test_a_reader_is_woken_when_the_stream_is_closed(changes: Changes, answers: bool) -> None:
    stream = changes.open()
    stream.read(0.1)
    slot = inspect_slot(changes.connection, changes.name)
    assert slot is not None
    ended: list[object] = []

    def read() -> None:
        try:
            while True:
                stream.read(SECONDS)
        except Exception as error:
            ended.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.2)
    if not answers:
        os.kill(slot.active_pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        stream.close()
        reader.join(SECONDS)
        assert time.monotonic() - began < SECONDS / 2
    finally:
        with suppress(ProcessLookupError):
            os.kill(slot.active_pid, signal.SIGCONT)
    assert isinstance(ended[0], StreamClosed)
    stream.close()
    stream.confirm(0)
    with pytest.raises(StreamClosed):
        stream.read(0)


def test_closing_leaves_no_thread_and_no_descriptor(changes: Changes) -> None:
    changes.open()
    changes.close()
    threads, files = threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        changes.open()
        changes.close()
        with pytest.raises(PermanentError):
            Stream(changes.address, "nowhere", [changes.name], 0)
    assert threading.active_count() == threads
    assert len(list(Path("/proc/self/fd").iterdir())) == files


def test_a_slot_has_one_reader_and_the_error_names_the_other(changes: Changes) -> None:
    changes.open()
    slot = inspect_slot(changes.connection, changes.name)
    assert slot is not None
    with pytest.raises(RetriableError, match=f"active for PID {slot.active_pid}"):
        Stream(changes.address, changes.name, [changes.name], 0)


def test_a_slot_or_a_publication_that_is_not_there_is_permanent(changes: Changes) -> None:
    with pytest.raises(PermanentError, match='"nowhere" does not exist'):
        Stream(changes.address, "nowhere", [changes.name], 0)
    table(changes, "unpublished")
    with Stream(changes.address, changes.name, ["nowhere"], 0) as stream:
        insert(changes, "unpublished", 1, 1)
        with pytest.raises(PermanentError, match='publication "nowhere" does not exist'):
            while True:
                stream.read(SECONDS)
    wait_until_free(changes.connection, changes.name)


def test_a_batch_is_no_larger_than_asked(changes: Changes) -> None:
    table(changes, "sized")
    changes.connection.execute("INSERT INTO sized SELECT n, repeat('x', 1000) FROM generate_series(1, 1000) n")
    for limits, most in (({"most_messages": 7}, 7), ({"most_bytes": 10_000}, 20)):
        stream = changes.open()
        found = 0
        while found < 1000:
            batch = stream.read(SECONDS, **limits)
            assert len(batch.frames) <= most
            found += sum(frame[25:26] == b"I" for frame in batch.frames)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.slow
def test_a_transaction_of_a_million_rows_is_read_in_bounded_memory(changes: Changes) -> None:
    rows = 1_000_000
    table(changes, "million")
    changes.connection.execute(f"INSERT INTO million SELECT n, repeat('x', 100) FROM generate_series(1, {rows}) n".encode())
    stream = changes.open()
    seen = total = 0
    before = most = resident()
    ended = False
    while not ended:
        for event in changes.decoder.decode_frames(stream.read(SECONDS).frames):
            if isinstance(event, ev.Insert):
                seen += 1
                total += event.new[0]
            ended = isinstance(event, ev.Commit) and seen > 0
        most = max(most, resident())
    assert (seen, total) == (rows, rows * (rows + 1) // 2)
    assert most - before < 64 << 20
    changes.connection.execute("DROP TABLE million")


@contextmanager
def started(server: Postgres) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(server.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
    try:
        eventually(server.is_ready)
        yield process
    finally:
        process.kill()
        process.wait(SECONDS)


@pytest.mark.parametrize(("stop", "rest"), [(signal.SIGINT, [9]), (signal.SIGKILL, [6, 7, 8, 9])])
def test_after_a_restart_of_the_server_reading_goes_on_without_a_gap(stop: signal.Signals, rest: list[int]) -> None:
    server = Postgres(wal_level="logical")
    address = address_of(server.url())
    try:
        with started(server) as process:
            changes = Changes(address, connect(address), "restarted")
            table(changes, "kept")
            insert(changes, "kept", 1, 5)
            place = read_commits(changes, 5)[-1][1]
            stream = changes.stream
            assert stream is not None
            stream.confirm(place)
            insert(changes, "kept", 6, 8)
            changes.connection.close()
            process.send_signal(stop)
            with pytest.raises(SystemAway):
                while True:
                    reached = stream.read(SECONDS).reached
                    # A server that stops in good order waits until all is confirmed.
                    if stop is signal.SIGINT:
                        place = max(place, reached)
                        stream.confirm(reached)
            stream.close()
            process.wait(SECONDS)
            with pytest.raises(SystemAway, match="does not answer"):
                Stream(address, "restarted", ["restarted"], 0)
        # What a killed server leaves behind holds its memory for a moment.
        time.sleep(0.5)
        with started(server):
            changes.stream = None
            changes.connection = connect(address)
            insert(changes, "kept", 9, 9)
            changes.open(place)
            assert [number for number, _ in read_commits(changes, 9)] == rest
            changes.close()
            changes.connection.close()
    finally:
        server.remove()


def test_a_server_that_cannot_be_reached_is_away() -> None:
    nowhere = Address("127.0.0.1", 1, "postgres", "test", "secret-word")
    for open_it in (lambda: connect(nowhere), lambda: Stream(nowhere, "s", ["p"], 0)):
        with pytest.raises(SystemAway, match="does not answer") as caught:
            open_it()
        assert "secret-word" not in str(caught.value)


def test_a_parameter_that_libpq_does_not_know_is_permanent() -> None:
    wrong = Address("127.0.0.1", 1, "postgres", "test", "secret-word", {"sslmod": "require"})
    for open_it in (lambda: connect(wrong), lambda: Stream(wrong, "s", ["p"], 0)):
        with pytest.raises(PermanentError, match="sslmod") as caught:
            open_it()
        assert "secret-word" not in str(caught.value)


def test_options_of_the_user_do_not_change_the_texts_of_values(changes: Changes) -> None:
    options = {"options": "-c datestyle=German -c timezone=Asia/Tokyo -c intervalstyle=sql_standard"}
    changes.address = replace(changes.address, options=options)
    changes.connection.execute("CREATE TABLE moments (id integer PRIMARY KEY, at timestamptz)")
    changes.connection.execute("INSERT INTO moments VALUES (1, '2024-02-29 12:00:00+00')")
    (inserted,) = (event for event in changes.of([]) if isinstance(event, ev.Insert))
    assert inserted.new == (1, datetime(2024, 2, 29, 12, tzinfo=UTC))
    changes.connection.execute("DROP TABLE moments")
