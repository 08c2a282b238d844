"""RocketMQ's own proxy for tests, out of the jars of RocketMQ: an endpoint of gRPC before the brokers of a cluster."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from rocketconnect_cli.embedded.class_archive import java_options
from rocketconnect_kit.java.find import find_java
from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.server_process import Server, takes_connections

_CLUSTER = "rocketconnect"
_MAIN = "org.apache.rocketmq.proxy.ProxyStartup"


class Proxy(Server):
    """A proxy of a cluster that runs elsewhere; without TLS, for which it wants a library that RocketMQ's jars lack.

    Args:
        name_server: Of the cluster.
        jars: The folder with RocketMQ's jars.
        settings: Of the proxy, beside those that it needs.
    """

    title = "RocketMQ's proxy"
    prefix = "rocketconnect-rocketmq-proxy-"

    def __init__(self, name_server: str, jars: Path, **settings: object) -> None:
        super().__init__()
        self._name_server = name_server
        self._jars = jars
        self.port = free_ports.choose()
        told = {
            "rocketMQClusterName": _CLUSTER,
            "proxyClusterName": _CLUSTER,
            "proxyName": f"proxy-{self.port}",
            "localServeAddr": "127.0.0.1",
            "grpcServerPort": self.port,
            "remotingListenPort": free_ports.choose(),
            "namesrvAddr": name_server,
            **settings,
        }
        (self.folder / "proxy.json").write_text(json.dumps(told))

    @property
    def endpoint(self) -> str:
        """As connectors name it."""
        return f"127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        """See Server."""
        flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-XX:MaxDirectMemorySize=128m"]
        homes = ("user.home", "java.io.tmpdir", "RMQ_PROXY_HOME")
        properties = [*(f"-D{name}={self.folder}" for name in homes), "-Dtls.server.mode=disabled"]
        told = ["-n", self._name_server, "-pm", "cluster", "-pc", str(self.folder / "proxy.json")]
        # By their names: what Java has archived of the classes of brokers is of jars in this order.
        class_path = os.pathsep.join(map(str, sorted(self._jars.glob("*.jar"))))
        java = find_java()
        return tethered([str(java), *java_options(java, self._jars), *flags, *properties, "-cp", class_path, _MAIN, *told])

    def answers(self) -> bool:
        """Whether it takes connections."""
        return takes_connections(self.port)
