"""What every sink must do, killed before each request."""

from collections.abc import Iterator

import pytest

from connectors.http.sink import HttpSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from tests.connectors.http.receiver import Receiver
from tests.suites import slow_but


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver().running() as server:
        yield server


def case_of(server: Receiver, **given: str) -> SinkCase:
    def read() -> list[object]:
        if given.get("request.format") == "array":
            return [value for each in server.seen for value in each.json]
        return [line for each in server.seen for line in each.body.decode().splitlines()]

    return SinkCase(HttpSink(), {"url": f"{server.url}/hook", **given}, read, calls=("connectors.http.connection:send",))


class TestArrays(SinkSuite):
    @pytest.fixture
    def case(self, receiver: Receiver) -> SinkCase:
        return case_of(receiver, **{"request.format": "array", "request.records": "20"})

    @pytest.mark.slow
    def test_a_large_batch_is_there_and_in_order(self, case: SinkCase) -> None:
        super().test_a_large_batch_is_there_and_in_order(case)


@slow_but("test_every_record_is_there_and_in_order", "test_it_goes_on_where_it_was")
class TestSingle(SinkSuite):
    @pytest.fixture
    def case(self, receiver: Receiver) -> SinkCase:
        return case_of(receiver)


@slow_but("test_every_record_is_there_and_in_order")
class TestJoined(SinkSuite):
    @pytest.fixture
    def case(self, receiver: Receiver) -> SinkCase:
        return case_of(receiver, **{"request.format": "joined", "request.bytes": "4KiB"})


def _keyed(queue: int, offset: int) -> object:
    return {"queue": queue, "offset": offset}


@slow_but("test_every_record_is_there_and_in_order")
class TestParallel(SinkSuite):
    """Deletions are by key, and so are rows: each to its URL. Of each key there is one record, so what is there has no order."""

    @pytest.fixture
    def case(self, receiver: Receiver) -> SinkCase:
        config = {"url": f"{receiver.url}/${{value.queue}}/${{value.offset}}", "request.parallel": "4", "delete.enabled": "true"}

        def read() -> list[object]:
            return sorted((each.json for each in receiver.seen), key=lambda value: (value["queue"], value["offset"]))

        return SinkCase(HttpSink(), config, read, value=_keyed, schema=None, calls=("connectors.http.connection:send",))
