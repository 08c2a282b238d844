"""What goes wrong with machines: one vanishes without a word, or its clock is wrong."""

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from signal import SIGKILL

from tests.chaos.deployments import processes
from tests.chaos.deployments.fleet import BROKERS, SERVICES, clock_of
from tests.chaos.faults.common import LEASE_SECONDS, Deployment, Fault, Make, NoVictim
from tests.chaos.network import Network

HOUR = 3600
CLOCKS = (-HOUR, -5, 5, HOUR, 24 * 365 * 24 * HOUR)
"""By so many seconds a clock is wrong; the last one is 24 years."""


@dataclass(slots=True)
class Vanish:
    """A machine with an executor is gone: its processes end, and nobody is told, so the other side keeps its connections."""

    deployment: Deployment
    random: Random
    network: Network
    seconds: float
    target: str = "executor"
    name: str = "vanish"

    def aim(self) -> None:
        """Any executor."""

    def inject(self) -> str:
        """See Fault."""
        found = processes.find("executor")
        if not found:
            msg = "no executor runs"
            raise NoVictim(msg)
        victim = self.random.choice(found)
        host = self.deployment.name_of(victim.pid)
        self.network.cut([(host, SERVICES), (host, BROKERS)])
        self.deployment.hold(host, self.seconds)
        processes.send(processes.with_children(victim), SIGKILL)
        return host

    def heal(self) -> None:
        """Another machine is at its address."""
        self.network.mend()


@dataclass(slots=True)
class Clock:
    """The clock of a service, or of an executor with all that it starts, jumps."""

    deployment: Deployment
    random: Random
    target: str
    seconds: float
    name: str = "clock"
    _file: Path | None = field(default=None)

    def aim(self) -> None:
        """Any of the role."""

    def inject(self) -> str:
        """See Fault."""
        found = processes.find(self.target)
        if not found:
            msg = f"no {self.target} runs"
            raise NoVictim(msg)
        victim = self.deployment.name_of(self.random.choice(found).pid)
        wrong = self.random.choice(CLOCKS)
        self._file = clock_of(self.deployment.failpoints, victim)
        # In one step: it is read all the time.
        written = self._file.with_suffix(".new")
        written.write_text(str(wrong))
        written.rename(self._file)
        return f"{victim} by {wrong} s"

    def heal(self) -> None:
        """It is right again."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)


def on_clocks() -> dict[tuple[str, str], Make]:
    """What hits clocks."""

    def clock(target: str) -> Make:
        return lambda deployment, random: Clock(deployment, random, target, random.uniform(2, 12))

    return {(target, "clock"): clock(target) for target in ("executor", "cluster", "position", "config")}


def on_machines(network: Network) -> dict[tuple[str, str], Make]:
    """What hits machines of a network: one is gone for longer than a lease."""

    def vanish(deployment: Deployment, random: Random) -> Fault:
        return Vanish(deployment, random, network, LEASE_SECONDS + random.uniform(3, 20))

    return {("executor", "vanish"): vanish}
