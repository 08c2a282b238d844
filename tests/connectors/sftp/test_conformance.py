import importlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from connectors.sftp.sink import SftpSink
from connectors.sftp.source import SftpSource
from rocketconnect_sdk.conformance import SinkCase, SinkSuite, SourceCase, SourceSuite
from rocketconnect_sdk.conformance.kill import run_and_kill
from rocketconnect_sdk.conformance.runs import ROW
from rocketconnect_sdk.conformance.sink_case import expected, seen, writing
from tests.connectors.object_store_sink.prefix import files_in, lines_of, row
from tests.connectors.sftp.known import KnownFtpSource
from tests.servers.files.ftp import Ftp
from tests.servers.files.openssh import OpenSsh
from tests.suites import slow_but

STEPS = 20
"""Two batches of two queues are so many calls of the server, at least."""
CALLS = ("connectors.sftp.files:change", "connectors.sftp.files:write")
ROWS = [{"id": number, "name": f"ü {number}"} for number in range(60)]


def lines(folder: Path) -> None:
    for number in range(3):
        part = ROWS[number * 20 : number * 20 + 20]
        (folder / f"{number}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in part))


@slow_but("test_it_reads_everything")
class TestSource(SourceSuite):
    @pytest.fixture
    def case(self, sftp_server: OpenSsh) -> SourceCase:
        folder = sftp_server.made()
        lines(folder)
        config = {"path": str(folder), "format": "jsonlines", "follow": "false", "complete.when": "rename", "key.field": "id"}
        return SourceCase(SftpSource(), {**sftp_server.options(), **config}, ROWS)


@pytest.mark.slow
class TestParquet(SourceSuite):
    @pytest.fixture
    def case(self, sftp_server: OpenSsh) -> SourceCase:
        folder = sftp_server.made()
        for number in range(3):
            parquet.write_table(pa.Table.from_pylist(ROWS[number * 20 : number * 20 + 20]), folder / f"{number}.parquet")
        config = {"path": str(folder), "follow": "false", "complete.when": "rename"}
        return SourceCase(SftpSource(), {**sftp_server.options(), **config}, ROWS)


@slow_but("test_it_reads_everything")
class TestFtp(SourceSuite):
    @pytest.fixture
    def case(self, ftp_server: Ftp) -> SourceCase:
        folder = ftp_server.made()
        lines(folder)
        config = {"path": f"/{folder.name}", "format": "jsonlines", "follow": "false", "complete.when": "rename"}
        return SourceCase(KnownFtpSource(), {**ftp_server.options(), **config}, ROWS)


def sink_case(options: Mapping[str, str], folder: Path) -> SinkCase:
    config = {**options, "path": f"{folder}/out", "format": "jsonlines"}
    return SinkCase(SftpSink(), config, lambda: lines_of(lambda: files_in(folder / "out")), row, ROW, calls=CALLS)


@slow_but("test_every_record_is_there_and_in_order")
class TestSink(SinkSuite):
    """The suite, in which whoever goes on after a death is a fork, too: of a process that has no connections."""

    @pytest.fixture
    def case(self, sftp_server: OpenSsh) -> SinkCase:
        return sink_case(sftp_server.options(), sftp_server.made())

    @pytest.mark.slow
    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        code = f"from {__name__} import killed; killed({dict(case.config)!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=500)
        assert done.returncode == 0, done.stdout + done.stderr


def killed(config: dict[str, str]) -> None:
    """The test of the suite."""
    # What is loaded here, each of them has.
    for name in ("object_store_sink.task", "object_store_sink.files", "sftp.files"):
        importlib.import_module(f"connectors.{name}")
    case = sink_case(config, Path(config["path"]).parent)
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
