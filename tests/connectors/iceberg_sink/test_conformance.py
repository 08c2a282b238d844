import pytest

from rocketconnect_sdk.conformance import SinkCase
from tests.connectors.iceberg_sink.tables import Iceberg
from tests.connectors.lakes.conformance import JsonSuite, RowsSuite, UpsertsSuite

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


class TestRows(RowsSuite):
    lake = Iceberg


@pytest.mark.slow
class TestJsonByColumns(JsonSuite):
    lake = Iceberg
    partitions = "queue, bucket(2, offset)"

    @pytest.mark.skip(reason="the steps are those of TestRows")
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """There are more than a hundred steps."""


@pytest.mark.slow
class TestUpserts(UpsertsSuite):
    lake = Iceberg
