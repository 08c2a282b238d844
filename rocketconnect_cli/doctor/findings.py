"""What is said of what was found on a machine. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from rocketconnect_sdk.wording.counts import counted

_GIB = 1 << 30
_MINIMUM = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?[^;]*?>=\s*([0-9]+(?:\.[0-9]+)*)")
OLDEST_PYTHON = (3, 11)
NEWEST_TESTED_PYTHON = (3, 12)
_LEAST_FREE, _ENOUGH_FREE = 1 * _GIB, 5 * _GIB
_FULL, _GETTING_FULL = 0.90, 0.75
"""From the first on the broker refuses messages; from the second on it deletes what is older than its retention at once."""
_LEAST_FILES, _ENOUGH_FILES = 256, 4096


class Verdict(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check has found.

    Attributes:
        check: What was looked at.
        verdict: How bad it is.
        text: What was found.
        fix: What to do; empty: nothing.
    """

    check: str
    verdict: Verdict
    text: str
    fix: str = ""


def of_python(version: tuple[int, int]) -> Finding:
    """What is to be said of a version of Python."""
    text = f"Python {version[0]}.{version[1]}"
    if version < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return Finding(
            "python", Verdict.PROBLEM, f"{text} is too old", f"Make RocketConnect's environment with Python {oldest} or newer."
        )
    if version > NEWEST_TESTED_PYTHON:
        newest = ".".join(map(str, NEWEST_TESTED_PYTHON))
        fix = f"Take Python {newest} if something fails."
        return Finding("python", Verdict.WARNING, f"{text} is newer than what is tested", fix)
    return Finding("python", Verdict.OK, text)


def minimums(requirements: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """By the name of a package the least version that requirements such as 'grpcio>=1.80; extra == "x"' name."""
    matches = filter(None, map(_MINIMUM.match, requirements))
    return {match[1].lower(): numbers(match[2]) for match in matches}


def numbers(version: str) -> tuple[int, ...]:
    """The numbers with which a version begins: (4, 1) of "4.1rc2"."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def of_packages(versions: Mapping[str, str | None], least: Mapping[str, tuple[int, ...]], advice: str) -> Iterator[Finding]:
    """What is to be said of packages: by name the version that is installed, or None."""
    missing = [name for name, version in versions.items() if version is None]
    old = [
        f"{name} {version} (needed: {'.'.join(map(str, least[name]))})"
        for name, version in versions.items()
        if version is not None and name in least and numbers(version) < least[name]
    ]
    if missing:
        yield Finding("packages", Verdict.PROBLEM, f"missing: {', '.join(missing)}", f"`rocketconnect up` needs them: {advice}.")
    if old:
        yield Finding("packages", Verdict.PROBLEM, f"too old: {', '.join(old)}", f"Update them: {advice}.")
    if not missing and not old:
        yield Finding("packages", Verdict.OK, ", ".join(f"{name} {version}" for name, version in versions.items()))


def of_port(port: int, *, free: bool, ours: bool) -> Finding:
    """What is to be said of the port of REST."""
    if free:
        return Finding("port", Verdict.OK, f"port {port} for REST is free")
    if ours:
        return Finding("port", Verdict.OK, f"the instance of this data directory answers on port {port} already")
    fix = "Stop what listens there, or give another with --rest-port (0: any free one)."
    return Finding("port", Verdict.PROBLEM, f"port {port} for REST is in use", fix)


def of_disk(path: str, total: int, free: int) -> Finding:
    """What is to be said of the disk on which a folder is, in bytes."""
    used = 1 - free / total if total else 1.0
    text = f"{free / _GIB:.1f} GiB free on the disk of {path}, {used:.0%} used"
    if used >= _FULL or free < _LEAST_FREE:
        fix = f"Free some, or give another place with --data: RocketMQ refuses messages from {_FULL:.0%} on."
        return Finding("disk", Verdict.PROBLEM, text, fix)
    if used >= _GETTING_FULL or free < _ENOUGH_FREE:
        fix = f"Free some soon: RocketMQ deletes old messages at once from {_GETTING_FULL:.0%} on, and takes none from {_FULL:.0%}."
        return Finding("disk", Verdict.WARNING, text, fix)
    return Finding("disk", Verdict.OK, text)


def of_open_files(soft: int, hard: int) -> Finding:
    """What is to be said of how many files a process may open; -1: as many as it likes."""
    text = "a process may open any number of files" if soft < 0 else f"a process may open {counted(soft, 'file')}"
    if soft < 0 or soft >= _ENOUGH_FILES:
        return Finding("open files", Verdict.OK, text)
    allowed = hard < 0 or hard >= _ENOUGH_FILES
    fix = "Start it after `ulimit -n 65536`." if hard < 0 or hard >= 65536 else f"Start it after `ulimit -n {hard}`."
    if not allowed:
        fix = "Raise the limit nofile of this user (/etc/security/limits.conf, or LimitNOFILE= of its systemd unit) to 65536."
    return Finding("open files", Verdict.PROBLEM if soft < _LEAST_FILES else Verdict.WARNING, text, fix)


def worst(findings: Iterable[Finding]) -> Verdict:
    """The worst verdict."""
    return max((finding.verdict for finding in findings), key=list(Verdict).index, default=Verdict.OK)
