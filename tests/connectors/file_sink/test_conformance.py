import csv
import json
from pathlib import Path

import pyarrow.dataset as pads
import pyarrow.orc as paorc
import pytest

from connectors.file_sink import FileSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from tests.suites import slow_but

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


@pytest.mark.slow
class TestText(SinkSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        path = tmp_path / "out *?[a]{b} %20: ü.txt"
        return SinkCase(FileSink(), {"filename": str(path)}, lambda: path.read_text().splitlines(), directory=tmp_path)


class TestJsonLines(SinkSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        path = tmp_path / "out.jsonl"
        options = {"filename": str(path), "format": "jsonlines"}
        return SinkCase(FileSink(), options, lambda: list(map(json.loads, path.read_text().splitlines())), row, ROW, tmp_path)

    @pytest.mark.slow
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """There are some tens of steps."""
        super().test_killed_at_any_step_it_goes_on_with_every_record(case)

    def test_killed_at_every_eighth_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        self.killed_at_steps(case, 8)


@pytest.mark.slow
class TestCsv(SinkSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        path = tmp_path / "out.csv"

        def read() -> list[dict[str, object]]:
            with path.open(newline="") as file:
                rows = list(csv.reader(file))
            assert rows[0] == ["queue", "offset", "text"]
            return [{"queue": int(queue), "offset": int(offset), "text": text or None} for queue, offset, text in rows[1:]]

        return SinkCase(FileSink(), {"filename": str(path), "format": "csv"}, read, row, ROW, tmp_path)


@slow_but(
    "test_every_record_is_there_and_in_order",
    "test_it_goes_on_where_it_was",
    "test_killed_at_every_eighth_step_it_goes_on_with_every_record",
    "test_rows_of_another_table_are_bad_records",
    "test_a_full_disk_keeps_nothing_of_a_batch_and_goes_on_when_there_is_room",
)
class TestParquet(SinkSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        path = tmp_path / "out"

        def read() -> list[object]:
            rows = pads.dataset(path, format="parquet").to_table().to_pylist()
            return sorted(rows, key=lambda found: found["offset"])

        return SinkCase(FileSink(), {"filename": str(path), "format": "parquet"}, read, row, ROW, tmp_path)

    def test_killed_at_every_eighth_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        self.killed_at_steps(case, 8)


@pytest.mark.slow
class TestOrc(SinkSuite):
    """Of JSON text, by columns."""

    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        path = tmp_path / "out"

        def read() -> list[object]:
            rows = [row for file in path.glob("*.orc") for row in paorc.read_table(file).to_pylist()]
            return [json.dumps(row) for row in sorted(rows, key=lambda row: row["offset"])]

        def value(queue: int, offset: int) -> str:
            return json.dumps({"queue": queue, "offset": offset})

        options = {"filename": str(path), "format": "orc", "columns": "queue:int32,offset:int64"}
        return SinkCase(FileSink(), options, read, value, STRING, tmp_path, unwritable='{"queue": "first"}')
