"""Facts of this machine: versions, memory, disk, limits, findings of `doctor`, and the newest lines of logs."""

import os
import platform
import resource
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from rocketconnect_cli.diagnosis.bundle import MEMBER_BYTES, Bundle
from rocketconnect_cli.diagnosis.processes import settings
from rocketconnect_cli.diagnosis.tails import tail
from rocketconnect_cli.doctor.checks import examine
from rocketconnect_cli.doctor.findings import Verdict
from rocketconnect_sdk.version import __version__

_MOST_LOGS = 40
_MEMORY = ("MemTotal", "MemFree", "MemAvailable", "Cached", "SwapTotal", "SwapFree", "Shmem")
_LIMITS = ("NOFILE", "NPROC", "AS", "CORE", "MEMLOCK")


def versions(bundle: Bundle) -> None:
    """Add what runs this command; what services run is in their metrics."""
    packages = {each.metadata["Name"]: each.version for each in metadata.distributions()}
    system = {"system": platform.platform(), "python": sys.version, "glibc": " ".join(platform.libc_ver())}
    document = {"rocketconnect": __version__, **system, "packages": dict(sorted(packages.items(), key=lambda each: str(each[0])))}
    bundle.document("versions/here.json", document)


def facts(bundle: Bundle, data: Path, environment: Mapping[str, str], skew: float | None) -> None:
    """Add memory, disks, limits and clocks of this machine.

    Args:
        bundle: Gets them.
        data: The data directory.
        environment: Of this process.
        skew: By how many seconds the gateway's clock is ahead; None: not known.
    """
    limits = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in _LIMITS}
    bundle.document(
        "host/facts.json",
        {
            "time": datetime.now(UTC).isoformat(),
            "runsSeconds": round(time.clock_gettime(time.CLOCK_BOOTTIME)),
            "gatewayClockAheadSeconds": None if skew is None else round(skew, 1),
            "processors": {"all": os.cpu_count(), "ours": len(os.sched_getaffinity(0)), "load": os.getloadavg()},
            "memory": _memory(),
            "disks": {str(path): disk for path in (data, Path("/"), Path("/tmp"), Path("/dev/shm")) if (disk := _disk(path))},  # noqa: S108
            "limits": {name: {"soft": soft, "hard": hard} for name, (soft, hard) in limits.items()},
            "user": os.geteuid(),
            "settingsOfThisCommand": settings(environment),
        },
    )


def doctor(bundle: Bundle, data: Path) -> None:
    """Add what `rocketconnect doctor` finds, but for the port of REST, which is to be in use here."""
    found = list(examine(data, 0))
    bundle.document("host/doctor.json", [asdict(each) for each in found])
    for each in found:
        if each.verdict is not Verdict.OK:
            bundle.see(f"doctor: {each.check}: {each.text}")


def logs(bundle: Bundle, data: Path, more: Sequence[Path]) -> None:
    """Add the newest lines of the logs of `rocketconnect up` and RocketMQ in a data directory, and of further files."""
    files = list(_log_files(data))
    if not files:
        bundle.miss("logs", f"there are none in {data / 'logs'}: of services elsewhere name files with --log FILE")
    # Ours before those of RocketMQ, which are many.
    newest = sorted(files, key=lambda each: (each[0].parent != data / "logs", -each[1]))
    for path, _ in newest[_MOST_LOGS:]:
        bundle.miss(str(path), f"it is not among the {_MOST_LOGS} logs that are kept")
    chosen = [(f"logs/{path.relative_to(data)}".replace("logs/logs/", "logs/"), path) for path, _ in newest[:_MOST_LOGS]]
    chosen += [(f"logs/given/{number}-{path.name}", path) for number, path in enumerate(more, 1)]
    for name, path in chosen:
        try:
            bundle.text(name, tail(path, MEMBER_BYTES), newest=True)
        except OSError as error:
            bundle.miss(str(path), error.strerror or str(error))


def _log_files(data: Path) -> Iterator[tuple[Path, float]]:
    """Logs with the times when something was said last."""
    for pattern in ("logs/*.log", "logs/*.out", "rocketmq/*/logs/**/*.log"):
        for path in data.glob(pattern):
            with suppress(OSError):
                if path.is_file() and (stat := path.stat()).st_size:
                    yield path, stat.st_mtime


def _memory() -> dict[str, str]:
    """What the machine has and, in a container, what this may use."""
    told = {}
    with suppress(OSError):
        lines = (line.partition(":")[::2] for line in Path("/proc/meminfo").read_text().splitlines())
        told = {name: value.strip() for name, value in lines if name in _MEMORY}
    for name in ("memory.max", "memory.current", "memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"):
        with suppress(OSError):
            told[f"cgroup {name}"] = Path("/sys/fs/cgroup", name).read_text().strip()
    return told


def _disk(path: Path) -> dict[str, Any]:
    """What is on the disk of a folder; empty: there is none."""
    with suppress(OSError):
        usage, nodes = shutil.disk_usage(path), os.statvfs(path)
        return {"sizeBytes": usage.total, "freeBytes": usage.free, "files": nodes.f_files, "freeFiles": nodes.f_favail}
    return {}
