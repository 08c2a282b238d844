"""The real servers that tests run against: RocketMQ and PostgreSQL, each started once a session and ended with it.

All are children that die with the test run, even when that is killed.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import psycopg
import pytest
from hypothesis import HealthCheck, settings

from rocketconnect_cli.embedded import EmbeddedRocketMQ, ports

_POSTGRES_MISSING = (
    "PostgreSQL's server programs are needed for these tests and were not found in /usr/lib/postgresql: "
    "install them (Debian: apt-get install postgresql)."
)
_AUTH = "org.apache.rocketmq.auth"
_ACL = {
    "authenticationEnabled": "true",
    "authenticationProvider": f"{_AUTH}.authentication.provider.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": f"{_AUTH}.authentication.provider.LocalAuthenticationMetadataProvider",
    "authorizationEnabled": "true",
    "authorizationProvider": f"{_AUTH}.authorization.provider.DefaultAuthorizationProvider",
    "authorizationMetadataProvider": f"{_AUTH}.authorization.provider.LocalAuthorizationMetadataProvider",
    "initAuthenticationUser": '{"username":"root","password":"root-secret"}',
    "innerClientAuthenticationCredentials": '{"accessKey":"root","secretKey":"root-secret"}',
}
_START_SECONDS = 30

# How long a machine takes says nothing about what is tested.
settings.register_profile("rocketconnect", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rocketconnect")


class RocketMQFactory(Protocol):
    """Starts a further RocketMQ with these settings of its broker and system properties of Java."""

    def __call__(
        self, broker_settings: Mapping[str, str], system_properties: Mapping[str, str] | None = None
    ) -> EmbeddedRocketMQ: ...


@pytest.fixture(scope="session")
def rocketmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRocketMQ]:
    """One real name server and broker for the whole session, with the embedded default's settings."""
    server = EmbeddedRocketMQ(tmp_path_factory.mktemp("rocketmq"))
    with _running(server):
        yield server


@pytest.fixture(scope="module")
def rocketmq_factory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RocketMQFactory]:
    """Start further ones with these broker settings; all are stopped with the module: an idle broker is not idle."""
    with ExitStack() as running:

        def start(broker_settings: Mapping[str, str], system_properties: Mapping[str, str] | None = None) -> EmbeddedRocketMQ:
            folder = tmp_path_factory.mktemp("rocketmq")
            server = EmbeddedRocketMQ(folder, broker_settings=broker_settings, system_properties=system_properties)
            running.enter_context(_running(server))
            return server

        yield start


@pytest.fixture(scope="module")
def acl_rocketmq(rocketmq_factory: RocketMQFactory) -> EmbeddedRocketMQ:
    """One that demands signatures (ACL 2.0); its user `root` has the secret `root-secret` and may do everything."""
    return rocketmq_factory(_ACL)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """One real PostgreSQL server for the whole session: the SQLAlchemy URL of its empty database `test`."""
    with tempfile.TemporaryDirectory(prefix="rocketconnect-postgres-") as folder, _postgres(Path(folder)) as url:
        yield url


@pytest.fixture
def free_port() -> Callable[[], int]:
    """Return a port of 127.0.0.1 that nothing uses, another one with each call."""
    return ports.choose


@contextmanager
def _running(server: EmbeddedRocketMQ) -> Iterator[None]:
    server.start()
    try:
        yield
    finally:
        # What it stored goes with the folder, so there is nothing to close.
        server.kill()


@contextmanager
def _postgres(folder: Path) -> Iterator[str]:
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if not programs:
        pytest.fail(_POSTGRES_MISSING, pytrace=False)
    bin_folder = programs[-1].parent
    data = folder / "data"
    data.mkdir(mode=0o700)
    as_owner = [_program("setpriv"), "--pdeathsig", "KILL"]
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root.
        nobody = pwd.getpwnam("nobody")
        for path in (folder, data):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        as_owner += [f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    initdb = [str(bin_folder / "initdb"), "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale", "-N"]
    subprocess.run([*as_owner, *initdb], check=True, capture_output=True, cwd=folder, timeout=_START_SECONDS)
    port = ports.choose()
    server = [str(bin_folder / "postgres"), "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", "", "-c", "fsync=off"]
    log_path = folder / "log"
    with log_path.open("wb") as log:
        process = subprocess.Popen([*as_owner, *server], stdout=log, stderr=log, cwd=folder, start_new_session=True)
    try:
        _wait_for_postgres(port, process, log_path)
        yield f"postgresql+psycopg://postgres@127.0.0.1:{port}/test"
    finally:
        process.terminate()
        try:
            process.wait(_START_SECONDS)
        finally:
            process.kill()


def _wait_for_postgres(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            with psycopg.connect(host="127.0.0.1", port=port, user="postgres", autocommit=True) as connection:
                connection.execute("CREATE DATABASE test")
                return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"PostgreSQL did not start:\n{log.read_text()}", pytrace=False)
            time.sleep(0.05)


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"the program {name} is missing (Debian: apt-get install util-linux)", pytrace=False)
    return found
