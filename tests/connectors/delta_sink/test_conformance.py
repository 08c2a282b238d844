import pytest

from tests.connectors.delta_sink.tables import Delta
from tests.connectors.lakes.conformance import JsonSuite, RowsSuite, UpsertsSuite

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


@pytest.mark.slow
class TestRows(RowsSuite):
    lake = Delta


@pytest.mark.slow
class TestJsonByColumns(JsonSuite):
    lake = Delta


@pytest.mark.slow
class TestUpserts(UpsertsSuite):
    lake = Delta
