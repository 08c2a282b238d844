import pytest

from connectors.hive_sink import HiveSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.conformance.runs import ROW
from tests.connectors.hive_sink.table import Table
from tests.connectors.object_store_sink.prefix import row

pytestmark = pytest.mark.spark
CALLS = ("connectors.hive.thrift:call",)


class TestPartitions(SinkSuite):
    @pytest.fixture
    def case(self, table: Table) -> SinkCase:
        def read() -> list[object]:
            return [row | {"queue": int(row["queue"])} for row in table.rows()]

        options = table.options(**{"partition.path": "queue={field:queue}"})
        return SinkCase(HiveSink(), options, read, row, ROW, table.folder.parent, calls=CALLS)

    @pytest.mark.slow
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """There are some hundred steps."""
        super().test_killed_at_any_step_it_goes_on_with_every_record(case)


@pytest.mark.slow
class TestNoPartitions(SinkSuite):
    @pytest.fixture
    def case(self, table: Table) -> SinkCase:
        return SinkCase(HiveSink(), table.options(), table.rows, row, ROW, table.folder.parent, calls=CALLS)
