"""What a folder of jars holds: `python -m connectors.rocketmq_connect.inspection PLUGINS FOLDER` prints JSON.

PLUGINS is where the libraries are. The form is that of connectors.kafka_connect.inspection, without stages, and it is a process of
its own for the same reasons.
"""

import json
import os
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from connectors.java.machine import reason, started
from connectors.kafka_connect.inspection import end_at_once
from connectors.rocketmq_connect.api import PluginJava
from rocketconnect_sdk.plugins.kafka import LIBRARY, ROCKETMQ, ROCKETMQ_LIBRARY, JavaConnector, JavaPlugin

_KINDS = {"source": "component.task.source.SourceConnector", "sink": "component.task.sink.SinkConnector"}
_OURS, _API = "io/openmessaging/", b"io/openmessaging/connector/api/component/"
_CALLED = "Connector"
"""How classes are called that may extend a connector of another class, so that they name nothing of the API themselves."""


def connectors(java: PluginJava, folder: Path) -> tuple[list[JavaConnector], dict[str, str]]:
    """All connectors of the jars in a folder, by name, and why others can't be made."""
    jpype = java.jpype
    modifier = jpype.JClass("java.lang.reflect.Modifier")
    kinds = {direction: java.api(name).class_ for direction, name in _KINDS.items()}
    found: dict[str, JavaConnector] = {}
    failed: dict[str, str] = {}
    for name in sorted({name for jar in folder.glob("*.jar") for name in _candidates(jar)}):
        direction = ""
        try:
            kind = java.loader.loadClass(name)
            direction = next((each for each, base in kinds.items() if base.isAssignableFrom(kind)), "")
            if direction and not modifier.isAbstract(kind.getModifiers()):
                java.new(name)
                found[name] = JavaConnector(name, direction, _version(kind), (), ROCKETMQ)
        except (jpype.JException, TypeError) as error:
            if direction or name.endswith(_CALLED):
                failed[name] = reason(error) if isinstance(error, jpype.JException) else str(error)
    return [found[name] for name in sorted(found)], failed


def _candidates(jar: Path) -> Iterator[str]:
    """The names of classes that may be connectors. Which are, Java says: most jars hold thousands that nobody has to load."""
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.namelist():
            if entry.endswith(".class") and not entry.startswith((_OURS, "META-INF/")):
                name = entry.removesuffix(".class")
                if name.endswith(_CALLED) or _API in archive.read(entry):
                    yield name.replace("/", ".")


def _version(kind: Any) -> str:
    """What the manifest of its jar says."""
    package = kind.getPackage()
    version = package.getImplementationVersion() if package is not None else None
    return "" if version is None else str(version)


def main() -> None:
    """Print them, and end whatever a plugin has started."""
    plugins, folder = map(Path, sys.argv[1:])
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what plugins print is no answer
    try:
        end_at_once(started(plugins / LIBRARY))
        jars = {jar.name: "" for jar in sorted(folder.glob("*.jar"))}
        java = PluginJava(JavaPlugin("", "", "", jars, (), folder), library=plugins / ROCKETMQ_LIBRARY)
        java.enter()
        found, failed = connectors(java, folder)
        json.dump({"connectors": [asdict(each) for each in found], "stages": {}, "failed": failed}, output)
        output.flush()
    except Exception as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
