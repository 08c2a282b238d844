import importlib
import io
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow.dataset as pads
import pytest
from pyarrow import parquet

from connectors.object_store_sink import ObjectStoreSink
from connectors.object_store_sink.task import ObjectTask
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.conformance.kill import run_and_kill
from rocketconnect_sdk.conformance.runs import ROW
from rocketconnect_sdk.conformance.sink_case import expected, seen, writing
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config
from tests.connectors.object_store_sink.prefix import files_in, lines_of, row
from tests.connectors.stores import Server, known, made_bucket
from tests.servers.hdfs import Hdfs
from tests.servers.objects.azure import Azure
from tests.servers.objects.google import Google
from tests.servers.objects.s3 import S3
from tests.suites import slow_but

STEPS = 12
"""Two batches of two queues are so many calls of the store, at least."""
CALLS = ("obstore:put", "obstore:copy", "obstore:delete")
HDFS_CALLS = ("connectors.objects.webhdfs:send",)


@slow_but(
    "test_every_record_is_there_and_in_order",
    "test_killed_at_every_fifth_step_it_goes_on_with_every_record",
    "test_a_full_disk_keeps_nothing_of_a_batch_and_goes_on_when_there_is_room",
)
class TestFolder(SinkSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        target = tmp_path / "disk"
        target.mkdir()

        def read() -> list[object]:
            files = [path for path in target.rglob("*.parquet") if "_rocketconnect" not in path.parts]
            return [row for path in sorted(files) for row in pads.dataset(path, format="parquet").to_table().to_pylist()]

        return SinkCase(ObjectStoreSink(), {"url": f"file://{target}/out"}, read, row, ROW, target)

    def test_killed_at_every_fifth_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        self.killed_at_steps(case, 5)


@pytest.mark.slow
class TestFolderOfLines(SinkSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        target = tmp_path / "disk"
        target.mkdir()
        options = {"url": f"file://{target}", "format": "jsonlines", "partition.path": ""}
        return SinkCase(ObjectStoreSink(), options, lambda: lines_of(lambda: files_in(target)), row, ROW, target)


class KnownSink(ObjectStoreSink):
    """With the secrets that tests refer to."""

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> ObjectTask:
        return super().open(known(config), task, context)


def calls_of(server: Server) -> tuple[str, ...]:
    return HDFS_CALLS if isinstance(server, Hdfs) else CALLS


def bucket_case(server: Server, bucket: str) -> SinkCase:
    def read() -> list[object]:
        objects = {name: data for name, data in server.objects(bucket, "data/").items() if not name.startswith("data/_")}
        # Without threads, as it is also read in a process that forks.
        files = [parquet.ParquetFile(io.BytesIO(objects[name]), pre_buffer=False) for name in sorted(objects)]
        return [row for file in files for row in file.read(use_threads=False).to_pylist()]

    options = server.options() | {"url": f"{server.place(bucket)}/data"}
    return SinkCase(KnownSink(), options, read, row, ROW, calls=calls_of(server))


class BucketSuite(SinkSuite):
    """The suite, in which whoever goes on after a death is a fork, too: of a process that has no threads of obstore."""

    @pytest.mark.slow
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        endpoint, place = case.config["endpoint"], case.config["url"]
        code = f"from {__name__} import killed; killed({endpoint!r}, {place!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=500)
        assert done.returncode == 0, done.stdout + done.stderr


class TestBucket(BucketSuite):
    @pytest.fixture
    def case(self, server: S3, bucket: str) -> SinkCase:
        return bucket_case(server, bucket)


@slow_but("test_every_record_is_there_and_in_order")
class TestGoogle(BucketSuite):
    @pytest.fixture
    def case(self, google_server: Google) -> SinkCase:
        return bucket_case(google_server, made_bucket(google_server))


@slow_but("test_every_record_is_there_and_in_order")
class TestAzure(BucketSuite):
    @pytest.fixture
    def case(self, azure_server: Azure) -> SinkCase:
        return bucket_case(azure_server, made_bucket(azure_server))


@pytest.mark.slow
class TestHdfs(BucketSuite):
    @pytest.fixture
    def case(self, hdfs_server: Hdfs) -> SinkCase:
        return bucket_case(hdfs_server, made_bucket(hdfs_server))


def killed(endpoint: str, place: str) -> None:
    """The test of the suite."""
    # What is loaded here, each of them has.
    importlib.import_module("connectors.object_store_sink.task")
    importlib.import_module("connectors.object_store_sink.bucket")
    importlib.import_module("connectors.object_store_sink.files")
    kind, _, rest = place.partition("://")
    servers: dict[str, Callable[[str], Server]] = {"s3": S3, "gs": Google, "az": Azure, "hdfs": Hdfs}
    case = bucket_case(servers[kind](endpoint), rest.lstrip("/").partition("/")[0])
    for step in range(1, 100):
        until = 20 * step
        was_killed = run_and_kill(partial(_write, case, 2 * step, (until - 10, until)), step, case.calls)
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
