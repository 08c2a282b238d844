"""What goes wrong with the stores: they take no changes, or they are what a backup has."""

import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from signal import SIGKILL

import psycopg

from rocketconnect_cli.instance.topology import STORES
from tests.chaos.deployments import processes
from tests.chaos.deployments.fleet import Fleet
from tests.chaos.faults.common import RESTORED, Deployment, Fault, Make, insist
from tests.ended import ended
from tests.servers.postgres import Postgres

_LIMIT_SECONDS = 600.0
_COMMAND = Path(sys.executable).with_name("rocketconnect")


@dataclass(slots=True)
class ReadOnly:
    """PostgreSQL answers and takes no changes, as one does whose successor was elected."""

    deployment: Deployment
    postgres: Postgres
    seconds: float
    target: str = "postgres"
    name: str = "read-only"
    _is_over: bool = False

    def aim(self) -> None:
        """It is known."""

    def inject(self) -> str:
        """See Fault."""
        self._take_changes(False)
        return "postgres"

    def heal(self) -> None:
        """It takes changes again."""
        if not self._is_over:
            self._take_changes(True)
            self._is_over = True

    def _take_changes(self, does: bool) -> None:
        # Another fault may have ended it; what it was told outlives it.
        insist(self.deployment, lambda: self.postgres.take_changes(does), _is_away, _LIMIT_SECONDS)


@dataclass(slots=True)
class Restored:
    """Stores go back to what they were a while ago, by our own backup; topics, files of sources and targets of sinks do not.

    Args:
        deployment: Of the services.
        url: Of the stores.
        only: The services whose stores go back; none: all.
        age: Seconds from the backup to the end of the services.
        target: What it is called.
    """

    deployment: Deployment
    url: str
    file: Path
    only: tuple[str, ...]
    age: float
    target: str
    name: str = RESTORED
    seconds: float = 0.0
    _names: list[str] = field(default_factory=list)

    def aim(self) -> None:
        """Saves them, and lets records flow for a while."""
        self.file.unlink(missing_ok=True)
        insist(self.deployment, lambda: self._command("backup", str(self.file)), _is_away, _LIMIT_SECONDS)
        until = time.monotonic() + self.age
        while time.monotonic() < until:
            self.deployment.look_after()
            time.sleep(0.05)

    def inject(self) -> str:
        """See Fault."""
        found = [process for service in STORES for process in processes.find(service)]
        self._names = [self.deployment.name_of(process.pid) for process in found]
        for name in self._names:
            self.deployment.hold(name, 10 * _LIMIT_SECONDS)
        processes.send(found, SIGKILL)
        while not all(map(ended, found)):
            self.deployment.look_after()
            time.sleep(0.02)
        # It refuses while the database has a connection of a service.
        words = [word for service in self.only for word in ("--only", service)]
        insist(self.deployment, lambda: self._command("restore", str(self.file), "--yes", *words), _is_away, _LIMIT_SECONDS)
        for name in self._names:
            self.deployment.hold(name, 0.0)
        return f"stores of {', '.join(self.only or STORES)}, {self.age:.1f} s old"

    def heal(self) -> None:
        """The services that were held are started again by those who look after them."""
        for name in self._names:
            self.deployment.hold(name, 0.0)

    def _command(self, *words: str) -> None:
        subprocess.run([_COMMAND, *words, "--store-url", self.url], check=True, capture_output=True, timeout=_LIMIT_SECONDS)


def _is_away(error: Exception) -> bool:
    """Whether the database, or one of our commands about it, has to be tried again."""
    return isinstance(error, psycopg.OperationalError | subprocess.CalledProcessError)


def on_stores(fleet: Fleet) -> dict[tuple[str, str], Make]:
    """What hits the stores of a fleet."""

    def restored(target: str, *only: str) -> Make:
        def make(deployment: Deployment, random: Random) -> Fault:
            return Restored(deployment, fleet.store_url, fleet.folder / "stores.zip", only, random.uniform(1, 8), target)

        return make

    def read_only(deployment: Deployment, random: Random) -> Fault:
        return ReadOnly(deployment, fleet.postgres, random.uniform(2, 12))

    return {
        ("postgres", "read-only"): read_only,
        ("stores", "restored"): restored("stores"),
        ("store-of-position", "restored"): restored("store-of-position", "position"),
    }
