"""Plugins of RocketMQ Connect for tests: compiled against its real API, and installed as people install them.

Its own are in no Maven repository, whoever asks: they are built of its sources.
"""

import subprocess
import zipfile
from pathlib import Path

from rocketconnect_cli.kafka_plugins.installing import api_jars, install
from rocketconnect_kit.java.find import find_javac
from rocketconnect_kit.java.jars import jars_of

LINES, TYPED, SINK = (f"plain.Plain${name}Connector" for name in ("LinesSource", "TypedSource", "StrictSink"))


def compiled(name: str, folder: Path) -> Path:
    """The jar, in a folder, of connectors of ours in Java."""
    source, classes = Path(__file__).parent / "java" / f"{name}.java", folder / f"classes-{name}"
    api = jars_of(api_jars())
    subprocess.run(
        [str(find_javac()), "-nowarn", "-encoding", "UTF-8", "-cp", f"{api}/*", "-d", str(classes), str(source)],
        check=True,
        capture_output=True,
    )
    jar = folder / f"{name.lower()}-1.0.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for file in classes.rglob("*.class"):
            archive.write(file, file.relative_to(classes))
    return jar


def plain_plugin(folder: Path) -> Path:
    """Connectors of ours, installed into a folder, which is returned."""
    install(str(compiled("Plain", folder.parent)), folder)
    return folder
