import importlib
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow.dataset as pads
import pytest

from connectors.object_store_sink import ObjectStoreSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.conformance.kill import run_and_kill
from rocketconnect_sdk.conformance.sink_case import expected, seen, writing
from tests.connectors.object_store_sink.prefix import ROW, files_in, lines_of, row, table_of
from tests.servers.s3 import S3

STEPS = 12
"""Two batches of two queues are so many calls of the store, at least."""
CALLS = ("obstore:put", "obstore:copy", "obstore:delete")


class TestFolder(SinkSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        target = tmp_path / "disk"
        target.mkdir()

        def read() -> list[object]:
            files = [path for path in target.rglob("*.parquet") if "_rocketconnect" not in path.parts]
            return [row for path in sorted(files) for row in pads.dataset(path, format="parquet").to_table().to_pylist()]

        return SinkCase(ObjectStoreSink(), {"url": f"file://{target}/out"}, read, row, ROW, target)


@pytest.mark.slow
class TestFolderOfLines(SinkSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        target = tmp_path / "disk"
        target.mkdir()
        options = {"url": f"file://{target}", "format": "jsonlines", "partition.path": ""}
        return SinkCase(ObjectStoreSink(), options, lambda: lines_of(lambda: files_in(target)), row, ROW, target)


def bucket_case(server: S3, bucket: str, **options: str) -> SinkCase:
    def read() -> list[object]:
        there = [key for key in server.keys(bucket, "data/") if not key.startswith("data/_")]
        return list(table_of(server, f"{bucket}/data")) if there else []

    return SinkCase(ObjectStoreSink(), server.options() | {"url": f"s3://{bucket}/data"} | options, read, row, ROW, calls=CALLS)


class TestBucket(SinkSuite):
    @pytest.fixture
    def case(self, server: S3, bucket: str) -> SinkCase:
        return bucket_case(server, bucket)

    @pytest.mark.slow
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """In a process that has no threads of obstore, which no fork has."""
        url, place = case.config["endpoint"], case.config["url"]
        code = f"from {__name__} import killed; killed({url!r}, {place!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=500)
        assert done.returncode == 0, done.stdout + done.stderr


def killed(url: str, place: str) -> None:
    """The test of the suite, in which whoever goes on after a death is a fork, too."""
    # What is loaded here, each of them has.
    importlib.import_module("connectors.object_store_sink.task")
    importlib.import_module("connectors.object_store_sink.bucket")
    case = bucket_case(S3(url), place.removeprefix("s3://").partition("/")[0])
    for step in range(1, 100):
        until = 20 * step
        was_killed = run_and_kill(partial(_write, case, 2 * step, (until - 10, until)), step, CALLS)
        assert not run_and_kill(partial(_write, case, 2 * step + 1, (until,)), 0)
        assert seen(case, until) == expected(case, until)
        if not was_killed:
            assert step > STEPS
            return
    pytest.fail("a batch takes more steps than it should")


def _write(case: SinkCase, epoch: int, ends: Sequence[int]) -> None:
    with writing(case, epoch=epoch) as writer:
        writer.start()
        for until in ends:
            writer.write(until)
