import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketconnect_cli.embedded.rocketmq_jars import rocketmq_jars
from rocketconnect_cli.instance.topology import SERVICES
from rocketconnect_kit.tethered import tethered
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
    )
    (context / "jars").symlink_to(rocketmq_jars())
    subprocess.run(["cp", "-rL", rocketmq_jars(), context / "copied"], check=True)
    (context / "jars").unlink()
    (context / "copied").rename(context / "jars")
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
    # RocketMQ looks for an address that is not loopback, and goes on looking until it has no stack left.
    links = "ip link add eth0 type veth peer name eth1 && ip addr add 10.0.0.2/24 dev eth0"
    up = " && ".join(f"ip link set {name} up" for name in ("lo", "eth0", "eth1"))
    holder = subprocess.Popen(tethered(["unshare", "--net", "sh", "-c", f"{links} && {up} && exec sleep infinity"]))
    try:
        mine, theirs = Path("/proc/self/ns/net").readlink(), Path(f"/proc/{holder.pid}/ns/net")
        while theirs.readlink() == mine:
            assert holder.poll() is None, "no network namespace could be made"
            time.sleep(0.02)
        yield theirs
    finally:
        holder.kill()
        holder.wait()
