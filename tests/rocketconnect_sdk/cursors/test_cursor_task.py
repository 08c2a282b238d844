"""What a task of a source of pages does beside what the suite asks for."""

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from shlex import quote

import pytest

from rocketconnect_sdk import Config, PermanentError, Position, SourceBatch, SystemAway, TaskContext, parse
from rocketconnect_sdk.cursors import Connection, CursorTask, window
from rocketconnect_sdk.cursors.window import Window
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.resume import written
from rocketconnect_sdk.source import Edge
from tests.rocketconnect_sdk.cursors.memory import FeedSource, ListSource, MemorySource, PointInTime, Server

SOURCE = MemorySource()
BEGIN = Position((0, 0, 0))


@pytest.fixture(autouse=True)
def server() -> Iterator[Server]:
    MemorySource.server = Server()
    yield MemorySource.server
    del MemorySource.server


def started(
    positions: Mapping[str, Position] | None = None,
    context: TaskContext | None = None,
    source: MemorySource = SOURCE,
    **options: str,
) -> CursorTask:
    config = parse(source.options, {"poll.interval": "10ms", **options})
    task = source.open(config, source.plan(config, 1, {}).tasks[0], context or TaskContext())
    task.start(positions or {})
    return task


def polled(task: CursorTask, count: int = 20) -> list[SourceBatch]:
    found = []
    for _ in range(count):
        batches = batches_of(task.poll())
        found += batches
        if not batches:
            time.sleep(min(task.idle_seconds, 0.01))
    return found


def values(batches: list[SourceBatch]) -> list[object]:
    return [value for batch in batches for value in batch.values]


def after(batch: SourceBatch) -> dict[str, Position]:
    return {batch.partition: Position(batch.end, batch.resume or {})}


def test_streams_are_shared_by_tasks_and_one_that_is_made_anew_is_another_one(server: Server) -> None:
    server.lists |= {"b": [], "c": []}
    plan = SOURCE.plan(parse(SOURCE.options, {}), 2, {})
    assert [task["streams"] for task in plan.tasks] == ["a\t\nc\t", "b\t"]
    assert plan.replan_after is None
    server.lists.clear()
    assert [task["streams"] for task in SOURCE.plan(parse(SOURCE.options, {}), 2, {}).tasks] == [""]
    task = started()
    assert not task.finished
    assert (task.poll(), task.idle_seconds) == (None, 60.0)


def test_one_round_is_done_once(server: Server) -> None:
    server.add(["1", "2"])
    task = started(once="true")
    (batch,) = polled(task)
    assert task.finished
    assert task.idle_seconds == 60.0
    server.add(["3"])
    again = started(after(batch), once="true")
    assert (polled(again), again.finished) == ([], True)
    server.lists["a"].clear()
    empty = started(once="true")
    (batch,) = polled(empty)
    assert (len(batch), batch.end[2], empty.finished) == (0, 1, True)


def test_a_session_ends_when_what_it_gave_is_stored(server: Server) -> None:
    server.add(["1", "2"])
    task = started()
    (batch,) = batches_of(task.poll())
    assert server.ended == []
    task.committed({"a": Position((0, 0, 1))})
    assert server.ended == []
    task.committed(after(batch))
    assert server.ended == [1]
    # That of a round which gave nothing ends with it.
    polled(task, 3)
    assert not server.sessions


def test_a_session_is_kept_alive_and_one_that_has_ended_is_begun_anew(server: Server) -> None:
    server.add(["1", "2", "3"])
    task = started(context=TaskContext(batch_records=2))
    assert task.keep_alive_seconds == float("inf")
    polled(task, 1)
    task.keep_alive()
    assert server.kept == [1]
    server.lose()
    task.keep_alive()
    assert values(polled(task)) == ["3"]


def test_pages_are_as_large_as_batches_and_smaller_where_they_are_too_large(server: Server) -> None:
    server.add([str(number) for number in range(100)])
    server.largest = 20
    batches = polled(started(context=TaskContext(batch_records=50)))
    assert [len(batch) for batch in batches] == [12] * 8 + [4]
    batches = polled(started(context=TaskContext(batch_bytes=5)), 40)
    # A row has one byte here; the first page can't know that.
    assert [len(batch) for batch in batches][:3] == [19, 5, 5]
    server.largest = 0
    task = started(context=TaskContext(batch_records=2))
    task.poll()
    with pytest.raises(PermanentError, match="a: 1 rows"):
        task.poll()


def test_a_stream_that_is_gone_is_told_and_another_plan_is_asked_for(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.lists["b"] = [(1, "b")]
    asked: list[int] = []
    task = started(context=TaskContext(replan=lambda: asked.append(1)))
    del server.lists["a"]
    assert values(polled(task)) == ["b"]
    assert asked == [1]
    assert "a is not there any more, and what was not read of it is lost: no such list" in caplog.text


def test_a_server_that_is_away_and_one_whose_sessions_end_at_once_are_waited_for(server: Server) -> None:
    server.add(["1"])
    task = started()
    server.away = True
    with pytest.raises(SystemAway, match="the server is away"):
        task.poll()
    server.away = False
    server.sessions = _Forgetful()
    with pytest.raises(SystemAway, match="a: a session has ended before it gave anything: no such session"):
        task.poll()
    task.close()
    with pytest.raises(SystemAway, match="closed"):
        task.poll()


@pytest.mark.parametrize("source", [SOURCE, ListSource()])
def test_after_a_server_was_away_reading_goes_on_where_it_was_by_another_connection(server: Server, source: MemorySource) -> None:
    server.add(["1", "2", "3", "4"])
    task = started(context=TaskContext(batch_records=2), source=source)
    first = polled(task, 1)
    server.away = True
    for _ in range(2):
        with pytest.raises(SystemAway, match="the server is away"):
            task.poll()
    server.away = False
    second = polled(task)
    assert values([*first, *second]) == ["1", "2", "3", "4"]
    assert second[0].offsets[0] > first[0].offsets[-1]
    assert server.connections == 3


class _Forgetful(dict):  # type: ignore[type-arg]  # it holds nothing
    def __setitem__(self, key: object, value: object) -> None:
        """Keeps nothing."""


def test_rows_have_keys_times_and_a_number_of_those_that_are_left(server: Server) -> None:
    server.add(["1", "2", "3"])
    task = started(None, TaskContext(batch_records=2), SOURCE, **{"poll.interval": "60s"})
    (batch,) = polled(task, 1)
    assert (batch.keys, batch.size, task.remaining(), task.caught_up) == (["1", "2"], 2, 1, False)
    polled(task)
    assert (task.remaining(), task.caught_up) == (None, True)


def test_what_was_moved_by_hand_begins_at_the_beginning(server: Server) -> None:
    server.add(["1"])
    config = parse(SOURCE.options, {})
    assert SOURCE.find_position(config, "a", Edge.EARLIEST) == BEGIN
    assert SOURCE.find_position(config, "a", Edge.LATEST) is None
    assert list(SOURCE.check_position(config, "a", BEGIN)) == []
    for wrong in ((), (-1, 0, 0), (1,), (1, 2, 3)):
        (problem,) = SOURCE.check_position(config, "a", Position(wrong))
        assert "Give [0, 0, 0]" in problem.fix
    (batch,) = polled(started({"a": BEGIN}))
    assert values([batch]) == ["1"]
    # A clock that was put back gives no offset that was given.
    far = {"a": replace(after(batch)["a"], offset=(7, 1 << 60, 5))}
    server.add(["2"])
    (batch,) = polled(started(far))
    assert batch.offsets[0] > (7, 1 << 60, 5)


def test_a_cursor_goes_on_over_rounds_and_moves_the_position_only_when_it_moves(server: Server) -> None:
    server.add(["1", "2", "3"])
    task = started(context=TaskContext(batch_records=2), source=FeedSource())
    first, second = polled(task)
    assert values([first, second]) == ["1", "2", "3"]
    server.add(["4"])
    assert values(polled(started(after(second), source=FeedSource()))) == ["4"]


def test_a_row_that_stands_on_two_pages_of_a_list_is_given_once(server: Server) -> None:
    server.add(["1", "2", "3", "4"])
    task = started(context=TaskContext(batch_records=2), source=ListSource())
    found = values(polled(task, 1))
    server.lists["a"].insert(0, (1, "0"))
    found += values(polled(task))
    assert found == ["1", "2", "3", "4", "0"]


def test_more_rows_of_an_overlap_than_a_map_holds_come_again_after_a_start_alone(server: Server) -> None:
    server.late = 10**9
    server.add([str(number) for number in range(window.STORED + 500)])
    task = started(context=TaskContext(batch_records=1000))
    batches = polled(task)
    assert len(values(batches)) == window.STORED + 500
    assert len(written(batches[-1].resume)) < 64 << 10
    assert len(values(polled(started(after(batches[-1]))))) == 500


def test_more_rows_than_are_remembered_are_told_and_never_doubled(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(window, "KEPT", 50)
    monkeypatch.setattr(window, "_PRUNED", 60)
    server.late = 10**9
    server.add([str(number) for number in range(200)])
    task = started(context=TaskContext(batch_records=20))
    assert len(values(polled(task, 60))) == 200
    server.add(["new"])
    assert values(polled(task, 60)) == ["new"]
    assert caplog.text.count("more rows are in the overlap than can be remembered") == 1


def test_more_rows_of_one_mark_than_are_remembered_end_the_task(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "KEPT", 50)
    monkeypatch.setattr(window, "_PRUNED", 60)
    server.lists["a"] = [(7, str(number)) for number in range(100)]
    with pytest.raises(PermanentError, match="more than 50 rows have the mark 7, and no more can be told from new ones"):
        polled(started(context=TaskContext(batch_records=20)))


def test_rows_without_a_mark_are_remembered_with_the_newest_one() -> None:
    known = Window({}, lambda mark: mark)
    known.begin()
    assert known.new([None, 5, None], ["a", "b", "c"], ordered=True) == [0, 1, 2]
    known.begin()
    assert known.new([5, None, None], ["b", "c", "d"], ordered=True) == [2]


def test_a_row_of_a_clock_that_is_ahead_hides_none_that_come_later(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(PointInTime, "latest", lambda *_: 100_000)
    server.lists["a"] = [(5_000, "one"), (9_000_000, "ahead")]
    task = started()
    assert [value for batch in polled(task) for value in batch.values] == ["one", "ahead"]
    server.lists["a"][1:1] = [(5_010, "two"), (100_000, "three")]
    found = polled(task)
    assert [value for batch in found for value in batch.values] == ["two", "three"]
    assert "a: a row has 9000000 as the time" in caplog.text
    server.lists["a"].insert(3, (100_000, "four"))
    again = started(after(found[-1]), context=TaskContext(epoch=2))
    assert "four" in [value for batch in polled(again) for value in batch.values]
    assert not polled(again)


def test_a_position_that_is_ahead_of_now_is_told_at_start_with_the_command_that_mends_it(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server.lists["a"] = [(5_000, "one"), (9_000_000, "ahead")]
    stored = after(polled(started())[-1])
    server.lists["a"].insert(1, (6_000, "hidden"))
    monkeypatch.setattr(PointInTime, "latest", lambda *_: 100_000)
    assert not values(polled(started(stored, TaskContext(epoch=2))))
    (partition,) = stored
    command = f"`rocketconnect position set test --to-earliest --partition {quote(partition)} --restart`"
    assert [text for text in caplog.messages if "a: its position is at 9000000" in text and command in text]
    caplog.clear()
    place = SOURCE.find_position(parse(SOURCE.options, {}), partition, Edge.EARLIEST)
    assert place is not None
    assert values(polled(started({partition: place}, TaskContext(epoch=3)))) == ["one", "hidden", "ahead"]
    assert not [text for text in caplog.messages if "its position is at" in text]


def test_rows_of_clocks_that_are_ahead_alone_are_given_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PointInTime, "latest", lambda *_: 100_000)
    server.lists["a"] = [(9_000_000, "ahead")]
    task = started()
    assert [value for batch in polled(task) for value in batch.values] == ["ahead"]
    assert not [value for batch in polled(task) for value in batch.values]


def test_a_session_that_is_not_the_same_again_counts_anew(server: Server) -> None:
    server.add(["1", "2", "3", "4"])
    first = polled(started(context=TaskContext(batch_records=2), source=ListSource()), 1)[0]
    second = polled(started(after(first), context=TaskContext(epoch=2, batch_records=2), source=ListSource()), 1)[0]
    assert values([first, second]) == ["1", "2", "3", "4"]
    assert second.offsets[0][0] == 2
    assert second.offsets[0][2] == 1
    again = polled(started(after(first), context=TaskContext(epoch=3, batch_records=2), source=ListSource()), 1)[0]
    assert again.offsets[0] > second.offsets[-1]


class ScrolledSource(MemorySource):
    """Sessions that give rows in no order, and may end."""

    name = "scrolled_source"

    def connect(self, config: Config, context: TaskContext) -> Connection:
        return _Scrolled(self.server)


class _Scrolled(PointInTime):
    ordered = False


def test_a_session_of_rows_in_no_order_that_has_ended_is_read_again_from_its_beginning(server: Server) -> None:
    server.lists["a"] = [(9_000, "newest"), (1, "old"), (2, "older")]
    task = started(context=TaskContext(batch_records=1), source=ScrolledSource())
    assert values(polled(task, 1)) == ["newest"]
    server.lose()
    assert values(polled(task)) == ["old", "older"]
