"""Plugins of Kafka Connect for tests: real jars, of other tests where they have them, installed as people install them."""

import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

from bench.peers.debezium_jars import DEBEZIUM, DEBEZIUM_VERSION
from rocketconnect_cli.kafka_plugins.installing import install
from rocketconnect_kit.java.find import find_javac
from rocketconnect_kit.java.jars import jars_of

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
MARIADB = "io.debezium.connector.mariadb.MariaDbConnector"
_DEBEZIUM = (
    *(f"debezium-{name}-{DEBEZIUM_VERSION}.jar" for name in ("api", "config", "connect-plugins", "openlineage-api", "util")),
    *(f"debezium-connector-{name}-{DEBEZIUM_VERSION}.jar" for name in ("common", "postgres")),
    *("postgresql-*.jar", "protobuf-java-*.jar"),
)


_MARIADB = (
    *(
        f"debezium-{name}-{DEBEZIUM_VERSION}"
        for name in ("api", "config", "connect-plugins", "ddl-parser", "openlineage-api", "util")
    ),
    *(f"debezium-storage-{name}-{DEBEZIUM_VERSION}" for name in ("file", "kafka")),
    *(f"debezium-connector-{name}-{DEBEZIUM_VERSION}" for name in ("common", "binlog", "mariadb")),
    *("antlr4-runtime", "mariadb-java-client", "mysql-binlog-connector-java", "zstd-jni"),
)


def file_jar(folder: Path) -> Path:
    """The jar of Kafka's plugin of files, alone in a folder."""
    return _copied(folder / "given", ["connect-file-*.jar"])[0]


def file_plugin(folder: Path) -> Path:
    """Kafka's plugin of files, installed into a folder, which is returned."""
    install(str(file_jar(folder.parent)), folder)
    return folder


def debezium_jars(folder: Path) -> Path:
    """The jars of Debezium's plugin for PostgreSQL, in a folder, which is returned."""
    _copied(folder, _DEBEZIUM)
    return folder


def debezium_plugin(folder: Path) -> Path:
    """Debezium's plugin for PostgreSQL, installed into a folder, which is returned."""
    install(str(debezium_jars(folder.parent / f"debezium-connector-postgres-{DEBEZIUM_VERSION}")), folder)
    return folder


def debezium_mariadb_plugin(folder: Path) -> Path:
    """Debezium's plugin for MariaDB, installed into a folder, which is returned."""
    given = folder.parent / f"debezium-connector-mariadb-{DEBEZIUM_VERSION}"
    _copied(given, [f"{name}*.jar" for name in _MARIADB])
    install(str(given), folder)
    return folder


def _copied(folder: Path, patterns: Sequence[str]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    return [Path(shutil.copy(jar, folder)) for pattern in patterns for jar in sorted(jars_of(DEBEZIUM).glob(pattern))]


def strict_plugin(folder: Path) -> Path:
    """A sink and a source of our own in Java, compiled and installed into a folder, which is returned."""
    install(str(compiled("Strict", folder.parent)), folder)
    return folder


def compiled(name: str, folder: Path) -> Path:
    """The jar, in a folder, of connectors of our own in Java."""
    source, classes = Path(__file__).parent / "java" / f"{name}.java", folder / "classes"
    words = [str(find_javac()), "-nowarn", "-cp", f"{jars_of(DEBEZIUM)}/*", "-d", str(classes), str(source)]
    subprocess.run(words, check=True, capture_output=True)
    jar = folder / f"{name.lower()}-1.0.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for file in classes.rglob("*.class"):
            archive.write(file, file.relative_to(classes))
    return jar
