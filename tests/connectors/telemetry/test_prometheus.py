"""A real Prometheus writes to us."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.connectors.telemetry.receiving import receiving
from tests.processes import wait_until

pytestmark = pytest.mark.slow


@contextmanager
def writing(folder: Path, to: int) -> Iterator[int]:
    """One that asks itself every second, and writes what it hears to a port. Gives its own."""
    program = shutil.which("prometheus")
    assert program is not None, "prometheus is missing (Debian: apt-get install prometheus)"
    port = free_ports.choose()
    (folder / "prometheus.yml").write_text(
        yaml.safe_dump(
            {
                "global": {"scrape_interval": "1s", "external_labels": {"site": "here"}},
                "scrape_configs": [{"job_name": "self", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}],
                "remote_write": [
                    {
                        "url": f"http://127.0.0.1:{to}/write",
                        "authorization": {"credentials": "geheim"},
                        "metadata_config": {"send_interval": "1s"},
                        "queue_config": {"batch_send_deadline": "1s"},
                    }
                ],
            }
        )
    )
    command = [
        program,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "log").open("wb") as log, subprocess.Popen(tethered(command), stdout=log, stderr=log) as process:
        try:
            yield port
        finally:
            process.terminate()
            process.wait()


def test_samples_and_metadata_of_a_real_prometheus_are_rows(tmp_path: Path) -> None:
    with (
        receiving(value_format="prometheus", token="${env:SECRET}", paths="/write=samples") as here,
        writing(tmp_path, here.port) as port,
    ):
        wait_until(
            lambda: (
                {"sample", "metadata"} <= {row["kind"] for _, _, row, _ in here.records}
                and sum(row["metric"] == "up" and row["value"] == 1 for _, _, row, _ in here.records) > 1
            ),
            120,
        )
    rows = here.rows
    ups = [row for row in rows if row["metric"] == "up" and row["value"] == 1]
    assert ups[0]["labels"] == {"instance": f"127.0.0.1:{port}", "job": "self", "site": "here"}
    assert len({row["time"] for row in ups}) == len(ups) > 1
    said = {row["metric"]: row for row in rows if row["kind"] == "metadata"}
    assert (said["go_goroutines"]["type"], said["go_goroutines"]["help"][:6]) == ("gauge", "Number")
    nothing = [row for row in rows if row["metric"] == "prometheus_target_interval_length_seconds" and row["not_finite"]]
    assert all(row["not_finite"] == {"value": "NaN"} and not row["stale"] for row in nothing)


def test_what_was_refused_for_now_comes_again(tmp_path: Path) -> None:
    with receiving(value_format="prometheus", token="${env:SECRET}", answer_timeout="1s") as here:
        here.pause()
        with writing(tmp_path, here.port):
            wait_until(lambda: "server returned HTTP status 503" in (tmp_path / "log").read_text(), 180)
            here.resume()
            wait_until(lambda: any(row["metric"] == "up" for _, _, row, _ in here.records), 180)
    assert "non-recoverable" not in (tmp_path / "log").read_text()
