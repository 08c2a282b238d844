"""For which of the two, Kafka Connect and RocketMQ Connect, the jars of a plugin are written. Starts no Java."""

import zipfile
import zlib
from collections.abc import Iterable
from lzma import LZMAError
from pathlib import Path

from rocketconnect_sdk.plugins.kafka import KAFKA, ROCKETMQ

_OURS = ("io/openmessaging/", "META-INF/")
_EXTENDED = (
    b"io/openmessaging/connector/api/component/task/source/SourceConnector",
    b"io/openmessaging/connector/api/component/task/sink/SinkConnector",
)

_DAMAGED = (OSError, zipfile.BadZipFile, EOFError, zlib.error, LZMAError, RuntimeError, ValueError)


def api_of(jars: Iterable[Path]) -> str:
    """ROCKETMQ, when one of their classes extends a connector of it, else KAFKA.

    Plugins of RocketMQ Connect may bring some of Kafka Connect, which they then run themselves: they count as the former.
    A jar that can't be read is none: who looks for its connectors tells why.
    """
    return ROCKETMQ if any(map(_has_connector, jars)) else KAFKA


def _has_connector(jar: Path) -> bool:
    try:
        with zipfile.ZipFile(jar) as archive:
            names = (name for name in archive.namelist() if name.endswith(".class") and not name.startswith(_OURS))
            return any(extended in content for content in map(archive.read, names) for extended in _EXTENDED)
    except _DAMAGED:
        return False
