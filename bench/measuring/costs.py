"""What a run costs: CPU seconds and peak memory of every process."""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

# What tells processes apart, looked for in their command lines, the first that is found.
_ROLES = (
    ("NamesrvStartup", "name server"),
    ("BrokerStartup", "broker"),
    ("kafka.Kafka", "kafka broker"),
    ("ConnectStandalone", "kafka connect"),
    ("DebeziumEvents", "debezium"),
    ("mariadbd", "mariadb"),
    ("bin/postgres", "postgres"),
    ("org.apache.spark", "spark jvm"),
    ("pyspark.daemon", "spark python"),
    ("services.executor.host", "executor host"),
    *((f"services.{name}", name) for name in ("config", "position", "state", "cluster", "executor", "gateway", "exporter")),
    ("bench.peers.spark_alone", "spark driver"),
    ("rocketconnect", "up"),
)
BROKERS = frozenset({"name server", "broker", "kafka broker", "mariadb", "postgres"})
"""The roles of what belongs to the messaging system or is a database, and not to what moves data in and out of it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process used.

    Attributes:
        role: What it is; several may have one role.
        cpu_seconds: User and system time.
        peak_mib: The most memory that it held (VmHWM), in MiB.
    """

    role: str
    cpu_seconds: float
    peak_mib: float


@dataclass(frozen=True, slots=True)
class Held:
    """The memory that processes of one role hold now, in MiB.

    Attributes:
        rss_mib: All that is mapped and in memory, what they share with others each time.
        own_mib: What is shared counts by its share (PSS).
    """

    rss_mib: float
    own_mib: float


class Meter:
    """Measures time, and what some processes and all below them use, from its creation on."""

    def __init__(self, roots: Collection[int]) -> None:
        """Start the clock; `roots` are process ids."""
        self._roots = roots
        for process in _family(roots):
            _forget_peak(process.pid)
        self._before = _used(roots)
        self._begin = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has been measuring."""
        return time.monotonic() - self._begin

    def costs(self) -> list[Cost]:
        """What was used so far, the most CPU first. Processes that have ended are left out."""
        rows = [
            Cost(cost.role, cost.cpu_seconds - (self._before[pid].cpu_seconds if pid in self._before else 0.0), cost.peak_mib)
            for pid, cost in _used(self._roots).items()
        ]
        return sorted(rows, key=lambda cost: -cost.cpu_seconds)

    def cores(self) -> dict[str, float]:
        """How many cores the processes of each role have used so far; 0 for a role that is not there."""
        seconds = self.seconds
        found: dict[str, float] = defaultdict(float)
        for cost in self.costs():
            found[cost.role] += cost.cpu_seconds / seconds
        return found


def per_million(costs: Iterable[Cost], rows: int) -> Mapping[str, float]:
    """CPU seconds for a million rows, of all processes and of all but the brokers, and the sum of the peaks of memory."""
    costs = list(costs)
    ours = [cost for cost in costs if cost.role not in BROKERS]
    return {
        "cpu_s_per_million": sum(cost.cpu_seconds for cost in costs) / rows * 1e6,
        "own_cpu_s_per_million": sum(cost.cpu_seconds for cost in ours) / rows * 1e6,
        "peak_mib": sum(cost.peak_mib for cost in costs),
        "own_peak_mib": sum(cost.peak_mib for cost in ours),
    }


def cores_used(roots: Collection[int], seconds: float = 0.5) -> float:
    """How many cores these processes and all below them use, measured for so long."""
    meter = Meter(roots)
    time.sleep(seconds)
    return sum(cost.cpu_seconds for cost in meter.costs()) / meter.seconds


def held(roots: Collection[int]) -> dict[str, Held]:
    """The memory of these processes and all below them, by role."""
    found: dict[str, Held] = {}
    for process in _family(roots):
        with suppress(psutil.Error, OSError):
            role, memory = _role(process.cmdline()), process.memory_full_info()
            before = found.get(role, Held(0.0, 0.0))
            found[role] = Held(before.rss_mib + memory.rss / 2**20, before.own_mib + memory.pss / 2**20)
    return found


def _used(roots: Collection[int]) -> dict[int, Cost]:
    found = {}
    for process in _family(roots):
        with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
            times = process.cpu_times()
            found[process.pid] = Cost(_role(process.cmdline()), times.user + times.system, _peak_mib(process.pid))
    return found


def _family(roots: Collection[int]) -> Iterator[psutil.Process]:
    for root in roots:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(root)
            yield process
            yield from process.children(recursive=True)


def _role(command: Sequence[str]) -> str:
    text = " ".join(command)
    return next((role for mark, role in _ROLES if mark in text), Path(command[0]).name if command else "?")


def _peak_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _forget_peak(pid: int) -> None:
    """Lets the peak begin anew at what is held now. Where the kernel refuses, it is the peak since the process began."""
    with suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
