"""What goes wrong with machines: one vanishes without a word, or its clock is wrong."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.chaos.deployments.fleet import BROKERS, SERVICES, clock_of
from tests.chaos.faults.common import LEASE_SECONDS, Aimed, Deployment, Fault, Kill, Make
from tests.chaos.network import Network

HOUR = 3600
CLOCKS = (-HOUR, -5, 5, HOUR, 24 * 365 * 24 * HOUR)
"""By so many seconds a clock is wrong; the last one is 24 years."""


@dataclass(slots=True)
class Vanish:
    """A machine with an executor is gone: its processes end, and nobody is told, so the other side keeps its connections.

    Args:
        executor: The kill, of all that it has started, too.
        network: It is on a host of its own there, which has its name.
        seconds: How long it is away.
    """

    executor: Kill
    network: Network
    seconds: float
    target: str = "executor"
    name: str = "vanish"

    def aim(self) -> None:
        """See Fault."""
        self.executor.aim()

    def inject(self) -> str:
        """See Fault."""
        self.network.cut([(host, other) for host in self.executor.names for other in (SERVICES, BROKERS)])
        return self.executor.inject()

    def heal(self) -> None:
        """Another machine is at its address."""
        self.network.mend()


@dataclass(slots=True)
class Clock(Aimed):
    """The clock of a service, or of an executor with all that it starts, jumps."""

    name: str = "clock"
    _file: Path | None = None

    def inject(self) -> str:
        """See Fault."""
        (victim,) = self.names
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
        executor = Kill(deployment, random, "executor", LEASE_SECONDS + random.uniform(3, 20), whole=True)
        return Vanish(executor, network, executor.seconds)

    return {("executor", "vanish"): vanish}
