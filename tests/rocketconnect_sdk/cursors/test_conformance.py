"""Sources of pages in the three forms that there are pass what all of them must."""

from collections.abc import Iterator

import pytest

from rocketconnect_sdk.conformance.cursor import CursorCase, CursorSuite
from tests.rocketconnect_sdk.cursors.memory import FeedSource, ListSource, MemorySource, Server

CONFIG = {"poll.interval": "10ms"}


@pytest.fixture(autouse=True)
def server() -> Iterator[Server]:
    MemorySource.server = Server()
    yield MemorySource.server
    del MemorySource.server


class TestPointsInTime(CursorSuite):
    @pytest.fixture
    def case(self, server: Server) -> CursorCase:
        calls = ("tests.rocketconnect_sdk.cursors.memory:Page",)
        return CursorCase(
            MemorySource(), CONFIG, server.add, late=server.add_late, lose=server.lose, stable=True, calls=calls, every=5
        )


class TestLists(CursorSuite):
    @pytest.fixture
    def case(self, server: Server) -> CursorCase:
        calls = ("tests.rocketconnect_sdk.cursors.memory:Page",)
        return CursorCase(ListSource(), CONFIG, server.add, late=server.add_late, calls=calls, every=7)


class TestFeeds(CursorSuite):
    @pytest.fixture
    def case(self, server: Server) -> CursorCase:
        calls = ("tests.rocketconnect_sdk.cursors.memory:Page",)
        return CursorCase(FeedSource(), CONFIG, server.add, calls=calls, every=7)
