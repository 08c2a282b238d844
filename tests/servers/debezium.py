"""Debezium's engine from its jars: what it says of a database's changes, for comparison with what we do."""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.peers.debezium_jars import DEBEZIUM
from rocketconnect_kit.java.find import find_javac
from rocketconnect_kit.java.jars import jars_of
from rocketconnect_kit.tethered import tethered

SECONDS = 60.0
"""Only a hang takes longer."""
PREFIX = "theirs"
"""Its topic.prefix: topics are theirs.DATABASE.TABLE."""
QUICK = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Options of Java that start it soon."""
_SOURCE = Path(__file__).parent / "java" / "DebeziumEvents.java"
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_WITH_SCHEMAS = "converter.schemas.enable"

Event = Mapping[str, Any]
"""destination (the topic), key, value and headers."""


class DebeziumFailed(Exception):
    """It ended by itself, or an event did not come; the text has its log."""


class Engine:
    """A running engine.

    Attributes:
        process: Its Java.
        events_file: Gets each event as a line of JSON.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", events_file: Path, log: Path) -> None:
        self.process = process
        self.events_file = events_file
        self._log = log
        self._events: list[Event] = []
        self._read = 0

    def events(self) -> list[Event]:
        """All events so far."""
        if self.events_file.exists():
            with self.events_file.open("rb") as file:
                file.seek(self._read)
                whole, end, _ = file.read().rpartition(b"\n")
            self._read += len(whole) + len(end)
            self._events += map(json.loads, whole.splitlines())
        return list(self._events)

    def until(self, is_last: Callable[[Event], bool]) -> list[Event]:
        """All events so far, once there is one that is the last.

        Raises:
            DebeziumFailed: see there.
        """
        deadline = time.monotonic() + SECONDS
        seen = 0
        while not any(map(is_last, (events := self.events())[seen:])):
            seen = len(events)
            if self.process.poll() is not None or time.monotonic() > deadline:
                msg = f"Debezium does not say it; its last event is {events[-1:]}, its log\n{self.log()[-5_000:]}"
                raise DebeziumFailed(msg)
            time.sleep(0.1)
        return events

    def wait(self) -> str:
        """Waits until it ends by itself; gives its log."""
        self.process.wait(SECONDS)
        return self.log()

    def log(self) -> str:
        """What it has logged."""
        return self._log.read_text(errors="replace")


def ends_snapshot(event: Event) -> bool:
    """Whether it is the last row of a snapshot, so that the log comes next; with schemas."""
    return event["value"] is not None and event["value"]["payload"].get("source", {}).get("snapshot") == "last"


@contextmanager
def running(connector: Mapping[str, str], *, schemas: bool = True, java: Sequence[str] = QUICK) -> Iterator[Engine]:
    """Run the engine until the end of the block.

    Args:
        connector: The connector's properties: see mariadb and postgres.
        schemas: Events have the schemas of their keys and values.
        java: Options of its Java.

    Raises:
        JarsUnavailable: the jars could not be downloaded.
    """
    with tempfile.TemporaryDirectory(prefix="rocketconnect-debezium-") as place:
        folder = Path(place)
        events, log = folder / "events", folder / "log"
        properties = {**_engine(folder), _WITH_SCHEMAS: str(schemas).lower(), **connector}
        (folder / "properties").write_text("".join(f"{name}={value}\n" for name, value in properties.items()), encoding="utf-8")
        command = [*_compiled(folder, java), str(folder / "properties"), str(events)]
        with log.open("wb") as output, subprocess.Popen(tethered(command), stdout=output, stderr=output) as process:
            try:
                yield Engine(process, events, log)
            finally:
                process.terminate()
                try:
                    process.wait(SECONDS)
                finally:
                    process.kill()


def mariadb(port: int, password: str, tables: str, **more: str) -> dict[str, str]:
    """Properties of the connector that reads a MariaDB server as root.

    Args:
        port: Of the server.
        password: Of root.
        tables: Regular expressions, after "database.table".
        more: Further ones, with _ in the place of each point.
    """
    return {
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
        "database.user": "root",
        "database.password": password,
        "database.server.id": "900",
        "database.ssl.mode": "disable",
        **_common(port, tables, more),
    }


def postgres(port: int, database: str, tables: str, **more: str) -> dict[str, str]:
    """Properties of the connector that reads a database of PostgreSQL as its superuser; tables after "schema.table"."""
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.user": "postgres",
        "database.dbname": database,
        "plugin.name": "pgoutput",
        "slot.name": "debezium",
        "slot.drop.on.stop": "true",
        "publication.name": "debezium",
        "publication.autocreate.mode": "filtered",
        **_common(port, tables, more),
    }


def _common(port: int, tables: str, more: Mapping[str, str]) -> dict[str, str]:
    return {
        "database.hostname": "127.0.0.1",
        "database.port": str(port),
        "topic.prefix": PREFIX,
        # A property file reads a backslash as the beginning of something else.
        "table.include.list": tables.replace("\\", "\\\\"),
        "provide.transaction.metadata": "true",
        "poll.interval.ms": "20",
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def _engine(folder: Path) -> dict[str, str]:
    return {
        "name": "engine",
        "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
        "offset.storage.file.filename": str(folder / "offsets"),
        "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
        "schema.history.internal.file.filename": str(folder / "history"),
    }


def _compiled(folder: Path, java: Sequence[str]) -> list[str]:
    class_path = f"{jars_of(DEBEZIUM)}/*"
    javac = find_javac().resolve()
    subprocess.run([javac, "-nowarn", "-cp", class_path, "-d", str(folder), _SOURCE], check=True, capture_output=True)
    return [str(javac.with_name("java")), *java, _QUIET, "-cp", f"{folder}:{class_path}", "DebeziumEvents"]
