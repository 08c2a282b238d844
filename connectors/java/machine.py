"""The Java of this process: there is one for all that runs here, and it never ends before the process does."""

import os
import threading
from pathlib import Path
from typing import Any

from connectors.java.log import JAVA_LOG, OPTIONS
from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError

MINIMUM_VERSION = 17
USUAL_HEAP = 256 << 20
_LOCK = threading.Lock()
_RETRIABLE = (
    "org.apache.kafka.connect.errors.RetriableException",
    "org.apache.kafka.common.errors.RetriableException",
    "io.openmessaging.connector.api.errors.RetriableException",
)


def started(library: Path, heap: int = USUAL_HEAP) -> Any:
    """The module jpype with a running Java; the first call decides on the heap. Safe from any thread.

    Raises:
        PermanentError: there is no Java, an older one, or no jar of Kafka Connect.
    """
    import jpype

    with _LOCK:
        if jpype.isJVMStarted():
            return jpype
        jars = sorted(map(str, library.glob("*.jar")))
        if not jars:
            msg = f"{library} has no jars of Kafka Connect: run `rocketconnect plugins install` for the plugin again"
            raise PermanentError(msg)
        options = [
            f"-Xmx{heap}",
            "-Xrs",  # signals stay ours
            # With -Xrs Java makes a socket in /tmp for it at once, which a process that is killed leaves there.
            "-XX:+DisableAttachMechanism",
            "-XX:+UseSerialGC",
            "-XX:+ExitOnOutOfMemoryError",  # nothing goes on half broken: another process takes the task
            "-XX:-UsePerfData",
            *OPTIONS,
            f"-Djava.io.tmpdir={os.environ.get('TMPDIR', '/tmp')}",  # noqa: S108 - Java's own default
        ]
        try:
            jpype.startJVM(*options, classpath=jars, convertStrings=False)
        except (jpype.JVMNotFoundException, OSError, RuntimeError) as error:
            msg = f"Java can't be started: {error}. Install Java {MINIMUM_VERSION} or newer, or set JAVA_HOME for the executor"
            raise PermanentError(msg) from error
        version = int(str(jpype.java.lang.System.getProperty("java.specification.version")).removeprefix("1."))
        if version < MINIMUM_VERSION:
            msg = f"plugins in Java need Java {MINIMUM_VERSION} or newer, and JAVA_HOME is Java {version}"
            raise PermanentError(msg)
        JAVA_LOG.begin(jpype)
        return jpype


def reason(error: Any) -> str:
    """What an exception of Java says, with its causes."""
    told: list[str] = []
    while error is not None and len(told) < 5:
        text = str(error.getMessage() or "")
        told.append(f"{error.getClass().getName()}: {text}" if text else str(error.getClass().getName()))
        error = error.getCause()
    return "; caused by ".join(told)


def raised(error: Any) -> ConnectorError:
    """An exception of Java as the runtime knows it: what Kafka Connect and RocketMQ Connect try again is tried again."""
    kind = error.getClass()
    while kind is not None:
        if str(kind.getName()) in _RETRIABLE:
            return RetriableError(reason(error))
        kind = kind.getSuperclass()
    return PermanentError(reason(error))
