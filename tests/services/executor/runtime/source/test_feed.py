"""A source of opaque cursors does what every source must do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.plugins import loader
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.testing import at
from tests.services.executor.runtime.plugins.feed import PARTITION, Feed, FeedServer

ITEMS = [f"item {number}" for number in range(53)]


@pytest.fixture
def feed() -> Iterator[FeedServer]:
    with FeedServer(ITEMS, page=7) as made:
        yield made


class TestFeed(SourceSuite):
    @pytest.fixture
    def case(self, feed: FeedServer) -> SourceCase:
        return SourceCase(Feed(), {"url": feed.url}, ITEMS)


class TestFeedThatDoesNotReplay(SourceSuite):
    @pytest.fixture
    def case(self, feed: FeedServer) -> SourceCase:
        return SourceCase(Feed(), {"url": feed.url, "stable": "false"}, ITEMS)


def test_a_source_that_needs_a_map_refuses_an_offset_alone(feed: FeedServer) -> None:
    case = SourceCase(Feed(), {"url": feed.url})
    (problem,) = Feed().check_position(case.parsed, PARTITION, Position((7,)))
    assert (problem.key, problem.reason) == (PARTITION, "has no cursor, and the feed can't be entered without")
    task = Feed().open(case.parsed, {}, TaskContext())
    with pytest.raises(PermanentError, match=r"the position \[7\] has no cursor"):
        task.start(at({PARTITION: (7,)}))


def test_what_is_promised_of_a_source_follows_whether_its_configuration_decides_that_it_replays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "plugins"))
    loader.catalogue.cache_clear()
    promised = {info.name: info.guarantee for info in loader.plugins()}
    loader.catalogue.cache_clear()
    assert promised["feed"] == "depends on the configuration"
    assert (promised["lines"], promised["file_source"], promised["jdbc_source"]) == (
        "EXACTLY_ONCE",
        "EXACTLY_ONCE",
        "AT_LEAST_ONCE",
    )
