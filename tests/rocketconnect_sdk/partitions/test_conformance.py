import pytest

from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from tests.rocketconnect_sdk.partitions.memory import MemorySource, Topic, numbered

EXPECTED = [b"%d" % n for n in range(25)] + [b"%d" % n for n in range(7)]


class TestNumbers(SourceSuite):
    """As Kafka, JetStream, RabbitMQ's streams and RocketMQ have them; what is behind the last record is no record."""

    @pytest.fixture
    def case(self) -> SourceCase:
        behind = numbered(25)
        behind.end = (30,)
        return SourceCase(MemorySource({"t/0": behind, "t/1": numbered(7), "t/2": Topic()}), {}, EXPECTED)


@pytest.mark.slow
class TestPairs(SourceSuite):
    """As streams of Redis have them, with holes."""

    @pytest.fixture
    def case(self) -> SourceCase:
        return SourceCase(MemorySource({"t": numbered(25, width=2), "u": numbered(7, width=2)}), {}, EXPECTED)
