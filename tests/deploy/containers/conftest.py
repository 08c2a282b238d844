from collections.abc import Iterator

import pytest

from rocketconnect_cli.instance.topology import SERVICES
from tests.deploy.containers import standins
from tests.deploy.containers.base import BASE, make_base
from tests.deploy.containers.engine import Engine, missing
from tests.deploy.containers.network import Network
from tests.deploy.dockerfile import ROOT

# Images stay for the next run.
FOLDER = ROOT / "build" / "containers"


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    if problems := missing():
        pytest.skip(f"no containers: {'; '.join(problems)}")
    made = Engine(FOLDER)
    made.remove_all()
    make_base(made, FOLDER)
    yield made
    made.remove_all()


def built(engine: Engine, target: str) -> str:
    """The image of a target of the Dockerfile."""
    name = f"localhost/rocketconnect/{target}:test"
    engine.build(ROOT, ROOT / "deploy/docker/Dockerfile", name, target=target, arguments={"BASE": BASE})
    return name


@pytest.fixture(scope="session")
def images(engine: Engine) -> dict[str, str]:
    """The image of each service, built from the Dockerfile."""
    return {service: built(engine, service) for service in SERVICES}


@pytest.fixture(scope="session")
def whole(engine: Engine) -> str:
    """The image of everything."""
    return built(engine, "all")


@pytest.fixture(scope="session")
def rocketmq(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The image of each service of RocketMQ."""
    return dict.fromkeys(("namesrv", "broker", "broker-store"), standins.rocketmq(engine, tmp_path_factory.mktemp("rocketmq")))


@pytest.fixture(scope="session")
def postgres(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    return standins.postgres(engine, tmp_path_factory.mktemp("postgres"))


@pytest.fixture(scope="session")
def watchers(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The images of what watches, by service."""
    return standins.watchers(engine, tmp_path_factory.mktemp("watchers"))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    made = Network(tmp_path_factory.mktemp("network"))
    try:
        yield made
    finally:
        made.close()
