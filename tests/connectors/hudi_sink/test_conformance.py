import pytest

from tests.connectors.hudi_sink.tables import Hudi
from tests.connectors.lakes.conformance import JsonSuite, RowsSuite, UpsertsSuite

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


@pytest.mark.slow
class TestRows(RowsSuite):
    lake = Hudi


@pytest.mark.slow
class TestJsonByColumns(JsonSuite):
    lake = Hudi


@pytest.mark.slow
class TestUpserts(UpsertsSuite):
    lake = Hudi
