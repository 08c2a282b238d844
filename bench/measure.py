"""What a run costs: CPU seconds and peak memory of every process below one, and percentiles."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

# What tells processes apart, looked for in their command lines, the first that is found.
_ROLES = (
    ("NamesrvStartup", "name server"),
    ("BrokerStartup", "broker"),
    ("org.apache.spark", "spark jvm"),
    ("pyspark.daemon", "spark python"),
    ("services.executor.host", "executor host"),
    *((f"services.{name}", name) for name in ("config", "position", "state", "cluster", "executor", "gateway", "exporter")),
    ("rocketconnect", "up"),
)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process used.

    Attributes:
        role: What it is; several of one role are numbered.
        cpu_seconds: User and system time since it started.
        peak_mib: The most memory that it held (VmHWM), in MiB.
    """

    role: str
    cpu_seconds: float
    peak_mib: float


def costs(root: int) -> dict[int, Cost]:
    """The costs so far of a process and of all below it, by process id. Those that end in between are left out."""
    found: dict[int, Cost] = {}
    try:
        processes = [psutil.Process(root), *psutil.Process(root).children(recursive=True)]
    except psutil.NoSuchProcess:
        return found
    for process in processes:
        try:
            times = process.cpu_times()
            found[process.pid] = Cost(_role(process.cmdline()), times.user + times.system, _peak_mib(process.pid))
        except (psutil.NoSuchProcess, FileNotFoundError):
            continue
    return found


def spent(before: dict[int, Cost], after: dict[int, Cost]) -> list[Cost]:
    """What was used between two looks, the most CPU first."""
    rows = [
        Cost(cost.role, cost.cpu_seconds - (before[pid].cpu_seconds if pid in before else 0.0), cost.peak_mib)
        for pid, cost in after.items()
    ]
    return sorted(rows, key=lambda cost: -cost.cpu_seconds)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _role(command: Sequence[str]) -> str:
    text = " ".join(command)
    return next((role for mark, role in _ROLES if mark in text), command[0] if command else "?")


def _peak_mib(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:  # noqa: PTH123 - a file of the kernel
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0
