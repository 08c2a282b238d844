"""Makes the archive of RocketMQ's classes, by starting RocketMQ once."""

import subprocess
import tempfile
from pathlib import Path

from rocketconnect_cli.embedded.class_archive import archive_of
from rocketconnect_cli.embedded.rocketmq import BROKER, EmbeddedRocketMQ
from rocketconnect_kit.java.find import find_java

_START_SECONDS = 300.0
"""For hangs alone: a machine may be busy."""
_END_SECONDS = 120.0
"""Java writes it when it ends, which takes some seconds."""


def make(jars: Path) -> None:
    """Start RocketMQ, and end it: then Java writes the archive. Nothing is done where there is one.

    Those of the same jars for another Java, or from before they were fetched anew, are taken away.

    Args:
        jars: The folder of RocketMQ's jars.

    Raises:
        OSError: the archive can't be written, or Java has not written it.
        EmbeddedRocketMQError: RocketMQ does not start.
    """
    archive = archive_of(find_java(), jars)
    if archive.is_file():
        return
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix="new-") as folder:
        made = Path(folder, archive.name)
        rocketmq = EmbeddedRocketMQ(Path(folder, "data"), jars=jars, broker_options=[f"-XX:ArchiveClassesAtExit={made}"])
        rocketmq.start(_START_SECONDS)
        try:
            broker = rocketmq.processes[BROKER]
            broker.terminate()
            try:
                broker.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                msg = f"Java did not end within {_END_SECONDS:g} s"
                raise OSError(msg) from None
        finally:
            rocketmq.kill()
        for each in archive.parent.glob("*.jsa"):
            each.unlink()
        made.rename(archive)
