"""Sink tasks against a real broker and a real position service, without Spark."""

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from rocketconnect_kit.clock import boot_seconds
from rocketmq_remoting.model import Message
from services.executor.contract.metrics import SourcePosition
from services.executor.contract.stop_limits import StopLimits
from services.executor.contract.task import Kind, State
from services.executor.runtime.rocketmq.source_marks import Stamper
from services.executor.runtime.sink import dropping
from tests.services.executor.runtime.conftest import BATCH_TOPIC, TOPIC_TYPES, PositionProcess, Tasks, produce, rows, values

pytestmark = pytest.mark.rocketmq


def logged(file: Path) -> list[str]:
    """The values that the test sink `log` has written."""
    return [json.loads(line)[3] for line in file.read_text().splitlines()]


@TOPIC_TYPES
def test_messages_of_any_producer_arrive_once_and_in_order_of_their_queue(tasks: Tasks) -> None:
    produce(tasks, values(300))
    file = tasks.path / "t.db"
    running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file)})
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 300)
    produce(tasks, values(200, 300))
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 500)
    running.reporter.wait_for_state(State.IDLE)
    assert {lag.messages for lag in running.reporter.metrics.lags} == {0}
    # Of a producer that is no connector: when it made them.
    newest, stored = running.reporter.metrics.newest_record, running.reporter.metrics.newest_stored
    assert newest is not None
    assert stored is not None
    assert time.time() - 60 < newest <= stored + 1 <= time.time() + 2
    assert 0 < running.reporter.metrics.latencies <= 500
    assert running.stop().clean
    assert rows(file) == values(500)


@TOPIC_TYPES
def test_after_a_stop_it_goes_on_where_it_was_and_the_group_shows_it(tasks: Tasks) -> None:
    queue = produce(tasks, values(100))
    file = tasks.path / "log"
    first = tasks.start(Kind.SINK, {"connector.class": "log", "file": str(file)})
    first.reporter.wait_for(lambda: first.reporter.metrics.records_out == 100)
    assert first.stop().clean
    produce(tasks, values(50, 100))
    second = tasks.start(Kind.SINK, {"connector.class": "log", "file": str(file)}, epoch=2)
    second.reporter.wait_for(lambda: second.reporter.metrics.records_out == 50)
    assert second.stop().clean
    assert [json.loads(line)[3] for line in file.read_text().splitlines()] == values(150)
    assert tasks.client.committed_offset("connect-sink", queue) == 150


def test_positions_stored_with_the_data_win_over_those_of_the_service(tasks: Tasks, positions: PositionProcess) -> None:
    """The service stays behind, because it is away while the sink writes."""
    produce(tasks, values(10))
    file = tasks.path / "t.db"
    config = {"connector.class": "table", "file": str(file)}
    first = tasks.start(Kind.SINK, config)
    first.reporter.wait_for(lambda: first.reporter.metrics.commits > 0)
    positions.stop()
    produce(tasks, values(10, 10))
    first.reporter.wait_for(lambda: first.reporter.metrics.records_out == 20)
    assert "position service" in first.reporter.wait_for_state(State.WAITING)
    first.control.fence()
    assert first.end().fenced
    positions.start()
    second = tasks.start(Kind.SINK, config, epoch=2)
    second.reporter.wait_for_state(State.IDLE)
    produce(tasks, values(5, 20))
    second.reporter.wait_for(lambda: second.reporter.metrics.records_out == 5)
    assert second.stop().clean
    assert rows(file) == values(25)


@TOPIC_TYPES
def test_doubles_of_a_connector_are_dropped_also_after_a_restart(tasks: Tasks) -> None:
    tasks.create_topic(1)
    queue = tasks.client.queues(tasks.topic)[0]
    stamper = Stamper("c", 1, "p", 0)

    def send(numbers: Sequence[int]) -> None:
        stamps = stamper.stamp([(number,) for number in numbers])
        properties = [stamp.decode().removeprefix("RCPOS\x01").removesuffix("\x02") for stamp in stamps]
        messages = [Message(str(n).encode(), properties={"RCPOS": own}) for n, own in zip(numbers, properties, strict=True)]
        tasks.client.send_batch(queue, messages, 10)

    file = tasks.path / "t.db"
    config = {"connector.class": "table", "file": str(file), "positions": "false"}
    send(range(1, 11))
    send(range(5, 15))
    first = tasks.start(Kind.SINK, config)
    first.reporter.wait_for(lambda: first.reporter.metrics.records_out == 14)
    assert first.reporter.metrics.duplicates_skipped == 6
    told = [message for _, message in first.reporter.logs if "they are duplicates" in message]
    assert len(told) == 1
    assert "more messages of c/p" in told[0]
    assert "source offset" in told[0]
    assert first.stop().clean
    send(range(1, 20))
    second = tasks.start(Kind.SINK, config, epoch=2)
    second.reporter.wait_for(lambda: second.reporter.metrics.records_out == 5)
    assert second.stop().clean
    assert rows(file) == [str(number) for number in range(1, 20)]


def test_messages_left_out_for_their_epoch_are_counted_and_named(tasks: Tasks) -> None:
    tasks.create_topic(1)
    queue = tasks.client.queues(tasks.topic)[0]

    def send(epoch: int, number: int) -> None:
        own = Stamper("c", epoch, "p", 0).stamp([(number,)])[0].decode().removeprefix("RCPOS\x01").removesuffix("\x02")
        tasks.client.send_batch(queue, [Message(str(number).encode(), properties={"RCPOS": own})], 10)

    send(20, 1)
    send(8, 2)
    send(8, 3)
    send(20, 4)
    run = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(tasks.path / "t.db")})
    run.reporter.wait_for(lambda: run.reporter.metrics.late_skipped == 2)
    run.reporter.wait_for(lambda: run.reporter.metrics.records_out == 2)
    assert run.stop().clean
    assert rows(tasks.path / "t.db") == ["1", "4"]
    told = [message for _, message in run.reporter.logs if "epoch 8" in message]
    assert told
    assert "c/p" in told[0]
    assert "epoch 20" in told[0]


@BATCH_TOPIC
def test_a_position_within_what_was_sent_at_once_is_gone_on_from_exactly(tasks: Tasks) -> None:
    """On a batch topic what was sent at once is stored as one unit, and read as one though it begins below the position."""
    produce(tasks, [*values(40), "? bad", *values(59, 41)])
    file = tasks.path / "log"
    table = {"connector.class": "table", "file": str(file)}
    first = tasks.start(Kind.SINK, table).end()
    assert first.failed
    assert rows(file) == values(40)
    second = tasks.start(Kind.SINK, {**table, "errors.tolerance": "all"}, epoch=2)
    second.reporter.wait_for_out(59)
    assert second.reporter.metrics.records_in == 60
    assert second.stop().clean
    assert rows(file) == [*values(40), *values(59, 41)]


def test_two_tasks_share_the_queues(tasks: Tasks) -> None:
    produce(tasks, ["zero"], queue=0)
    produce(tasks, ["one"], queue=1)
    files = [tasks.path / f"{number}.db" for number in range(2)]
    for number, file in enumerate(files):
        running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file)}, task=number, tasks=2)
        running.reporter.wait_for_out(1)
        assert running.stop().clean
    assert [rows(file) for file in files] == [["zero"], ["one"]]


@pytest.mark.parametrize("fault", ["away", pytest.param("retry", marks=pytest.mark.slow), "stage"])
def test_while_the_target_is_away_it_waits_and_writes_once_when_it_is_back(tasks: Tasks, fault: str) -> None:
    produce(tasks, values(10))
    file = tasks.path / "t.db"
    file.with_suffix(f".{fault}").touch()
    running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file)})
    assert "writing to the sink" in running.reporter.wait_for_state(State.WAITING)
    file.with_suffix(f".{fault}").unlink()
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 10)
    running.reporter.wait_for_state(State.IDLE)
    assert running.stop().clean
    assert rows(file) == values(10)


def test_a_target_that_stays_busy_fails_the_task_after_the_retry_timeout_and_gets_everything_from_the_next_one(
    tasks: Tasks,
) -> None:
    produce(tasks, values(10))
    file = tasks.path / "t.db"
    file.with_suffix(".retry").touch()
    config = {"connector.class": "table", "file": str(file), "errors.retry.timeout": "500"}
    running = tasks.start(Kind.SINK, config)
    outcome = running.end()
    assert outcome.failed
    assert not outcome.permanent
    assert "errors.retry.timeout" in outcome.error
    assert running.reporter.metrics.errors == running.reporter.metrics.retries + 1
    file.with_suffix(".retry").unlink()
    again = tasks.start(Kind.SINK, config, epoch=2)
    again.reporter.wait_for_out(10)
    assert again.stop().clean
    assert rows(file) == values(10)


@TOPIC_TYPES
def test_a_gap_ends_the_task_and_is_passed_only_when_the_user_says_so(tasks: Tasks) -> None:
    """The topic is made anew, so the stored position is above its end."""
    produce(tasks, values(10))
    file = tasks.path / "log"
    config = {"connector.class": "log", "file": str(file)}
    first = tasks.start(Kind.SINK, config)
    first.reporter.wait_for(lambda: first.reporter.metrics.records_out == 10)
    assert first.stop().clean
    tasks.client.delete_topic(tasks.topic)
    time.sleep(1)
    produce(tasks, values(3, 100))
    outcome = tasks.start(Kind.SINK, config, epoch=2).end()
    assert outcome.permanent
    assert "[3, 10)" in outcome.error
    assert "If the topic was made anew, begin anew: `rocketconnect position reset " in outcome.error
    assert "position set" not in outcome.error, "an offset that somebody gives would skip what the new topic has before it"
    third = tasks.start(Kind.SINK, {**config, "on.gap": "skip"}, epoch=3)
    third.reporter.wait_for(lambda: any("[3, 10)" in message for _, message in third.reporter.logs))
    produce(tasks, values(2, 103))
    third.reporter.wait_for(lambda: third.reporter.metrics.records_out == 5)
    assert third.stop().clean
    assert third.reporter.metrics.gap_messages == 7
    # All that is in the new topic, what stood there before it was accepted too.
    assert logged(file) == [*values(10), *values(5, 100)]


@pytest.mark.slow
@TOPIC_TYPES
@pytest.mark.parametrize("running", [True, False], ids=["while it runs", "while nobody looks"])
def test_a_topic_made_anew_is_a_gap_though_its_offsets_reach_beyond_the_position(tasks: Tasks, running: bool) -> None:
    """Invariant 5: the position is an offset of the new topic too, but other messages stand before it."""
    produce(tasks, values(10))
    file = tasks.path / "log"
    config = {"connector.class": "log", "file": str(file)}
    first = tasks.start(Kind.SINK, config)
    first.reporter.wait_for(lambda: first.reporter.metrics.records_out == 10)
    if not running:
        assert first.stop().clean
    tasks.client.delete_topic(tasks.topic)
    time.sleep(1)
    produce(tasks, values(25, 100))
    outcome = first.end() if running else tasks.start(Kind.SINK, config, epoch=2).end()
    assert outcome.permanent
    assert "[0, 10)" in outcome.error
    assert "others than those that were read" in outcome.error
    assert logged(file) == values(10)
    accepted = tasks.start(Kind.SINK, {**config, "on.gap": "skip"}, epoch=3)
    accepted.reporter.wait_for(lambda: accepted.reporter.metrics.records_out == 25)
    assert accepted.stop().clean
    assert logged(file) == [*values(10), *values(25, 100)]
    # Once accepted it is no gap any more.
    last = tasks.start(Kind.SINK, config, epoch=4)
    last.reporter.wait_for_state(State.IDLE)
    assert last.stop().clean


def test_a_new_sink_can_begin_at_the_end_and_stays_there_though_nothing_was_written(tasks: Tasks) -> None:
    produce(tasks, values(10))
    tasks.client.barrier(tasks.client.queues(tasks.topic)[0].broker)
    file = tasks.path / "t.db"
    config = {"connector.class": "table", "file": str(file), "consume.from.where": "CONSUME_FROM_LAST_OFFSET"}
    first = tasks.start(Kind.SINK, config)
    first.reporter.wait_for_state(State.IDLE)
    first.control.fence()
    first.end()
    produce(tasks, values(5, 10))
    second = tasks.start(Kind.SINK, config, epoch=2)
    second.reporter.wait_for(lambda: second.reporter.metrics.records_out == 5)
    assert second.stop().clean
    assert rows(file) == values(5, 10)


@pytest.mark.parametrize("fault", ["away", "stage"])
def test_a_batch_that_is_tried_again_when_the_task_is_told_to_stop_is_written_before_it_ends(tasks: Tasks, fault: str) -> None:
    produce(tasks, values(10))
    file = tasks.path / "t.db"
    file.with_suffix(f".{fault}").touch()
    running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file)})
    assert "writing to the sink" in running.reporter.wait_for_state(State.WAITING)
    running.control.stop()
    file.with_suffix(f".{fault}").unlink()
    assert running.stop().clean
    assert rows(file) == values(10)


def test_a_sink_that_cannot_write_at_its_end_gives_up_before_it_is_fenced(tasks: Tasks) -> None:
    produce(tasks, values(10))
    file = tasks.path / "t.db"
    config = {"connector.class": "table", "file": str(file)}
    running = tasks.start(Kind.SINK, {**config, "interval": "600"}, stop_seconds=5.0)
    running.reporter.wait_for(lambda: running.reporter.metrics.buffered_bytes > 0 and not running.reporter.has_work)
    file.with_suffix(".away").touch()
    # As the executor does with a run that has not ended.
    fence = threading.Timer(StopLimits.within(5.0).stop, running.control.fence)
    fence.start()
    outcome = running.stop()
    fence.cancel()
    assert any(state is State.WAITING for state, _ in running.reporter.states)
    assert not outcome.fenced
    assert not outcome.clean
    file.with_suffix(".away").unlink()
    again = tasks.start(Kind.SINK, config, epoch=2)
    again.reporter.wait_for_out(10)
    assert again.stop().clean
    assert rows(file) == values(10)


@pytest.mark.slow
def test_what_waits_for_a_full_batch_is_written_at_a_pause_and_at_a_stop(tasks: Tasks) -> None:
    produce(tasks, values(10))
    file = tasks.path / "t.db"
    running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file), "interval": "600"})
    running.reporter.wait_for(lambda: running.reporter.metrics.buffered_bytes > 0 and not running.reporter.has_work)
    assert running.reporter.states[-1][0] is State.RUNNING
    assert rows(file) == []
    running.control.pause()
    running.reporter.wait_for_state(State.PAUSED)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 10)
    running.control.resume()
    produce(tasks, values(10, 10))
    time.sleep(1)
    assert running.stop().clean
    assert rows(file) == values(20)


def test_what_waits_for_a_full_batch_is_told_until_it_is_written(tasks: Tasks) -> None:
    produce(tasks, values(10))
    begun = time.time()
    running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(tasks.path / "t.db"), "interval": "600"})
    metrics = running.reporter.metrics
    running.reporter.wait_for(lambda: metrics.open_batch is not None and metrics.open_batch.records == 10)
    waiting = metrics.open_batch
    assert waiting is not None
    assert waiting.due is not None
    assert begun - 1 < waiting.since < time.time() + 1
    assert waiting.due - waiting.since == pytest.approx(600)
    running.control.pause()
    running.reporter.wait_for_state(State.PAUSED)
    assert (metrics.records_out, metrics.open_batch) == (10, None)
    running.stop()


def test_without_a_lease_nothing_is_written_until_it_is_renewed(tasks: Tasks) -> None:
    produce(tasks, values(10))
    file = tasks.path / "t.db"
    running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file)}, lease_seconds=1.0)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 10)
    time.sleep(1)
    produce(tasks, values(10, 10))
    assert "lease" in running.reporter.wait_for_state(State.WAITING)
    assert rows(file) == values(10)
    running.lease.renew(boot_seconds() + 60)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 20)
    assert running.stop().clean


def test_keys_headers_and_tombstones_of_a_source_reach_the_sink(tasks: Tasks) -> None:
    source = tasks.file("a", ["k1 one", "k2 two"])
    log = tasks.path / "log"
    reading = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(source), "keyed": "true"})
    reading.reporter.wait_for(lambda: reading.reporter.metrics.records_out == 2)
    assert reading.stop().clean
    writing = tasks.start(Kind.SINK, {"connector.class": "log", "file": str(log)})
    writing.reporter.wait_for(lambda: writing.reporter.metrics.records_out == 2)
    assert writing.stop().clean
    found = {row[3]: row for row in map(json.loads, log.read_text().splitlines())}
    assert found["k1 one"][2] == "k1"
    assert found["k2 two"][4]["KEYS"] == "k2"
    assert not any("RCPOS" in name for name in found["k1 one"][4])
    # When they were sent is not when they came to be.
    assert reading.reporter.metrics.newest_record is writing.reporter.metrics.newest_record is None
    assert writing.reporter.metrics.newest_stored is not None
    queues = tasks.client.queues(tasks.topic)
    ids = {message.message_id for queue in queues for message in tasks.client.pull(queue, 0).messages}
    assert {row[4]["MQ-SYS-MSG_ID"] for row in found.values()} == ids


def test_the_times_that_a_source_gives_its_records_are_told_by_it_and_by_the_sink(tasks: Tasks) -> None:
    began = int(time.time()) - 100
    of_source = {"connector.class": "lines", "files": str(tasks.file("a", values(3))), "time": str(began * 1_000)}
    reading = tasks.start(Kind.SOURCE, of_source)
    reading.reporter.wait_for(lambda: reading.reporter.metrics.records_out == 3)
    assert reading.stop().clean
    writing = tasks.start(Kind.SINK, {"connector.class": "log", "file": str(tasks.path / "log")})
    writing.reporter.wait_for(lambda: writing.reporter.metrics.records_out == 3)
    assert writing.stop().clean
    of_direct = {f"source.{name}": value for name, value in of_source.items()}
    of_direct |= {"sink.connector.class": "table", "sink.file": str(tasks.path / "t.db")}
    copying = tasks.start(Kind.DIRECT, {"connector.class": "direct", **of_direct})
    copying.reporter.wait_for(lambda: copying.reporter.metrics.records_out == 3)
    assert copying.stop().clean
    for run in (reading, writing, copying):
        assert run.reporter.metrics.newest_record == began + 2
        assert run.reporter.metrics.latencies >= 1
        assert run.reporter.metrics.latency_seconds >= 98 * run.reporter.metrics.latencies


def test_a_sink_that_belongs_to_a_newer_owner_refuses_an_older_one(tasks: Tasks) -> None:
    produce(tasks, values(1))
    file = tasks.path / "t.db"
    running = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(file)}, epoch=7)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 1)
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE positions SET epoch = 9")
        db.commit()
    produce(tasks, values(1, 1))
    outcome = running.end()
    assert outcome.failed
    assert "belongs to epoch 9" in outcome.error


def test_a_direct_task_copies_without_a_topic_and_drops_what_the_sink_has_already(tasks: Tasks, positions: PositionProcess) -> None:
    source, file = tasks.file("a", values(1_000)), tasks.path / "t.db"
    config = {
        "connector.class": "direct",
        "source.connector.class": "lines",
        "source.files": str(source),
        "sink.connector.class": "table",
        "sink.file": str(file),
    }
    first = tasks.start(Kind.DIRECT, config)
    first.reporter.wait_for(lambda: first.reporter.metrics.records_out == 1_000)
    first.reporter.wait_for(lambda: first.reporter.metrics.commits > 0)
    positions.stop()
    tasks.file("a", values(1_500))
    first.reporter.wait_for(lambda: first.reporter.metrics.records_out == 1_500)
    first.control.fence()
    assert first.end().fenced
    positions.start()
    tasks.file("a", values(1_600))
    second = tasks.start(Kind.DIRECT, config, epoch=2)
    second.reporter.wait_for(lambda: len(rows(file)) == 1_600)
    assert second.stop().clean
    assert rows(Path(file)) == values(1_600)
    assert second.reporter.metrics.source_positions == (SourcePosition(str(source), 1_600),)


def test_a_direct_task_counts_the_bytes_that_the_sink_has_taken_alone(tasks: Tasks) -> None:
    source, file = tasks.file("a", ["good", "! unread", "? who", "gone"]), tasks.path / "t.db"
    config = {
        "connector.class": "direct",
        "errors.tolerance": "all",
        "source.connector.class": "lines",
        "source.files": str(source),
        "sink.connector.class": "table",
        "sink.file": str(file),
    }
    running = tasks.start(Kind.DIRECT, config)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 2)
    assert running.stop().clean
    assert rows(file) == ["good", "gone"]
    read = len("good! unread? whogone")
    assert running.reporter.metrics.bytes_in == read
    # Of the four each has its share.
    assert running.reporter.metrics.bytes_out == 2 * (3 * read // 4) // 3


def test_a_sink_that_drops_all_that_comes_is_stalled_and_says_why_until_it_keeps_something(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dropping, "LOST_SECONDS", 0.2)
    tasks.create_topic(1)
    queue = tasks.client.queues(tasks.topic)[0]

    def send(epoch: int, numbers: Sequence[int]) -> None:
        stamps = Stamper("c", epoch, "p", 0).stamp([(number,) for number in numbers])
        properties = [stamp.decode().removeprefix("RCPOS\x01").removesuffix("\x02") for stamp in stamps]
        messages = [Message(str(n).encode(), properties={"RCPOS": own}) for n, own in zip(numbers, properties, strict=True)]
        tasks.client.send_batch(queue, messages, 10)

    send(20, [1])
    run = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(tasks.path / "t.db")})
    run.reporter.wait_for_state(State.IDLE)
    send(8, range(2, 102))
    said = run.reporter.wait_for_state(State.STALLED)
    assert "c/p" in said
    assert "epoch 8" in said
    run.reporter.wait_for(lambda: run.reporter.metrics.dropped_in_a_row == 100)
    send(20, range(2, 102))
    run.reporter.wait_for_out(101)
    run.reporter.wait_for_state(State.IDLE)
    assert run.reporter.metrics.dropped_in_a_row == 0
    assert run.stop().clean
