"""The real servers that tests run against: RocketMQ, PostgreSQL and MariaDB, each started once a session and ended with it.

All are children that die with the test run, even when that is killed.
"""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Protocol

import pytest
from hypothesis import HealthCheck, settings

from bench.measuring.guarded import acl
from rocketconnect_cli.embedded import EmbeddedRocketMQ
from tests import examples, free_ports
from tests.run_folder import run_folder
from tests.server_process import ServerFailed
from tests.servers.mariadb import Mariadb, MariadbFailed
from tests.servers.oceanbase.seekdb import Seekdb
from tests.servers.postgres import Postgres, PostgresFailed
from tests.shared_rocketmq import FOLDER, RocketMQ, shared

_ACL = acl("root", "root-secret")

# How long a machine takes says nothing about what is tested.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A mutation is to be noticed whenever it is made.
settings.register_profile("all", settings.get_profile("search"), derandomize=True)
# A run is about the change that it is run for, so it tries the same few examples each time; `make test-all` looks for new ones.
settings.register_profile(examples.SHORT, settings.get_profile("all"), max_examples=30)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", examples.SHORT))


def pytest_configure() -> None:
    """Take Ctrl-C back: a shell's background jobs ignore it, and so would every process that a test starts and interrupts."""
    # What connectors may read is a matter of the tests of that; all others set a variable, or write a file, and name it.
    os.environ.setdefault("ROCKETCONNECT_SECRET_VARIABLES", "*")
    os.environ.setdefault("ROCKETCONNECT_SECRET_FOLDERS", "/")
    os.environ.setdefault("ROCKETCONNECT_READ_ROOTS", "/")
    os.environ.setdefault("ROCKETCONNECT_WRITE_ROOTS", "/")
    os.environ.setdefault("ROCKETCONNECT_DEAD_LETTER_TOPICS", "*")
    # Java processes of tests live for a minute: what the best compiler costs them they never get back.
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove from memory what Spark drivers have left that tests killed, when all workers have ended: none starts that would."""
    if not hasattr(session.config, "workerinput"):
        from services.executor.runtime.sink.spark.batches import remove_orphans

        remove_orphans()


class RocketMQFactory(Protocol):
    """Starts a further RocketMQ with these settings of its broker and system properties of Java."""

    def __call__(
        self, broker_settings: Mapping[str, str], system_properties: Mapping[str, str] | None = None
    ) -> EmbeddedRocketMQ: ...


@pytest.fixture(scope="session")
def rocketmq(request: pytest.FixtureRequest) -> Iterator[RocketMQ]:
    """One real name server and broker for all workers, with the embedded default's settings: topics have names of their own."""
    with shared(run_folder(request.config) / FOLDER) as running:
        yield running


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
    try:
        with Postgres(fsync="off").running("test") as url:
            yield url
    except PostgresFailed as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Mariadb]:
    """One real MariaDB server for the whole session."""
    try:
        with Mariadb().running() as server:
            yield server
    except MariadbFailed as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def oceanbase() -> Iterator[Seekdb]:
    """One real server of OceanBase's kernel for the whole session."""
    try:
        with Seekdb().running() as server:
            yield server
    except ServerFailed as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def free_port() -> Callable[[], int]:
    """Return a port of 127.0.0.1 that nothing uses, another one with each call."""
    return free_ports.choose


@contextmanager
def _running(server: EmbeddedRocketMQ) -> Iterator[None]:
    server.start()
    try:
        yield
    finally:
        # What it stored goes with the folder, so there is nothing to close.
        server.kill()
