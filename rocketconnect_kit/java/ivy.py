"""Downloads jars by their package coordinates with Apache Ivy, which comes inside the pyspark package.

Ivy is run plainly, so the certificates and settings of this machine's Java apply (JAVA_TOOL_OPTIONS too), and the proxy
variables of the environment are handed to it. `ROCKETCONNECT_MAVEN_REPOSITORY` names another repository, as a mirror.
"""

import importlib.util
import os
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies
from xml.sax.saxutils import quoteattr

from rocketconnect_kit.java.errors import JarsUnavailable
from rocketconnect_kit.java.find import NO_PERF_DATA
from rocketconnect_kit.tethered import tethered

REPOSITORY_VARIABLE = "ROCKETCONNECT_MAVEN_REPOSITORY"
# A repository may be slow; a connection that brings no jar for so long is dead.
_STALL_SECONDS = 120
_KEPT_LINES = 12


class Coordinates(NamedTuple):
    """Names one jar in a Maven repository."""

    group: str
    name: str
    version: str
    classifier: str = ""

    @property
    def file_name(self) -> str:
        """The name of the jar's file."""
        return "-".join(part for part in self[1:] if part) + ".jar"

    def __str__(self) -> str:
        """Return group:name:version[:classifier]."""
        return ":".join(part for part in self if part)


def find_ivy() -> Path:
    """Return Ivy's jar. Raises JarsUnavailable when pyspark is not installed."""
    spec = importlib.util.find_spec("pyspark")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for jar in sorted(Path(folder, "jars").glob("ivy-*.jar")):
            return jar
    message = "the Python package pyspark, which is needed to download jars, is missing: install RocketConnect with its extra `up`"
    raise JarsUnavailable(message)


def download(jars: Iterable[Coordinates], folder: Path, *, java: Path, on_jar: Callable[[], None]) -> Path:
    """Download exactly these jars, nothing transitive, and return the folder that holds them.

    What an interrupted download left in `folder` is used. `on_jar` is called for each jar that arrives.
    Raises JarsUnavailable with what Ivy said last.
    """
    resolve(pinned_module(jars), settings(os.environ.get(REPOSITORY_VARIABLE)), folder, java=java, on_jar=on_jar)
    return folder / "lib"


def resolve(
    module: str,
    settings_text: str,
    folder: Path,
    *,
    java: Path,
    on_jar: Callable[[], None] = lambda: None,
    types: Sequence[str] = ("jar", "bundle"),
) -> None:
    """Run Ivy on this module description: files of these types to `folder`/lib, its report to `folder`/cache."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ivy.xml").write_text(module, encoding="utf-8")
    (folder / "ivysettings.xml").write_text(settings_text, encoding="utf-8")
    command: list[str | Path] = [java, NO_PERF_DATA, *proxy_flags(getproxies()), "-jar", find_ivy(), "-cache", folder / "cache"]
    command += ["-settings", folder / "ivysettings.xml", "-ivy", folder / "ivy.xml", "-confs", "default"]
    command += ["-retrieve", f"{folder}/lib/[artifact]-[revision](-[classifier]).[ext]", "-types", *types]
    _run([str(part) for part in command], on_jar)


def _run(command: list[str], on_jar: Callable[[], None]) -> None:
    last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
    child = subprocess.Popen(
        tethered(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    watchdog = threading.Timer(_STALL_SECONDS, child.kill)
    try:
        for line in child.stdout or ():
            if "[SUCCESSFUL ]" in line:
                on_jar()
                watchdog.cancel()
                watchdog = threading.Timer(_STALL_SECONDS, child.kill)
                watchdog.start()
            if line.strip():
                last_lines.append(line.rstrip())
        failed = child.wait() != 0
    finally:
        watchdog.cancel()
        child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
    if failed:
        raise JarsUnavailable("\n".join(last_lines))


def pinned_module(jars: Iterable[Coordinates]) -> str:
    """Return the ivy.xml that asks for these jars and nothing else."""
    lines = []
    for (group, name, version), of_module in groupby(sorted(jars), key=lambda jar: jar[:3]):
        named = f"org={quoteattr(group)} name={quoteattr(name)} rev={quoteattr(version)}"
        lines.append(f'<dependency {named} transitive="false" conf="default">')
        for jar in of_module:
            classifier = f" m:classifier={quoteattr(jar.classifier)}" if jar.classifier else ""
            lines.append(f'<artifact name={quoteattr(name)} type="jar" ext="jar"{classifier}/>')
        lines.append("</dependency>")
    return module(lines)


def module(dependencies: Sequence[str]) -> str:
    """Return an ivy.xml with these dependency elements."""
    return "\n".join(
        [
            '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">',
            '<info organisation="rocketconnect" module="jars"/>',
            "<dependencies>",
            *dependencies,
            "</dependencies></ivy-module>",
        ]
    )


def settings(repository: str | None, *, with_poms: bool = False) -> str:
    """Return the ivysettings.xml for this Maven repository, by default Ivy's own (Maven Central).

    Without the poms, which nobody needs for a pinned list, a download takes a third of the time. With them, ranges of versions that
    they name are looked up.
    """
    root = f" root={quoteattr(repository)}" if repository else ""
    poms = "true" if with_poms else "false"
    return "\n".join(
        [
            '<ivysettings><settings defaultResolver="maven"/>',
            '<timeout-constraints><timeout-constraint name="patient" connectionTimeout="10000" readTimeout="60000"/>',
            "</timeout-constraints>",
            f'<resolvers><ibiblio name="maven" m2compatible="true" usepoms="{poms}" useMavenMetadata="{poms}"',
            f'timeoutConstraint="patient"{root}/></resolvers></ivysettings>',
        ]
    )


def proxy_flags(proxies: Mapping[str, str]) -> list[str]:
    """Return Java's form of the proxy variables (`urllib.request.getproxies()`): Java doesn't read them itself."""
    flags = []
    for scheme in ("http", "https"):
        proxy = urlsplit(proxies.get(scheme, ""))
        if proxy.hostname:
            flags += [f"-D{scheme}.proxyHost={proxy.hostname}", f"-D{scheme}.proxyPort={proxy.port or 80}"]
    if flags and (direct := proxies.get("no")):
        hosts = [host.strip() for host in direct.split(",") if host.strip()]
        flags.append("-Dhttp.nonProxyHosts=" + "|".join(f"*{host}" if host.startswith(".") else host for host in hosts))
    return flags
