"""Plugins in Java that are installed, of Kafka Connect and of RocketMQ Connect: a folder of each, with its jars and what they have.

    FOLDER/kafka-connect-VERSION/      the jars of Kafka Connect itself, with whose classes all of its plugins run
    FOLDER/rocketmq-connect-VERSION/   the API of RocketMQ Connect, for its plugins
    FOLDER/NAME-VERSION/plugin.json    what is here: the connectors with their options, and the digest of each jar
    FOLDER/NAME-VERSION/*.jar

What an upgrade has replaced stays beside the new one, for tasks that run with it, with replaced.json in the place of plugin.json.

A folder appears by one rename when all in it is right. Nothing here starts Java.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

VARIABLE = "ROCKETCONNECT_KAFKA_PLUGINS"
"""The folder; without it there are no such plugins."""

VERSION = "4.3.1"
LIBRARY = f"kafka-connect-{VERSION}"
ROCKETMQ_VERSION = "0.1.4"
"""Of the API, io.openmessaging:openmessaging-connector."""
ROCKETMQ_LIBRARY = f"rocketmq-connect-{ROCKETMQ_VERSION}"
MANIFEST = "plugin.json"
REPLACED = "replaced.json"
"""The same of one that an upgrade has replaced."""
NEXT = "next.json"
"""The same of one that is to replace another in the next moment."""

KAFKA, ROCKETMQ = "kafka", "rocketmq"
"""For which of the two a connector is written."""


@dataclass(frozen=True, slots=True)
class JavaOption:
    """A key of a ConfigDef.

    Attributes:
        key: Its name.
        type: Of ConfigDef.Type: STRING, INT, PASSWORD and the like.
        doc: What it does.
        default: As text; None: none.
        required: It has no default, not even null.
    """

    key: str
    type: str
    doc: str = ""
    default: str | None = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class JavaConnector:
    """A connector of a plugin.

    Attributes:
        name: Its class.
        direction: source or sink.
        version: What it says of itself.
        options: Its ConfigDef; connectors of RocketMQ Connect have none.
        api: KAFKA or ROCKETMQ.
    """

    name: str
    direction: str
    version: str
    options: Sequence[JavaOption]
    api: str = KAFKA


@dataclass(frozen=True, slots=True)
class JavaPlugin:
    """What was installed at once.

    Attributes:
        name: Of the artifact, or of the archive or folder that it came from.
        version: Of the artifact; of others that of its first connector.
        origin: GROUP:ARTIFACT:VERSION, or the name of the file.
        digests: By name of the jar: the SHA-256 of its content.
        connectors: Its own. Without one its stages are there for all connectors.
        folder: Where it is.
        stages: By class: "transform", "predicate", "converter" or "header converter". Empty where it has connectors.
    """

    name: str
    version: str
    origin: str
    digests: Mapping[str, str]
    connectors: Sequence[JavaConnector]
    folder: Path
    stages: Mapping[str, str] = field(default_factory=dict)

    @property
    def jars(self) -> list[Path]:
        """The jars."""
        return [self.folder / name for name in sorted(self.digests)]


def told_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The folder that this process was told of."""
    return Path(told) if (told := environment.get(VARIABLE, "")) else None


def installed(folder: Path, manifest: str = MANIFEST) -> list[JavaPlugin]:
    """All that are there, by name.

    Args:
        folder: Where they are.
        manifest: The file that says what a plugin is.

    Raises:
        ValueError: a manifest can't be read; says which one.
    """
    return list(_all(folder, manifest))


def written(plugin: JavaPlugin) -> str:
    """The text of its manifest."""
    form = asdict(plugin)
    del form["folder"]
    return json.dumps(form, indent=1) + "\n"


def connector_of(form: Mapping[str, Any]) -> JavaConnector:
    """A connector from JSON. Raises KeyError, TypeError: it is none."""
    options = [JavaOption(**option) for option in form["options"]]
    return JavaConnector(form["name"], form["direction"], form["version"], options, form.get("api", KAFKA))


def _all(folder: Path, name: str) -> Iterator[JavaPlugin]:
    for manifest in sorted(folder.glob(f"[!.]*/{name}")):
        try:
            form = json.loads(manifest.read_text(encoding="utf-8"))
            connectors = [connector_of(each) for each in form["connectors"]]
            named = form["name"], form["version"], form["origin"], form["digests"]
            yield JavaPlugin(*named, connectors, manifest.parent, form.get("stages", {}))
        except (OSError, ValueError, KeyError, TypeError) as error:
            # No command uninstalls what can't be read.
            msg = f"{manifest} can't be read: {type(error).__name__}: {error}; remove {manifest.parent}, and install it again"
            raise ValueError(msg) from error
