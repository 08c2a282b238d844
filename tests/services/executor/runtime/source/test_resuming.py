"""Sources that need a map beside the offset, against a real broker and a real position service."""

import json
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from rocketconnect.position.v1 import position_service_pb2 as wire
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub

from rocketconnect_sdk.record import SourceBatch
from services.executor.contract.task import Kind, State
from services.executor.runtime.source.loop import SourceRun
from tests.services.executor.runtime.conftest import PositionProcess, Tasks, rows
from tests.services.executor.runtime.plugins.feed import PARTITION, FeedServer

pytestmark = pytest.mark.rocketmq


def items(count: int, start: int = 0) -> list[str]:
    return [f"item {number}" for number in range(start, start + count)]


@pytest.fixture
def feed() -> Iterator[FeedServer]:
    with FeedServer(page=10) as made:
        yield made


def stored(tasks: Tasks, kind: Kind = Kind.SOURCE) -> tuple[int, Any] | None:
    """The offset of the feed, and what is stored with it."""
    request = wire.ListPositionsRequest(connector_uid=f"{kind.name.lower()}-{tasks.unique}")
    with grpc.insecure_channel(tasks.position) as channel:
        for position in PositionServiceStub(channel).ListPositions(request, timeout=60).positions:
            if position.partition == PARTITION and position.offset != "[]":
                return json.loads(position.offset)[0], json.loads(position.resume or "null")
    return None


def test_a_source_goes_on_with_the_map_of_the_last_batch_that_was_done(tasks: Tasks, feed: FeedServer) -> None:
    feed.items = items(25)
    config = {"connector.class": "feed", "url": feed.url}
    first = tasks.start(Kind.SOURCE, config)
    first.reporter.wait_for_out(25)
    assert first.stop().clean
    assert stored(tasks) == (25, {"cursor": feed.cursor(25)})
    feed.items += [*items(5, 25), "#", "#"]
    asked = len(feed.asked)
    second = tasks.start(Kind.SOURCE, config, epoch=2)
    second.reporter.wait_for_out(5)
    second.reporter.wait_for(lambda: stored(tasks) == (32, {"cursor": feed.cursor(32)}))
    assert second.stop().clean
    assert feed.asked[asked] == feed.cursor(25)
    assert tasks.bodies() == items(30)


def test_a_batch_without_records_moves_the_position_with_its_map(tasks: Tasks, feed: FeedServer) -> None:
    feed.items = ["#"] * 10
    running = tasks.start(Kind.SOURCE, {"connector.class": "feed", "url": feed.url})
    running.reporter.wait_for(lambda: stored(tasks) == (10, {"cursor": feed.cursor(10)}))
    assert running.stop().clean
    assert tasks.bodies() == []


def test_what_was_sent_behind_the_last_position_is_read_again_from_its_map_and_not_sent_again(
    tasks: Tasks, feed: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed.items = items(20)
    config = {"connector.class": "feed", "url": feed.url}
    first = tasks.start(Kind.SOURCE, config)
    first.reporter.wait_for_out(20)
    first.reporter.wait_for(lambda: stored(tasks) == (20, {"cursor": feed.cursor(20)}))
    with monkeypatch.context() as never_committed:
        never_committed.setattr(SourceRun, "_put", lambda run, now: None)
        feed.items += items(25, 20)
        first.reporter.wait_for_out(45)
        first.control.fence()
        assert first.end().fenced
    assert stored(tasks) == (20, {"cursor": feed.cursor(20)})
    feed.items += items(5, 45)
    # Pages end elsewhere now.
    feed.page = 7
    second = tasks.start(Kind.SOURCE, config, epoch=2)
    second.reporter.wait_for(lambda: stored(tasks) == (50, {"cursor": feed.cursor(50)}))
    assert second.stop().clean
    assert second.reporter.metrics.duplicates_skipped == 25
    assert tasks.bodies() == items(50)


@pytest.mark.parametrize("chained", [False, True])
def test_a_bad_record_within_a_batch_leaves_the_position_before_it_and_what_was_sent_of_it_is_not_sent_again(
    tasks: Tasks, feed: FeedServer, chained: bool
) -> None:
    feed.items = [*items(14), "!", *items(5, 14)]
    loud = {"transforms": "loud", "transforms.loud.type": "loud"} if chained else {}
    config = {"connector.class": "feed", "url": feed.url, **loud}
    outcome = tasks.start(Kind.SOURCE, config).end()
    assert (outcome.failed, outcome.clean) == (True, False)
    assert stored(tasks) == (10, {"cursor": feed.cursor(10)})
    assert len(tasks.bodies()) == 14
    second = tasks.start(Kind.SOURCE, {**config, "errors.tolerance": "all"}, epoch=2)
    second.reporter.wait_for(lambda: stored(tasks) == (20, {"cursor": feed.cursor(20)}))
    assert second.stop().clean
    assert [body.lower() for body in tasks.bodies()] == items(19)


def test_of_a_batch_that_transforms_split_the_position_moves_to_the_end_alone(
    tasks: Tasks, feed: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second item gets a schema of its own, so that each is a batch of its own; the converter fails at the last one."""
    from services.executor.runtime.source import loop

    def split(chain: object, batch: SourceBatch, routes: object) -> list[SourceBatch]:
        return [
            SourceBatch(batch.partition, [value], [offset], resume=batch.resume)
            for value, offset in zip(batch.values, batch.offsets, strict=True)
        ]

    monkeypatch.setattr(loop, "of_topics", split)
    feed.items = [*items(19), "!"]
    outcome = tasks.start(Kind.SOURCE, {"connector.class": "feed", "url": feed.url}).end()
    assert (outcome.failed, outcome.clean) == (True, False)
    assert stored(tasks) == (10, {"cursor": feed.cursor(10)})
    assert tasks.bodies() == items(19)


def test_a_map_that_cannot_be_stored_fails_the_task_before_anything_of_its_batch_is_sent(
    tasks: Tasks, feed: FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed.items = items(10)
    monkeypatch.setattr(feed, "cursor", lambda count: "secret" * 20_000 if count else "")
    outcome = tasks.start(Kind.SOURCE, {"connector.class": "feed", "url": feed.url}).end()
    assert (outcome.failed, outcome.permanent) == (True, True)
    assert "FeedTask, source partition feed: the position that a batch ends at can't be stored" in outcome.error
    assert "resume takes 120,013 bytes as JSON" in outcome.error
    assert "secret" not in outcome.error
    assert (tasks.bodies(), stored(tasks)) == ([], None)


@pytest.mark.parametrize("known", [0, 20])
def test_a_direct_task_goes_on_with_the_map_that_is_stored_and_drops_what_the_sink_has(
    tasks: Tasks, positions: PositionProcess, feed: FeedServer, known: int
) -> None:
    """The first one stores nothing but where it began, or where it was when the position service went away."""
    table = tasks.path / "rows.db"
    config = {
        "connector.class": "direct",
        "source.connector.class": "feed",
        "source.url": feed.url,
        "sink.connector.class": "table",
        "sink.file": str(table),
    }
    feed.items = items(known)
    first = tasks.start(Kind.DIRECT, config)
    if known:
        kept = {"until": 20, "resume": {"cursor": feed.cursor(20)}}
        first.reporter.wait_for(lambda: stored(tasks, Kind.DIRECT) == (20, kept))
        positions.stop()
        feed.items += items(15, 20)
        first.reporter.wait_for_out(35)
    else:
        # It is told that the partition begins, and nothing more.
        first.reporter.wait_for_state(State.IDLE)
        feed.items += items(35)
        first.reporter.wait_for(lambda: first.reporter.metrics.commits > 0)
        positions.stop()
        first.reporter.wait_for_out(35)
    first.control.fence()
    assert first.end().fenced
    positions.start()
    feed.items += items(5, 35)
    second = tasks.start(Kind.DIRECT, config, epoch=2)
    second.reporter.wait_for(lambda: len(rows(table)) == 40)
    second.reporter.wait_for(lambda: stored(tasks, Kind.DIRECT) == (40, {"until": 40, "resume": {"cursor": feed.cursor(40)}}))
    assert second.stop().clean
    assert rows(table) == items(40)
