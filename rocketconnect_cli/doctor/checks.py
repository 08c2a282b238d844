"""Looks at this machine. Changes nothing that stays."""

import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

import httpx

from rocketconnect_cli.doctor import findings
from rocketconnect_cli.doctor.findings import Finding, Verdict
from rocketconnect_cli.embedded import ports
from rocketconnect_cli.embedded.data_directory import DataDirectory
from rocketconnect_cli.extras import advice
from rocketconnect_kit.java.errors import JavaMissing
from rocketconnect_kit.java.find import find_java, major_version

PACKAGES = ("grpcio", "msgspec", "pyspark", "pyarrow", "sqlalchemy", "starlette", "uvicorn")
_OWN = "rocketconnect"
_ANSWER_SECONDS = 2.0


def examine(data: Path, rest_port: int) -> Iterator[Finding]:
    """All findings for an instance with this data directory and port of REST."""
    yield findings.of_python(sys.version_info[:2])
    yield from findings.of_packages({name: _version(name) for name in PACKAGES}, _least(), advice("up"))
    yield java()
    if rest_port:
        yield port(rest_port, data)
    yield data_directory(data)
    yield disk(data)
    yield findings.of_open_files(*resource.getrlimit(resource.RLIMIT_NOFILE))


def java() -> Finding:
    """The Java that RocketMQ and Spark would run with."""
    try:
        program = find_java()
    except JavaMissing as error:
        message, _, fix = str(error).partition(": install")
        return Finding("java", Verdict.PROBLEM, message, f"Install{fix}" if fix else "")
    return Finding("java", Verdict.OK, f"Java {major_version(program)} at {program}")


def port(number: int, data: Path) -> Finding:
    """The port of REST, which may be that of the instance that runs on this data directory."""
    free = ports.is_free(number)
    ours = not free and DataDirectory(data).kept_ports().get("rest") == number and _answers(number)
    return findings.of_port(number, free=free, ours=ours)


def data_directory(path: Path) -> Finding:
    """Whether the data directory can be written, or made."""
    folder = _nearest(path)
    check = "data directory"
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        fix = "Give a directory that this user can write, with --data."
        return Finding(check, Verdict.PROBLEM, f"nothing can be written in {folder}: {error.strerror}", fix)
    if DataDirectory(path).is_in_use():
        return Finding(check, Verdict.OK, f"an instance runs on {path} now")
    return Finding(check, Verdict.OK, f"{path} can be written" if folder == path else f"{path} can be made")


def disk(path: Path) -> Finding:
    """The disk of the data directory."""
    usage = shutil.disk_usage(_nearest(path))
    # What is kept for root is not for us.
    return findings.of_disk(str(path), usage.used + usage.free, usage.free)


def _nearest(path: Path) -> Path:
    """The path, or the first above it that is there."""
    return next((each for each in (path, *path.parents) if each.exists()), path)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _least() -> dict[str, tuple[int, ...]]:
    try:
        requirements: Sequence[str] = metadata.requires(_OWN) or ()
    except metadata.PackageNotFoundError:
        # It runs from its source, and nobody has said what it needs.
        requirements = ()
    return findings.minimums(requirements)


def _answers(port: int) -> bool:
    """Whether a gateway listens there."""
    try:
        answer = httpx.get(f"http://127.0.0.1:{port}/v1/connectors", params={"pageSize": 1}, timeout=_ANSWER_SECONDS)
        return isinstance(answer.json(), dict) and bool({"connectors", "reason"} & set(answer.json()))
    except (httpx.HTTPError, ValueError):
        return False
