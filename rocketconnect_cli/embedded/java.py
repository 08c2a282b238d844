"""Finds a Java that runs RocketMQ and Spark."""

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from rocketconnect_cli.embedded.errors import JavaMissing

MINIMUM_VERSION = 17
_SYSTEM_JAVAS = Path("/usr/lib/jvm")
_VERSION_DEADLINE_SECONDS = 20
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def find_java(environment: Mapping[str, str] = os.environ, system_javas: Path = _SYSTEM_JAVAS) -> Path:
    """Return the `java` program of the first Java 17 or newer: JAVA_HOME, then PATH, then /usr/lib/jvm, lowest first.

    Raises JavaMissing, whose text names what to install.
    """
    too_old = []
    for java in _candidates(environment, system_javas):
        version = _major_version(java)
        if version is not None and version >= MINIMUM_VERSION:
            return java
        too_old.append(f"{java} ({'does not run' if version is None else f'Java {version}'})")
    found = f"; found only {', '.join(too_old)}" if too_old else ""
    message = (
        f"Java {MINIMUM_VERSION} or newer is needed and was not found{found}: "
        f"install it (Debian 12: apt-get install openjdk-17-jre-headless, later ones: openjdk-21-jre-headless) or set JAVA_HOME."
    )
    raise JavaMissing(message)


def _candidates(environment: Mapping[str, str], system_javas: Path) -> Iterator[Path]:
    if home := environment.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environment.get("PATH", os.defpath)):
        yield Path(on_path)
    yield from sorted(system_javas.glob("*/bin/java"), key=_named_version)


def _named_version(java: Path) -> tuple[int, str]:
    number = re.search(r"\d{2,}", java.parent.parent.name)
    return int(number.group()) if number else 0, str(java)


@functools.cache
def _major_version(java: Path) -> int | None:
    """Return the major version that this program reports, or None when it does not run."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_VERSION_DEADLINE_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        # Not an error yet: another candidate may do, and the final message names this one.
        return None
    match = _VERSION.search(answer.stderr + answer.stdout)
    return int(match.group(1)) if match else None
