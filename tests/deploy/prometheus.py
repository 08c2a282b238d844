"""A real Prometheus (Debian: apt-get install prometheus) with the rules of this project."""

import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.deploy.asked import PROMETHEUS
from tests.processes import wait_until


class Prometheus:
    """One that runs.

    Args:
        address: Where its API is, "http://127.0.0.1:port".
    """

    def __init__(self, address: str) -> None:
        self._address = address

    def ask(self, expr: str) -> list[dict[str, Any]]:
        """The series of an expression now, each with its labels (`metric`) and its `value`."""
        query = urllib.parse.urlencode({"query": expr})
        with urllib.request.urlopen(f"{self._address}/api/v1/query?{query}", timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return found

    def exemplars(self, expr: str) -> list[dict[str, Any]]:
        """Those of all series that an expression names, of the last hour."""
        now = time.time()
        query = urllib.parse.urlencode({"query": expr, "start": now - 3600, "end": now + 60})
        with urllib.request.urlopen(f"{self._address}/api/v1/query_exemplars?{query}", timeout=10) as answer:
            return [each for series in json.load(answer)["data"] for each in series["exemplars"]]

    def firing(self) -> set[str]:
        """The alerts that fire."""
        return {each["metric"]["alertname"] for each in self.ask('ALERTS{alertstate="firing"}')}


@contextmanager
def prometheus(folder: Path, targets: Mapping[str, str], alertmanager: str = "") -> Iterator[Prometheus]:
    """Run one that asks these addresses, by service, every five seconds; an alert fires two seconds after what it is about begins.

    `exporter` is asked as the job `rocketconnect`, all others as `rocketconnect-services`. An Alertmanager at an address is told.
    """
    program = shutil.which("prometheus")
    assert program is not None, "prometheus is missing (Debian: apt-get install prometheus)"
    rules = folder / "rules"
    rules.mkdir(parents=True)
    for path in (PROMETHEUS / "rules").glob("*.yaml"):
        (rules / path.name).write_text(re.sub(r"\bfor: \w+", "for: 2s", path.read_text()))
    jobs = [
        {"job_name": "rocketconnect", "static_configs": [{"targets": [targets["exporter"]]}]},
        {
            "job_name": "rocketconnect-services",
            "static_configs": [
                {"targets": [address], "labels": {"service": name}} for name, address in targets.items() if name != "exporter"
            ],
        },
    ]
    # The exporter gives a service that is away four seconds to answer.
    every = {"scrape_interval": "5s", "scrape_timeout": "5s", "evaluation_interval": "1s"}
    config = folder / "prometheus.yml"
    told = [{"static_configs": [{"targets": [alertmanager]}]}] if alertmanager else []
    said = {"global": every, "rule_files": [f"{rules}/*.yaml"], "scrape_configs": jobs, "alerting": {"alertmanagers": told}}
    config.write_text(yaml.safe_dump(said))
    port = free_ports.choose()
    command = [
        program,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--enable-feature=exemplar-storage",
    ]
    with (folder / "log").open("wb") as log, subprocess.Popen(tethered(command), stdout=log, stderr=log) as process:
        made = Prometheus(f"http://127.0.0.1:{port}")
        try:
            wait_until(lambda: process.poll() is not None or _answers(made), 180)
            assert process.poll() is None, (folder / "log").read_text()
            yield made
        finally:
            process.kill()


def _answers(made: Prometheus) -> bool:
    try:
        return made.ask("up") is not None
    except urllib.error.URLError:
        return False
