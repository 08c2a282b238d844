"""Finds a Java that runs RocketMQ and Spark, and one that compiles."""

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from rocketconnect_kit.java.errors import JavaMissing

MINIMUM_VERSION = 17
NO_PERF_DATA = "-XX:-UsePerfData"
"""For each Java that is started: else one that is killed leaves a file in /tmp/hsperfdata_USER, whatever java.io.tmpdir is."""

_SYSTEM_JAVAS = Path("/usr/lib/jvm")
_VERSION_DEADLINE_SECONDS = 20
_VERSION = re.compile(r'(?:version "|javac )(?:1\.)?(\d+)')


def find_java(environment: Mapping[str, str] = os.environ, system_javas: Path = _SYSTEM_JAVAS) -> Path:
    """Return the `java` program of the first Java 17 or newer: JAVA_HOME, then PATH, then /usr/lib/jvm, lowest first.

    Raises JavaMissing, whose text names what to install.
    """
    return _find("java", "Java", "jre", environment, system_javas)


def find_javac(environment: Mapping[str, str] = os.environ, system_javas: Path = _SYSTEM_JAVAS) -> Path:
    """Return the `javac` program of the first JDK 17 or newer, looked for as find_java() looks; only tests compile Java.

    Raises JavaMissing, whose text names what to install.
    """
    return _find("javac", "A Java compiler of version", "jdk", environment, system_javas)


def _find(name: str, what: str, package: str, environment: Mapping[str, str], system_javas: Path) -> Path:
    too_old = []
    for program in _candidates(name, environment, system_javas):
        version = major_version(program)
        if version is not None and version >= MINIMUM_VERSION:
            return program
        too_old.append(f"{program} ({'does not run' if version is None else f'Java {version}'})")
    found = f"; found only {', '.join(too_old)}" if too_old else ""
    message = (
        f"{what} {MINIMUM_VERSION} or newer is needed and was not found{found}: "
        f"install it (Debian 12: apt-get install openjdk-17-{package}-headless, later ones: openjdk-21-{package}-headless) "
        "or set JAVA_HOME."
    )
    raise JavaMissing(message)


def _candidates(name: str, environment: Mapping[str, str], system_javas: Path) -> Iterator[Path]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home) / "bin" / name
    if on_path := shutil.which(name, path=environment.get("PATH", os.defpath)):
        yield Path(on_path)
    yield from sorted(system_javas.glob(f"*/bin/{name}"), key=_named_version)


def _named_version(program: Path) -> tuple[int, str]:
    number = re.search(r"\d{2,}", program.parent.parent.name)
    return int(number.group()) if number else 0, str(program)


@functools.cache
def major_version(program: Path) -> int | None:
    """Return the major version that this program reports, or None when it does not run."""
    flag = NO_PERF_DATA if program.name == "java" else f"-J{NO_PERF_DATA}"
    try:
        answer = subprocess.run(
            [program, flag, "-version"], capture_output=True, text=True, timeout=_VERSION_DEADLINE_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        # Not an error yet: another candidate may do, and the final message names this one.
        return None
    match = _VERSION.search(answer.stderr + answer.stdout)
    return int(match.group(1)) if match else None
