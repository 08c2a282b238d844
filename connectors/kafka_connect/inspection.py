"""What a folder of jars holds: `python -m connectors.kafka_connect.inspection LIBRARY FOLDER` prints JSON.

The form is {"connectors": [...], "stages": {CLASS: KIND}, "failed": {CLASS: WHY}}.

A process of its own: classes of plugins run in it, and Java never ends before its process.
"""

import json
import os
import re
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from connectors.java.machine import reason, started
from connectors.kafka_connect.class_names import classes
from connectors.kafka_connect.jvm import Java
from rocketconnect_sdk.plugins.kafka import JavaConnector, JavaOption, JavaPlugin

_KINDS = {
    "source": "org.apache.kafka.connect.source.SourceConnector",
    "sink": "org.apache.kafka.connect.sink.SinkConnector",
}
_STAGES = {
    "transform": "org.apache.kafka.connect.transforms.Transformation",
    "predicate": "org.apache.kafka.connect.transforms.predicates.Predicate",
    "converter": "org.apache.kafka.connect.storage.Converter",
    "header converter": "org.apache.kafka.connect.storage.HeaderConverter",
}
_CONNECTOR = re.compile(r"Connector\.class$")
"""How classes are called that may be connectors which no file of META-INF/services names."""


def opened(library: Path, folder: Path) -> Java:
    """The jars of a folder in the Java of this process, which this starts."""
    jars = {jar.name: "" for jar in sorted(folder.glob("*.jar"))}
    end_at_once(started(library))
    java = Java(JavaPlugin(folder.name, "", "", jars, (), folder))
    java.enter()
    return java


def connectors(java: Java, folder: Path) -> tuple[list[JavaConnector], dict[str, str]]:
    """All connectors of the jars in a folder, by name, and why others can't be made."""
    jpype = java.jpype
    modifier = jpype.JClass("java.lang.reflect.Modifier")
    found, failed = {}, {}
    for name in sorted(set(_named(folder))):
        direction = ""
        try:
            kind = java.loader.loadClass(name)
            direction = next((each for each, base in _KINDS.items() if jpype.JClass(base).class_.isAssignableFrom(kind)), "")
            if direction and not modifier.isAbstract(kind.getModifiers()):
                found[name] = _described(name, direction, java.new(name))
        except (jpype.JException, TypeError) as error:
            # A class that can't even be loaded may be of anything.
            if direction:
                failed[name] = reason(error) if isinstance(error, jpype.JException) else str(error)
    return [found[name] for name in sorted(found)], failed


def stages(java: Java, folder: Path) -> dict[str, str]:
    """All transforms, predicates and converters of the jars in a folder that can be made, with what they are, by name."""
    jpype = java.jpype
    modifier = jpype.JClass("java.lang.reflect.Modifier")
    kinds = [(title, jpype.JClass(base).class_) for title, base in _STAGES.items()]
    found = {}
    for name in sorted({name for jar in folder.glob("*.jar") for name in classes(jar)}):
        try:
            kind = java.loader.loadClass(name)
            title = next((title for title, base in kinds if base.isAssignableFrom(kind)), "")
            if title and modifier.isPublic(kind.getModifiers()) and not modifier.isAbstract(kind.getModifiers()):
                kind.getConstructor()
                found[name] = title
        except jpype.JException:
            # A class that lacks another one, or can't be made without arguments: no configuration can name it.
            continue
    return found


def end_at_once(jpype: Any) -> None:
    """Let a plugin that ends Java end this process: what JPype has Java do at its end waits for a class that is being loaded."""
    invoke, runtime = "java.lang.invoke.", jpype.JClass("java.lang.Runtime")
    kind = jpype.JClass(f"{invoke}MethodType").methodType(
        jpype.JClass("java.lang.Void").TYPE, jpype.JClass("java.lang.Integer").TYPE
    )
    handles = jpype.JClass(f"{invoke}MethodHandles")
    halt = handles.publicLookup().findVirtual(runtime, "halt", kind).bindTo(runtime.getRuntime())
    # A function of ours would wait as JPype's does.
    halting = jpype.JClass(f"{invoke}MethodHandleProxies").asInterfaceInstance(
        jpype.JClass("java.lang.Runnable"), handles.insertArguments(halt, 0, jpype.JInt(0))
    )
    runtime.getRuntime().addShutdownHook(jpype.JClass("java.lang.Thread")(halting))


def _named(folder: Path) -> Iterator[str]:
    for jar in folder.glob("*.jar"):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name in {f"META-INF/services/{base}" for base in _KINDS.values()}:
                    lines = archive.read(name).decode().splitlines()
                    yield from filter(None, (line.partition("#")[0].strip() for line in lines))
                elif (
                    _CONNECTOR.search(name)
                    and "/" in name
                    and not name.startswith(("META-INF/", "org/apache/kafka/connect/runtime/"))
                ):
                    yield name.removesuffix(".class").replace("/", ".")


def _described(name: str, direction: str, connector: Any) -> JavaConnector:
    definition = connector.config()
    keys = () if definition is None else definition.configKeys().values()
    options = [_option(key) for key in keys if not _of(key, "internalConfig")]
    return JavaConnector(name, direction, str(connector.version()), sorted(options, key=lambda option: option.key))


def _option(key: Any) -> JavaOption:
    import jpype

    kind, value = _of(key, "type"), _of(key, "defaultValue")
    default = None
    if key.hasDefault() and value is not None and str(kind) != "PASSWORD":
        default = str(jpype.JClass("org.apache.kafka.common.config.ConfigDef").convertToString(value, kind))
    doc = re.sub(r"<[^>]+>|\s+", " ", str(_of(key, "documentation") or "")).strip()
    return JavaOption(str(_of(key, "name")), str(kind), doc, default, required=not key.hasDefault())


def _of(key: Any, name: str) -> Any:
    """A field of a ConfigKey, or what took its place when that became a record."""
    found = getattr(key, name)
    return found() if callable(found) else found


def main() -> None:
    """Print them, and end whatever a plugin has started."""
    library, folder = map(Path, sys.argv[1:])
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what plugins print is no answer
    try:
        java = opened(library, folder)
        found, failed = connectors(java, folder)
        # Those of a plugin with connectors are for these alone, and need no list.
        alone = {} if found or failed else stages(java, folder)
        json.dump({"connectors": [asdict(each) for each in found], "stages": alone, "failed": failed}, output)
        output.flush()
    except Exception as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
