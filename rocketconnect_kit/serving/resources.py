"""Prometheus metrics of what a service lives on: its disk, the memory that it may use, and how long its certificates hold."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path

import prometheus_client

from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.certificates import CertificateUnreadable, valid_until
from rocketconnect_kit.settings import ServiceSettings

_log = get_logger(__name__)

DISK_SIZE = prometheus_client.Gauge("rocketconnect_disk_size_bytes", "The size of the disk with this folder.", ["path"])
DISK_FREE = prometheus_client.Gauge("rocketconnect_disk_free_bytes", "What is free on the disk with this folder.", ["path"])
MEMORY_LIMIT = prometheus_client.Gauge(
    "rocketconnect_memory_limit_bytes", "The memory that the container, or the machine, may use, with all its processes."
)
MEMORY_USED = prometheus_client.Gauge(
    "rocketconnect_memory_used_bytes", "What of it is in use; what is kept of files and can be given back is not."
)
CERTIFICATES = prometheus_client.Gauge(
    "rocketconnect_certificate_expiry_timestamp_seconds",
    "When the certificate ends with which the process began; of a file with several the one that ends first.",
    ["setting", "path"],
)

_MACHINE = Path("/proc/meminfo")
_GROUP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")
_NAMES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""The files of both kinds of control groups, and what their `memory.stat` calls memory that can be given back."""


def show(settings: ServiceSettings) -> None:
    """Show, from now on, the disks of the folders that these settings name, and when their certificates end."""
    for path in settings.folders():
        DISK_SIZE.labels(str(path)).set_function(partial(_disk, path, "total"))
        DISK_FREE.labels(str(path)).set_function(partial(_disk, path, "free"))
    for each in fields(settings):
        path = getattr(settings, each.name)
        if path is not None and each.name.endswith(("_cert", "_ca")):
            try:
                end = valid_until(path)
            except CertificateUnreadable as error:
                # Who uses it says what is wrong with it.
                _log.warning("no metric tells when a certificate ends", setting=each.name, path=str(path), cause=str(error))
            else:
                CERTIFICATES.labels(each.name, str(path)).set(end)


def memory(machine: Path = _MACHINE, group: Path = _GROUP, groups: Path = _GROUPS) -> tuple[float, float]:
    """Return what may be used and what is used, in bytes; both are NaN where the system does not tell.

    They are those of the machine or of a control group around the process, wherever least is left.
    """
    known = [*_of_machine(machine), *_of_groups(group, groups)]
    return min(known, key=lambda each: each[0] - each[1], default=(float("nan"), float("nan")))


def _of_machine(path: Path) -> Iterator[tuple[float, float]]:
    with suppress(OSError, KeyError, ValueError, IndexError):
        told = {name: float(rest.split()[0]) * 1024 for name, _, rest in map(_parted, path.read_text().splitlines())}
        yield told["MemTotal"], told["MemTotal"] - told["MemAvailable"]


def _parted(line: str) -> tuple[str, str, str]:
    return line.partition(":")


def _of_groups(own: Path, root: Path) -> Iterator[tuple[float, float]]:
    """Those that the process is in, with all around them, that have a limit."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "" or "memory" in controllers.split(","):
            base = root / "memory" if controllers else root
            inner = base / path.strip("/")
            for folder in (inner, *inner.parents):
                yield from _of_group(folder)
                if folder == base:
                    break


def _of_group(folder: Path) -> Iterator[tuple[float, float]]:
    for limit, used, kept in _NAMES:
        # The one of all processes has no limit, or one that is written as a word or an enormous number.
        with suppress(OSError, ValueError, KeyError):
            stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            yield float((folder / limit).read_text()), float((folder / used).read_text()) - float(stat[kept])


def _disk(path: Path, what: str) -> float:
    try:
        return float(getattr(shutil.disk_usage(path), what))
    except OSError:
        return float("nan")


MEMORY_LIMIT.set_function(lambda: memory()[0])
MEMORY_USED.set_function(lambda: memory()[1])
