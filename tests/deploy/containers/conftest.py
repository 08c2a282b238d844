import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketconnect_cli.embedded.rocketmq_jars import rocketmq_jars
from rocketconnect_cli.instance.topology import SERVICES
from tests.chaos.network import inside, namespace
from tests.deploy.containers.base import BASE, make_base
from tests.deploy.containers.engine import Engine, missing
from tests.deploy.dockerfile import ROOT

# Images stay for the next run.
FOLDER = ROOT / "build" / "containers"
ROCKETMQ = "localhost/rocketconnect/rocketmq:test"


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    if problems := missing():
        pytest.skip(f"no containers: {'; '.join(problems)}")
    made = Engine(FOLDER)
    made.remove_all()
    make_base(made, FOLDER)
    yield made
    made.remove_all()


@pytest.fixture(scope="session")
def images(engine: Engine) -> dict[str, str]:
    """The image of each service, built from the Dockerfile."""
    named = {service: f"localhost/rocketconnect/{service}:test" for service in SERVICES}
    for service, name in named.items():
        engine.build(ROOT, ROOT / "deploy/docker/Dockerfile", name, target=service, arguments={"BASE": BASE})
    return named


@pytest.fixture(scope="session")
def rocketmq(engine: Engine, images: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """An image that stands in for RocketMQ's own: its commands, its user, its paths."""
    java = "localhost/rocketconnect/java:test"
    engine.build(ROOT, ROOT / "deploy/docker/Dockerfile", java, target="java", arguments={"BASE": BASE})
    context = tmp_path_factory.mktemp("rocketmq")
    (context / "Dockerfile").write_text(
        f"FROM {java}\n"
        "RUN useradd --uid 3000 --create-home rocketmq\n"
        "COPY jars /home/rocketmq/jars\n"
        "COPY bin /home/rocketmq/bin\n"
        "WORKDIR /home/rocketmq/bin\n"
        "ENV ROCKETMQ_HOME=/home/rocketmq\n"
        "USER rocketmq\n"
        "HEALTHCHECK NONE\n"
    )
    shutil.copytree(rocketmq_jars(), context / "jars")
    (context / "bin").mkdir()
    opened = "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED --add-exports=java.base/sun.nio.ch=ALL-UNNAMED"
    for name, main in (("mqnamesrv", "namesrv.NamesrvStartup"), ("mqbroker", "broker.BrokerStartup")):
        text = f'exec java -Xmx512m {opened} -cp "/home/rocketmq/jars/*" org.apache.rocketmq.{main} "$@"\n'
        (context / "bin" / name).write_text(text)
    engine.build(context, context / "Dockerfile", ROCKETMQ)
    return ROCKETMQ


@pytest.fixture
def network() -> Iterator[Path]:
    """A network namespace that leads nowhere."""
    holder = namespace()
    try:
        # RocketMQ looks for an address that is not loopback, and goes on looking until it has no stack left.
        inside(holder.pid, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
        inside(holder.pid, "ip", "address", "add", "10.0.0.2/24", "dev", "eth0")
        for name in ("eth0", "eth1"):
            inside(holder.pid, "ip", "link", "set", name, "up")
        yield Path(f"/proc/{holder.pid}/ns/net")
    finally:
        holder.kill()
        holder.wait()
