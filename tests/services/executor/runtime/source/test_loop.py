"""Source tasks against a real broker and a real position service."""

import time
from pathlib import Path

import pytest

from rocketconnect_kit.clock import boot_seconds
from services.executor.contract.task import Kind, State
from services.executor.runtime.source import loop as source_task
from services.executor.runtime.source.loop import SourceRun
from tests.conftest import RocketMQFactory
from tests.services.executor.runtime.conftest import TOPIC_TYPES, PositionProcess, Running, Tasks, rows
from tests.suspended import suspend

pytestmark = pytest.mark.rocketmq


def lines(count: int, start: int = 0) -> list[str]:
    return [f"line {number}" for number in range(start, start + count)]


@TOPIC_TYPES
def test_all_lines_arrive_once_and_in_order_and_the_task_becomes_idle_and_ends_clean(tasks: Tasks) -> None:
    file = tasks.file("a", lines(5_000))
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file)})
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 5_000)
    running.reporter.wait_for_state(State.IDLE)
    assert running.stop().clean
    assert tasks.bodies() == lines(5_000)
    assert tasks.client.topic_config(tasks.topic).topic_type == tasks.topic_type
    assert running.reporter.metrics.records_in == 5_000
    assert State.RUNNING in [state for state, _ in running.reporter.states]


def test_what_is_left_to_read_is_told_once_it_is_known_also_where_nothing_is_read(tasks: Tasks) -> None:
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(tasks.file("a", []))})
    running.reporter.wait_for(lambda: running.reporter.metrics.source_remaining == 0)
    assert running.reporter.metrics.source_remaining_unit == "lines"
    assert running.reporter.metrics.records_in == 0


def test_after_a_clean_stop_it_goes_on_where_it_was(tasks: Tasks) -> None:
    file = tasks.file("a", lines(100))
    config = {"connector.class": "lines", "files": str(file)}
    first = tasks.start(Kind.SOURCE, config)
    first.reporter.wait_for(lambda: first.reporter.metrics.records_out == 100)
    assert first.stop().clean
    tasks.file("a", lines(150))
    second = tasks.start(Kind.SOURCE, config, epoch=2)
    second.reporter.wait_for(lambda: second.reporter.metrics.records_out == 50)
    assert second.stop().clean
    assert tasks.bodies() == lines(150)
    assert second.reporter.metrics.duplicates_skipped == 0


@TOPIC_TYPES
def test_a_new_owner_skips_what_its_fenced_predecessor_has_sent_and_not_committed(tasks: Tasks) -> None:
    """The first one is cut off from the position service after its start: it goes on sending, and can't commit."""
    file = tasks.file("a", lines(3_000))
    config = {"connector.class": "lines", "files": str(file), "batch.records": "100"}
    first = tasks.start(Kind.SOURCE, config)
    first.reporter.wait_for(lambda: first.reporter.metrics.records_out == 3_000)
    first.control.fence()
    assert first.end().fenced
    second = tasks.start(Kind.SOURCE, config, epoch=2)
    second.reporter.wait_for_state(State.IDLE)
    assert second.stop().clean
    assert tasks.bodies() == lines(3_000)
    assert (second.reporter.metrics.records_out, second.reporter.metrics.bytes_out) == (0, 0)


def test_a_source_that_waits_for_what_is_there_already_doubles_nothing_that_was_sent_and_not_committed(
    tasks: Tasks, positions: PositionProcess
) -> None:
    config = {"connector.class": "lines", "files": str(tasks.file("a", [])), "batch.records": "100"}
    first = tasks.start(Kind.SOURCE, config)
    first.reporter.wait_for_state(State.IDLE)
    positions.stop()
    tasks.file("a", lines(3_000))
    first.reporter.wait_for_out(3_000)
    first.control.fence()
    assert first.end().fenced
    positions.start()
    second = tasks.start(Kind.SOURCE, {**config, "late": "5"}, epoch=2)
    second.reporter.wait_for(lambda: second.reporter.metrics.records_in == 3_000)
    assert second.stop().clean
    assert tasks.bodies() == lines(3_000)


def test_when_a_topic_is_new_to_a_source_nothing_is_doubled_whose_position_was_not_stored_yet(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies when it has stored that it sends to the new topic: what it sent before from the same file is confirmed."""
    monkeypatch.setattr(source_task, "COMMIT_SECONDS", 600.0)
    new = f"new-{tasks.unique}"
    names = [str(tasks.file(name, content)) for name, content in (("a", lines(20)), ("b", [*lines(10, 20), f"to {new}"]))]
    config = {
        "connector.class": "lines",
        "files": ",".join(names),
        "batch.records": "10",
        "pace": "0.1",
        "transforms": "loud",
        "transforms.loud.type": "loud",
    }
    with monkeypatch.context() as dying:
        store = SourceRun._store_all

        def stored(run: SourceRun) -> None:
            store(run)
            if new in run._map:
                run._control.fence()

        dying.setattr(SourceRun, "_store_all", stored)
        first = tasks.start(Kind.SOURCE, config)
        assert first.end().fenced
    assert tasks.bodies(new) == []
    second = tasks.start(Kind.SOURCE, config, epoch=2)
    second.reporter.wait_for_state(State.IDLE)
    assert second.stop().clean
    assert sorted(map(str.lower, tasks.bodies())) == sorted(lines(30))
    assert tasks.bodies(new) == [f"TO {new}".upper()]


@pytest.mark.slow
def test_an_owner_that_ends_before_it_has_read_again_what_was_sent_leaves_it_to_the_next_one_to_skip(
    tasks: Tasks, positions: PositionProcess
) -> None:
    """The first one can't commit what it sends; the second one is paused from its start to its end."""
    config = {"connector.class": "lines", "files": str(tasks.file("a", [])), "batch.records": "100"}
    first = tasks.start(Kind.SOURCE, config)
    first.reporter.wait_for_state(State.IDLE)
    positions.stop()
    tasks.file("a", lines(3_000))
    first.reporter.wait_for_out(3_000)
    first.control.fence()
    assert first.end().fenced
    positions.start()
    second = tasks.start(Kind.SOURCE, config, epoch=2)
    # It looks into the topic for half a second at least before it would read.
    second.control.pause()
    second.reporter.wait_for_state(State.PAUSED)
    assert not second.stop().clean
    third = tasks.start(Kind.SOURCE, config, epoch=3)
    third.reporter.wait_for_state(State.IDLE)
    assert third.stop().clean
    assert third.reporter.metrics.duplicates_skipped == 3_000
    assert tasks.bodies() == lines(3_000)


@pytest.mark.parametrize(
    ("settled", "confirmed", "isolation", "waits"),
    [
        (True, False, "pause", False),
        (False, False, "pause", True),
        (True, True, "pause", True),
        (True, False, "continue", True),
    ],
)
def test_a_new_owner_waits_for_the_send_deadline_and_says_so_unless_it_is_known_that_nothing_is_under_way(
    tasks: Tasks, settled: bool, confirmed: bool, isolation: str, waits: bool
) -> None:
    config = {"connector.class": "lines", "files": str(tasks.file("a", lines(10))), "on.isolation": isolation}
    first = tasks.start(Kind.SOURCE, config)
    first.reporter.wait_for_out(10)
    first.control.fence()
    assert first.end().fenced
    if confirmed:
        tasks.confirm(Kind.SOURCE, epoch=1, seconds=0.01)
        # That is over when the next one opens.
        time.sleep(0.2)
    second = tasks.start(Kind.SOURCE, config, epoch=2, settled=settled, send_deadline=600)
    if waits:
        second.reporter.wait_for(lambda: any("waits until " in trace for _, trace in second.reporter.states))
    else:
        second.reporter.wait_for_state(State.IDLE)
    assert second.stop().clean != waits
    assert tasks.bodies() == lines(10)


def test_an_old_owner_is_fenced_at_its_next_commit(tasks: Tasks) -> None:
    file = tasks.file("a", lines(10))
    config = {"connector.class": "lines", "files": str(file)}
    old = tasks.start(Kind.SOURCE, config, epoch=5)
    old.reporter.wait_for_state(State.IDLE)
    new = tasks.start(Kind.SOURCE, config, epoch=6)
    new.reporter.wait_for_state(State.IDLE)
    tasks.file("a", lines(20))
    outcome = old.end()
    assert outcome.fenced
    assert not outcome.clean
    new.reporter.wait_for(lambda: new.reporter.metrics.records_out >= 10 or new.reporter.metrics.duplicates_skipped)
    assert set(tasks.bodies()) == set(lines(20))


@TOPIC_TYPES
def test_records_with_a_key_keep_their_order_in_one_queue(tasks: Tasks) -> None:
    keyed = [f"k{number % 7} {number}" for number in range(2_000)]
    file = tasks.file("a", keyed)
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), "keyed": "true", "batch.records": "90"})
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 2_000)
    assert running.stop().clean
    queues: dict[str, set[int]] = {}
    order: dict[str, list[int]] = {}
    for queue, body, properties in tasks.messages():
        key, number = body.split()
        assert properties["KEYS"] == key
        queues.setdefault(key, set()).add(queue)
        order.setdefault(key, []).append(int(number))
    assert all(len(each) == 1 for each in queues.values())
    assert len(set.union(*queues.values())) > 1
    assert all(numbers == sorted(numbers) for numbers in order.values())
    assert sum(map(len, order.values())) == 2_000


def test_a_bad_record_ends_the_task_and_nothing_behind_it_moves(tasks: Tasks) -> None:
    file = tasks.file("a", [*lines(10), "! bad", *lines(10, 10)])
    config = {"connector.class": "lines", "files": str(file)}
    running = tasks.start(Kind.SOURCE, config)
    outcome = running.end()
    assert outcome.failed
    assert outcome.permanent
    assert outcome.clean
    assert "Unreadable" in outcome.error
    assert "errors.tolerance=all" in outcome.error
    assert running.reporter.metrics.errors == 1
    assert tasks.bodies() == lines(10)
    assert running.reporter.states[-1] == (State.FAILED, outcome.error)
    again = tasks.start(Kind.SOURCE, config, epoch=2)
    assert again.end().failed
    assert tasks.bodies() == lines(10)


@pytest.mark.slow
def test_a_message_that_the_broker_refuses_ends_the_task_and_nothing_is_read_or_sent_behind_it(
    rocketmq_factory: RocketMQFactory, positions: PositionProcess, tmp_path: Path, plugins: None
) -> None:
    """The large one fills the buffer until the answer comes; what is dropped then makes room to read on."""
    tasks = Tasks(rocketmq_factory({"maxMessageSize": "60000"}).name_server, positions.address, tmp_path)
    try:
        tasks.create_topic(4)
        keyed = [f"k{number % 7} {number} {'x' * (70_000 if number == 333 else 1_000)}" for number in range(2_000)]
        file = str(tasks.file("a", keyed))
        config = {"connector.class": "lines", "files": file, "keyed": "true", "batch.records": "20", "buffer.bytes": "64KiB"}
        running = tasks.start(Kind.SOURCE, config)
        outcome = running.end()
        assert outcome.failed
        assert outcome.permanent
        assert "record before offset 334" in outcome.error
        read = running.reporter.metrics.records_in
        assert read == 340
        queues: dict[int, list[int]] = {}
        for queue, body, _ in tasks.messages():
            queues.setdefault(queue, []).append(int(body.split()[1]))
        of_key = {number % 7: queue for queue, numbers in queues.items() for number in numbers}
        for queue, numbers in queues.items():
            # What is in a queue is the beginning of what goes there: nothing has overtaken what was dropped.
            of_queue = [number for number in range(read) if of_key[number % 7] == queue]
            assert numbers == of_queue[: len(numbers)]
            assert 333 not in numbers
        again = tasks.start(Kind.SOURCE, {**config, "errors.tolerance": "all"}, epoch=2)
        again.reporter.wait_for_state(State.IDLE)
        assert again.stop().clean
        assert again.reporter.metrics.records_skipped == 1
        numbers = [int(body.split()[1]) for body in tasks.bodies()]
        assert sorted(numbers) == [number for number in range(2_000) if number != 333]
    finally:
        tasks.close()


def test_a_bad_record_is_skipped_and_counted_when_errors_are_tolerated(tasks: Tasks) -> None:
    file = tasks.file("a", ["! first", *lines(10), "! bad", *lines(10, 10)])
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), "errors.tolerance": "all"})
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 20)
    assert running.stop().clean
    assert tasks.bodies() == lines(20)
    assert running.reporter.metrics.records_skipped == 2


@TOPIC_TYPES
def test_a_bad_record_becomes_a_dead_letter_with_its_reason_and_place(tasks: Tasks) -> None:
    long = "! " + "x" * 100
    file = tasks.file("a", [*lines(3), long, *lines(3, 3)])
    dead = f"dead-{tasks.unique}"
    config = {
        "connector.class": "lines",
        "files": str(file),
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "errors.log.enable": "true",
    }
    running = tasks.start(Kind.SOURCE, config)
    running.reporter.wait_for(lambda: running.reporter.metrics.dead_letters == 1)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 6)
    assert running.stop().clean
    assert tasks.bodies() == lines(6)
    assert running.reporter.metrics.bytes_out == sum(map(len, lines(6)))
    ((_, body, properties),) = tasks.messages(dead)
    assert body == long[:20]
    prefix = "__connect.errors."
    said = {name.removeprefix(prefix): value for name, value in properties.items() if name.startswith(prefix)}
    assert said["connector.name"] == "source"
    assert said["stage"] == "TASK_POLL"
    assert said["class.name"].endswith("lines.LinesTask")
    assert said["exception.class.name"] == "Unreadable"
    assert said["source.partition"] == str(file)
    assert said["source.offset"] == "4"
    assert said["length"] == "102"
    (warning,) = [message for level, message in running.reporter.logs if level == "WARNING"]
    assert warning.startswith(f"source partition {file}, record before offset 4: poll: Unreadable: ")
    assert warning.endswith(f"; it goes to the topic {dead}")
    assert said["cut"] == "the first 20 of 102 bytes"


def test_a_value_larger_than_a_message_goes_the_way_of_bad_records(tasks: Tasks) -> None:
    file = tasks.file("a", ["small", "x" * (5 << 20), "after"])
    dead = f"dead-{tasks.unique}"
    config = {
        "connector.class": "lines",
        "files": str(file),
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
    }
    running = tasks.start(Kind.SOURCE, config)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 2)
    assert running.stop().clean
    assert tasks.bodies() == ["small", "after"]
    ((_, body, properties),) = tasks.messages(dead)
    assert properties["__connect.errors.length"] == str(5 << 20)
    assert 4_000_000 < len(body) < 4 << 20


@TOPIC_TYPES
def test_empty_lines_and_large_values_pass_as_they_are(tasks: Tasks) -> None:
    large = "y" * 4_000_000
    file = tasks.file("a", ["", "a", "", large, ""])
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file)})
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 5)
    assert running.stop().clean
    assert tasks.bodies() == ["", "a", "", large, ""]


def test_while_the_source_is_away_it_waits_and_says_for_what_and_goes_on_by_itself(tasks: Tasks) -> None:
    file = tasks.file("a", lines(10))
    file.with_suffix(".away").touch()
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file)})
    assert "is away" in running.reporter.wait_for_state(State.WAITING)
    file.with_suffix(".away").unlink()
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 10)
    running.reporter.wait_for_state(State.IDLE)
    assert running.stop().clean
    assert running.reporter.metrics.retries > 0


def test_a_permanent_error_of_the_source_ends_the_task_with_what_was_read_before_committed(tasks: Tasks) -> None:
    file = tasks.file("a", lines(10))
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file)})
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 10)
    file.with_suffix(".fail").touch()
    outcome = running.end()
    assert outcome.failed
    assert outcome.permanent
    assert outcome.clean
    assert outcome.error.endswith("mend it")
    assert (running.reporter.metrics.errors, running.reporter.metrics.retries) == (1, 0)


def test_a_source_that_begins_before_its_broker_waits_and_counts_no_error(tasks: Tasks) -> None:
    there, tasks.name_servers = tasks.name_servers, "127.0.0.1:1"
    config = {"connector.class": "lines", "files": str(tasks.file("a", lines(10)))}
    running = tasks.start(Kind.SOURCE, config)
    assert "127.0.0.1:1" in running.reporter.wait_for_state(State.WAITING)
    running.stop()
    assert running.reporter.metrics.errors == 0
    tasks.name_servers = there
    again = tasks.start(Kind.SOURCE, config, epoch=2)
    again.reporter.wait_for_out(10)
    assert again.stop().clean
    assert again.reporter.metrics.errors == 0


def test_where_it_is_in_each_file_is_among_its_metrics(tasks: Tasks) -> None:
    files = [tasks.file(name, lines(count)) for name, count in (("a", 10), ("b", 20))]
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": ",".join(map(str, files))})
    running.reporter.wait_for(lambda: sum(at.offset for at in running.reporter.metrics.source_positions) == 30)
    assert running.stop().clean
    found = {at.partition: at.offset for at in running.reporter.metrics.source_positions}
    assert found == {str(files[0]): 10, str(files[1]): 20}


@pytest.mark.slow
def test_while_the_position_service_is_away_records_move_on_and_are_committed_when_it_is_back(
    tasks: Tasks, positions: PositionProcess
) -> None:
    file = tasks.file("a", lines(10))
    config = {"connector.class": "lines", "files": str(file)}
    running = tasks.start(Kind.SOURCE, config)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 10)
    positions.stop()
    tasks.file("a", lines(30))
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 30)
    assert "position service" in running.reporter.wait_for_state(State.WAITING)
    positions.start()
    running.reporter.wait_for_state(State.IDLE)
    assert running.stop().clean
    again = tasks.start(Kind.SOURCE, config, epoch=2)
    again.reporter.wait_for_state(State.IDLE)
    assert again.stop().clean
    assert tasks.bodies() == lines(30)


def test_without_a_lease_nothing_is_sent_until_it_is_renewed(tasks: Tasks) -> None:
    file = tasks.file("a", lines(10))
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file)}, lease_seconds=-1.0)
    assert "lease" in running.reporter.wait_for_state(State.WAITING)
    assert tasks.bodies() == []
    running.reporter.wait_for(lambda: running.reporter.metrics.source_remaining_unit == "bytes")
    assert running.reporter.metrics.source_remaining, "all is read, and nothing of it is there"
    running.lease.renew(boot_seconds() + 60)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 10)
    running.reporter.wait_for_state(State.IDLE)
    assert (running.reporter.metrics.source_remaining, running.reporter.metrics.source_remaining_unit) == (0, "lines")
    assert running.stop().clean
    assert tasks.bodies() == lines(10)


def test_after_its_machine_was_suspended_nothing_is_sent_until_the_lease_is_renewed(
    tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tasks.file("a", lines(10))
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file)})
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 10)
    suspend(monkeypatch, 3_600)
    tasks.file("a", lines(20))
    assert "lease" in running.reporter.wait_for_state(State.WAITING)
    assert tasks.bodies() == lines(10)
    running.lease.renew(boot_seconds() + 60)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 20)
    assert running.stop().clean
    assert tasks.bodies() == lines(20)


def test_a_paused_task_moves_nothing_and_goes_on_when_it_is_resumed(tasks: Tasks) -> None:
    file = tasks.file("a", lines(10))
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file)})
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 10)
    running.control.pause()
    running.reporter.wait_for_state(State.PAUSED)
    tasks.file("a", lines(20))
    time.sleep(0.3)
    assert running.reporter.metrics.records_in == 10
    running.control.resume()
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 20)
    assert running.stop().clean


def stands_at(running: Running, partition: object) -> int:
    return {at.partition: at.offset for at in running.reporter.metrics.source_positions}.get(str(partition), 0)


@pytest.mark.parametrize("transforms", [{}, {"transforms": "loud", "transforms.loud.type": "loud"}])
def test_a_batch_without_records_moves_the_position_behind_what_is_before_it_and_sends_nothing(
    tasks: Tasks, transforms: dict[str, str]
) -> None:
    left_out = ["# x"] * 5
    config = {"connector.class": "lines", "files": str(tasks.file("a", [*left_out, *lines(10), *left_out])), **transforms}
    running = tasks.start(Kind.SOURCE, config)
    running.reporter.wait_for(lambda: stands_at(running, tasks.path / "a") == 20)
    assert running.stop().clean
    assert running.reporter.metrics.records_out == 10
    tasks.file("a", [*left_out, *lines(10), *["these are not read again"] * 5, *lines(10, 10)])
    again = tasks.start(Kind.SOURCE, config, epoch=2)
    again.reporter.wait_for_out(10)
    assert again.stop().clean
    assert [body.lower() for body in tasks.bodies()] == lines(20)
    assert again.reporter.metrics.duplicates_skipped == 0


def test_a_position_moves_without_records_only_when_what_is_before_it_is_confirmed(tasks: Tasks) -> None:
    config = {"connector.class": "lines", "files": str(tasks.file("a", [*lines(10), "# x"]))}
    running = tasks.start(Kind.SOURCE, config, lease_seconds=-1.0)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_in == 10)
    time.sleep(0.5)
    assert stands_at(running, tasks.path / "a") == 0
    running.lease.renew(boot_seconds() + 60)
    running.reporter.wait_for(lambda: stands_at(running, tasks.path / "a") == 11)
    assert running.stop().clean
    assert tasks.bodies() == lines(10)


def test_a_task_that_moves_only_the_position_of_a_partition_without_records_is_idle_and_rests_between_polls(tasks: Tasks) -> None:
    file = tasks.file("a", [])
    file.with_suffix(".beat").touch()
    config = {"connector.class": "lines", "files": str(file)}
    running = tasks.start(Kind.SOURCE, config)
    running.reporter.wait_for(lambda: stands_at(running, "log") > 0)
    running.reporter.wait_for_state(State.IDLE)
    assert not running.reporter.has_work
    before, began = stands_at(running, "log"), time.monotonic()
    running.reporter.wait_for(lambda: stands_at(running, "log") >= before + 50)
    # Two polls more than the pauses between them may come at once.
    assert time.monotonic() - began > 0.01 * 48
    assert running.reporter.states[-1][0] is State.IDLE
    tasks.file("a", lines(10))
    running.reporter.wait_for_out(10)
    assert running.stop().clean
    reached = stands_at(running, "log")
    again = tasks.start(Kind.SOURCE, config, epoch=2)
    again.reporter.wait_for(lambda: stands_at(again, "log") > reached)
    assert again.stop().clean
    assert tasks.bodies() == lines(10)


def test_of_a_direct_task_too_a_batch_without_records_moves_the_position(tasks: Tasks) -> None:
    file = tasks.file("a", [*lines(3), "# x"])
    file.with_suffix(".beat").touch()
    running = tasks.start(
        Kind.DIRECT,
        {
            "connector.class": "direct",
            "source.connector.class": "lines",
            "source.files": str(file),
            "sink.connector.class": "table",
            "sink.file": str(tasks.path / "rows.db"),
        },
    )
    running.reporter.wait_for(lambda: stands_at(running, file) == 4 and stands_at(running, "log") > 0)
    running.reporter.wait_for_state(State.IDLE)
    assert running.stop().clean
    assert rows(tasks.path / "rows.db") == lines(3)


def test_a_limited_rate_is_kept(tasks: Tasks) -> None:
    file = tasks.file("a", lines(2_000))
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), "max.rate.records": "500"})
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out > 0)
    began = time.monotonic()
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out >= 1_000)
    seconds = time.monotonic() - began
    assert seconds > 1.5
    assert running.stop().clean


def test_a_topic_that_is_missing_and_must_not_be_made_is_named_with_the_fix(tasks: Tasks) -> None:
    file = tasks.file("a", lines(1))
    outcome = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), "topic.auto.create": "false"}).end()
    assert outcome.failed
    assert outcome.permanent
    assert tasks.topic in outcome.error
    assert "topic.auto.create=true" in outcome.error


def test_a_new_plan_finds_what_the_tasks_of_the_old_one_have_left(tasks: Tasks) -> None:
    """Two tasks of generation 1 die; in generation 2 their files have changed places."""
    files = [str(tasks.file(name, [f"{name} {number}" for number in range(500)])) for name in "ab"]
    config = {"connector.class": "lines", "files": ",".join(files), "batch.records": "50"}
    old = [tasks.start(Kind.SOURCE, config, task=i, tasks=2, epoch=i + 1, task_config={"files": files[i]}) for i in range(2)]
    for each in old:
        each.reporter.wait_for_out(500)
        each.control.fence()
        assert each.end().fenced
    new = [
        tasks.start(Kind.SOURCE, config, task=i, tasks=2, epoch=i + 3, generation=2, task_config={"files": files[1 - i]})
        for i in range(2)
    ]
    for each in new:
        each.reporter.wait_for_state(State.IDLE)
        assert each.stop().clean
    assert sorted(tasks.bodies()) == sorted(f"{name} {number}" for name in "ab" for number in range(500))


def test_secrets_and_paths_of_a_wrong_configuration_are_told_at_once(tasks: Tasks) -> None:
    outcome = tasks.start(Kind.SOURCE, {"connector.class": "lines", "batch.bytes": "much", "linger": "never"}).end()
    assert outcome.permanent
    for key in ("files", "batch.bytes", "linger"):
        assert key in outcome.error


def test_lines_wait_for_each_other_as_long_as_linger_says(tasks: Tasks) -> None:
    file = tasks.file("a", lines(1))
    running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), "linger": "1s"})
    began = time.monotonic()
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 1)
    assert time.monotonic() - began > 0.9
    with Path(file).open("a") as more:
        more.write("line 1\n")
    assert running.stop().clean
