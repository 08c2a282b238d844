import json
from pathlib import Path

import pytest

from connectors.delta_sink import DeltaSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from tests.connectors.delta_sink.spark import read, settings

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
    return sorted(read(path), key=lambda found: str(found["offset"]).zfill(9)) if (path / "_delta_log").exists() else []


class DeltaSuite(SinkSuite):
    @pytest.mark.parametrize(("older", "newer"), [pytest.param((1, 1), (1, 2), marks=pytest.mark.slow), ((1, 9), (2, 10))])
    def test_an_older_owner_is_refused(self, case: SinkCase, older: tuple[int, int], newer: tuple[int, int]) -> None:
        """A newer plan has higher epochs, too: the cluster service draws all of them from one number."""
        super().test_an_older_owner_is_refused(case, older, newer)


class TestRows(DeltaSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        path = tmp_path / "table of [ü] *"
        calls = ("connectors.delta_sink.table:append", "connectors.delta_sink.table:commit")
        return SinkCase(
            DeltaSink(), {"path": str(path)}, lambda: ordered(path), row, ROW, tmp_path, settings=settings(), calls=calls
        )

    @pytest.mark.slow
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """A commit takes a second, and there are some tens of steps."""
        super().test_killed_at_any_step_it_goes_on_with_every_record(case)


@pytest.mark.slow
class TestJsonByColumns(DeltaSuite):
    """In partitions."""

    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        path = tmp_path / "table"

        def value(queue: int, offset: int) -> str:
            return json.dumps({"queue": queue, "offset": offset})

        options = {"path": str(path), "columns": "queue:int32,offset:int64", "partition.by": "queue"}
        return SinkCase(
            DeltaSink(),
            options,
            lambda: [json.dumps(found) for found in ordered(path)],
            value,
            STRING,
            tmp_path,
            unwritable='{"queue": "first"}',
            settings=settings(),
        )


@pytest.mark.slow
class TestUpserts(DeltaSuite):
    """A MERGE takes some seconds."""

    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        path = tmp_path / "table"
        options = {"path": str(path), "insert.mode": "upsert", "pk.fields": "queue,offset"}
        return SinkCase(DeltaSink(), options, lambda: ordered(path), row, ROW, tmp_path, settings=settings())

    @pytest.mark.skip(reason="the steps are those of TestRows but for the commit, which has tests in test_upserts.py")
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """There are some tens of steps."""
