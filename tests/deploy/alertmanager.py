"""A real Alertmanager (Debian: apt-get install prometheus-alertmanager) with the configuration of this project."""

import json
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.deploy.asked import DEPLOY
from tests.processes import wait_until

CONFIGURATION = DEPLOY / "alertmanager/alertmanager.yml"
SECRETS = "/etc/alertmanager/secrets"


class Alertmanager:
    """One that runs.

    Args:
        address: "127.0.0.1:port".
    """

    def __init__(self, address: str) -> None:
        self.address = address

    def inhibited(self) -> set[str]:
        """The names of the alerts that it has and tells nobody, since another one fires."""
        with urllib.request.urlopen(f"http://{self.address}/api/v2/alerts", timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return {each["labels"]["alertname"] for each in found if each["status"]["inhibitedBy"]}


@contextmanager
def alertmanager(folder: Path, receiver: str) -> Iterator[Alertmanager]:
    """Run one that posts to `receiver`, a URL, with the path /on-call or /team; it tells each change a second later.

    Secrets are in files in the folder. What goes out by mail is posted as well.
    """
    program = shutil.which("prometheus-alertmanager")
    assert program is not None, "Alertmanager is missing (Debian: apt-get install prometheus-alertmanager)"
    told = yaml.safe_load(CONFIGURATION.read_text().replace(SECRETS, str(folder)))
    told["route"] |= {"group_wait": "1s", "group_interval": "1s"}
    on_call, team = told["receivers"]
    on_call["webhook_configs"] = [{**on_call["webhook_configs"][0], "url": f"{receiver}/on-call"}]
    team.pop("email_configs")
    team["webhook_configs"] = [{"url": f"{receiver}/team"}]
    config = folder / "alertmanager.yml"
    config.write_text(yaml.safe_dump(told))
    port = free_ports.choose()
    command = [
        program,
        f"--config.file={config}",
        f"--storage.path={folder / 'alerts'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    with (folder / "alertmanager.log").open("wb") as log, subprocess.Popen(tethered(command), stdout=log, stderr=log) as process:
        made = Alertmanager(f"127.0.0.1:{port}")
        try:
            wait_until(lambda: process.poll() is not None or _answers(made), 180)
            assert process.poll() is None, (folder / "alertmanager.log").read_text()
            yield made
        finally:
            process.kill()


def _answers(made: Alertmanager) -> bool:
    try:
        return made.inhibited() is not None
    except urllib.error.URLError:
        return False
