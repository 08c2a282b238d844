"""What tests of several connectors need."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from rocketconnect_kit.java.errors import JarsUnavailable
from tests.connectors.stores import made_bucket
from tests.server_process import Server, ServerFailed
from tests.servers.clickhouse import ClickHouse, EmbeddedClickHouse
from tests.servers.files.openssh import OpenSsh
from tests.servers.objects import azure, google, s3

if TYPE_CHECKING:
    from tests.connectors.hive_sink.table import Table
    from tests.servers.hdfs import Hdfs
    from tests.servers.hive_metastore import HiveMetastore
    from tests.servers.iceberg_rest import RestServer

AnyServer = TypeVar("AnyServer", bound=Server)
_databases, _tables = count(), count()
_CALL = """
import importlib, json, os, pwd, sys
module, name, path = sys.argv[1:]
function = getattr(importlib.import_module(module), name)
function("/not there")  # so that everything is imported
if os.geteuid() == 0:
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)
json.dump(function(path), sys.stdout)
"""


@pytest.fixture
def as_plain_user(tmp_path: Path, pytestconfig: pytest.Config) -> Callable[[Callable[[str], object], str], Any]:
    """Calls a function with the path of something in tmp_path, as nobody where the tests run as root; its result is as in JSON."""

    def call(function: Callable[[str], object], name: str) -> Any:
        # Whoever may not enter the directories above still has this one.
        tmp_path.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", _CALL, function.__module__, function.__name__, f"/proc/self/cwd/{name}"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(pytestconfig.rootpath)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture(scope="session")
def server() -> Iterator[s3.S3]:
    """One that speaks S3."""
    with s3.running() as found:
        yield found


@pytest.fixture
def bucket(server: s3.S3) -> str:
    """A bucket with nothing in it."""
    return made_bucket(server)


@pytest.fixture(scope="session")
def azure_server() -> Iterator[azure.Azure]:
    """One that speaks Azure Blob Storage."""
    with azure.running() as found:
        yield found


@pytest.fixture(scope="session")
def google_server() -> Iterator[google.Google]:
    """One that speaks as Google Cloud Storage."""
    with google.running() as found:
        yield found


@pytest.fixture(scope="session")
def hdfs_server() -> "Iterator[Hdfs]":
    """A real one, of Hadoop 3.4."""
    from tests.servers.hdfs import Hdfs

    yield from _running(Hdfs)


@pytest.fixture(scope="session")
def sftp_server() -> Iterator[OpenSsh]:
    """A real one, of OpenSSH."""
    yield from _running(OpenSsh)


@pytest.fixture(scope="session")
def metastore() -> "Iterator[HiveMetastore]":
    """A real one, of Hive 2.3."""
    from tests.servers.hive_metastore import HiveMetastore

    yield from _running(HiveMetastore)


@pytest.fixture(scope="session")
def rest_server() -> "Iterator[RestServer]":
    """Iceberg's REST catalogue."""
    from tests.servers.iceberg_rest import RestServer

    yield from _running(RestServer)


@pytest.fixture
def table(metastore: "HiveMetastore", tmp_path: Path) -> "Table":
    """A table of Hive that is not there yet, in a folder that is not there yet."""
    from tests.connectors.hive_sink.table import Table

    return Table(metastore.uri, f"table{next(_tables)}", tmp_path / "disk" / "table")


@pytest.fixture(scope="session")
def old_clickhouse() -> Iterator[ClickHouse]:
    """A server of 2018."""
    yield from _running(ClickHouse)


@pytest.fixture(scope="session")
def new_clickhouse() -> Iterator[ClickHouse]:
    """The engine of 2026."""
    yield from _running(EmbeddedClickHouse)


@pytest.fixture
def database() -> str:
    """The name of a database that is not there yet."""
    return f"database{next(_databases)}"


@pytest.fixture(params=["old", pytest.param("new", marks=pytest.mark.slow)])
def clickhouse(request: pytest.FixtureRequest, database: str) -> ClickHouse:
    """One after the other, each with an empty database."""
    server: ClickHouse = request.getfixturevalue(f"{request.param}_clickhouse")
    return server.with_database(database)


def _running(kind: type[AnyServer]) -> Iterator[AnyServer]:
    try:
        with kind().running() as server:
            yield server
    except (ServerFailed, JarsUnavailable) as error:
        pytest.fail(str(error), pytrace=False)
