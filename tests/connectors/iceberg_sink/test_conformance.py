import json
from pathlib import Path

import pytest

from connectors.iceberg_sink import IcebergSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from tests.connectors.iceberg_sink.spark import read, settings

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
ROW = struct(
    [("queue", Schema(Type.INT32)), ("offset", Schema(Type.INT64)), ("text", Schema(Type.STRING, optional=True))], name="row"
)


def row(queue: int, offset: int) -> dict[str, object]:
    return {"queue": queue, "offset": offset, "text": None if offset % 7 == 0 else f'"ü", {offset}\n'}


def ordered(path: Path) -> list[dict[str, object]]:
    """The rows by offset: a table has no order."""
    return sorted(read(path), key=lambda found: str(found["offset"]).zfill(9)) if list(path.glob("metadata/v*")) else []


class IcebergSuite(SinkSuite):
    @pytest.mark.parametrize(("older", "newer"), [((1, 1), (1, 2)), ((1, 9), (2, 10))])
    def test_an_older_owner_is_refused(self, case: SinkCase, older: tuple[int, int], newer: tuple[int, int]) -> None:
        """A newer plan has higher epochs, too: the cluster service draws all of them from one number."""
        super().test_an_older_owner_is_refused(case, older, newer)


class TestRows(IcebergSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        warehouse = tmp_path / "lake of [ü] *"
        options = {"warehouse": str(warehouse), "table": "db.rows"}
        calls = ("connectors.iceberg_sink.catalogs:link",)
        return SinkCase(
            IcebergSink(), options, lambda: ordered(warehouse / "db" / "rows"), row, ROW, tmp_path, settings=settings(), calls=calls
        )

    @pytest.mark.slow
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """There are more than a hundred steps."""
        super().test_killed_at_any_step_it_goes_on_with_every_record(case)


@pytest.mark.slow
class TestJsonByColumns(IcebergSuite):
    """In partitions."""

    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        warehouse = tmp_path / "lake"

        def value(queue: int, offset: int) -> str:
            return json.dumps({"queue": queue, "offset": offset})

        columns = "queue:int32,offset:int64"
        options = {"warehouse": str(warehouse), "table": "db.rows", "columns": columns, "partition.by": "queue, bucket(2, offset)"}
        return SinkCase(
            IcebergSink(),
            options,
            lambda: [json.dumps(found) for found in ordered(warehouse / "db" / "rows")],
            value,
            STRING,
            tmp_path,
            unwritable='{"queue": "first"}',
            settings=settings(),
        )

    @pytest.mark.skip(reason="the steps are those of TestRows")
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """There are more than a hundred steps."""


@pytest.mark.slow
class TestUpserts(IcebergSuite):
    """Files are written anew."""

    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        warehouse = tmp_path / "lake"
        options = {"warehouse": str(warehouse), "table": "db.rows", "insert.mode": "upsert", "pk.fields": "queue,offset"}
        return SinkCase(IcebergSink(), options, lambda: ordered(warehouse / "db" / "rows"), row, ROW, tmp_path, settings=settings())

    @pytest.mark.skip(reason="the steps are those of TestRows")
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """There are more than a hundred steps."""
