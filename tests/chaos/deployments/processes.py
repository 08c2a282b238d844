"""What runs below the harness, by role. Only its own descendants are ever looked at, so only they can be hit, and of them
only what a deployment has started."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import psutil

_MARKS = (
    ("NamesrvStartup", "name-server"),
    ("BrokerStartup", "broker"),
    ("services.config", "config"),
    ("services.position", "position"),
    ("services.state", "state"),
    ("services.cluster", "cluster"),
    ("services.gateway", "gateway"),
    ("services.exporter", "exporter"),
    ("services.executor.host", "host"),
    ("services.executor", "executor"),
    ("SparkSubmit", "spark-java"),
    ("pyspark", "spark-python"),
    ("/postgres", "postgres"),
)
_ANSWERING = 2
_others: set[int] = set()


def leave_out_running() -> None:
    """What runs below the harness now is never hit: to be called before a deployment is started, it is none of it."""
    _others.update(process.pid for process in psutil.Process(os.getpid()).children(recursive=True))


def role(words: list[str]) -> str:
    """What a process with this command line is; empty: nothing that can be hit."""
    if "up" in words[1:3]:
        return "up"
    # Not the program that waits to become one of them.
    if any(word.endswith("tethered.py") for word in words[:4]):
        return ""
    return next((name for mark, name in _MARKS if any(word == mark or mark in word for word in words)), "")


def living() -> Iterator[tuple[str, psutil.Process]]:
    """Role and process of everything below this process."""
    for process in psutil.Process(os.getpid()).children(recursive=True):
        if process.pid in _others:
            continue
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            found = role(process.cmdline())
            if found == "host":
                found = _kind_of_host(process)
            # PostgreSQL's own children come and go with it.
            if found and not (found == "postgres" and process.parent() != psutil.Process(os.getpid())):
                yield found, process


def _kind_of_host(process: psutil.Process) -> str:
    below = [role(child.cmdline()) for child in process.children()]
    if "spark-java" in below:
        return "spark-driver"
    # One that holds a task tells of it and watches its lease all the time; the one that forks has no threads, others answer in one.
    return "native-host" if process.num_threads() > _ANSWERING else "spare-host"


def find(wanted: str) -> list[psutil.Process]:
    """All processes of a role, the oldest first."""
    return sorted((process for found, process in living() if found == wanted), key=lambda process: process.create_time())


def with_children(process: psutil.Process) -> list[psutil.Process]:
    """A process and all that it has started."""
    with suppress(psutil.NoSuchProcess):
        return [process, *process.children(recursive=True)]
    return [process]


def send(processes: list[psutil.Process], number: signal.Signals) -> None:
    """A signal to each that still lives."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
