"""What every sink must do, killed before each request."""

from collections.abc import Iterator

import pytest

from connectors.eventbridge.sink import EventBridgeSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from tests.connectors.http.receiver import Receiver
from tests.suites import slow_but


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver().running() as server:
        yield server


def _event(queue: int, offset: int) -> object:
    return {"queue": queue, "offset": offset}


@slow_but("test_every_record_is_there_and_in_order", "test_it_goes_on_where_it_was")
class TestTwoRules(SinkSuite):
    """Each rule has the records of one queue, and each a target of its own: all of a queue are there, in their order."""

    @pytest.fixture
    def case(self, receiver: Receiver) -> SinkCase:
        config = {
            "targets": "even,odd",
            "targets.even.url": f"{receiver.url}/even",
            "targets.odd.url": f"{receiver.url}/odd",
            "rules": "first,second",
            "rules.first.pattern": '{"queue": [0]}',
            "rules.first.targets": "even",
            "rules.second.pattern": '{"queue": [{"anything-but": 0}]}',
            "rules.second.targets": "odd",
        }

        def read() -> list[object]:
            return [each.json for each in receiver.seen]

        calls = ("connectors.eventbridge.target:send",)
        return SinkCase(EventBridgeSink(), config, read, value=_event, schema=None, calls=calls)
