"""A worker of Kafka Connect out of Kafka's jars: a standalone one, in a Java process of its own, with the connectors of files."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import httpx

from bench.peers.kafka_jars import KAFKA
from rocketconnect_kit.java.jars import jars_of
from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.server_process import Server

STRINGS = "org.apache.kafka.connect.storage.StringConverter"


class Connect(Server):
    """A worker.

    Args:
        servers: Of its Kafka.

    Attributes:
        url: Of its REST API.
    """

    title = "Kafka Connect"
    prefix = "rocketconnect-kafka-connect-"

    def __init__(self, servers: str) -> None:
        super().__init__()
        self._servers = servers
        self.url = f"http://127.0.0.1:{free_ports.choose()}"

    def command(self) -> Sequence[str]:
        """See Server. Raises JarsUnavailable: the jars could not be downloaded."""
        settings = self.folder / "worker.properties"
        told = {
            "bootstrap.servers": self._servers,
            "listeners": self.url,
            "key.converter": STRINGS,
            "value.converter": STRINGS,
            "offset.storage.file.filename": str(self.folder / "offsets"),
            "offset.flush.interval.ms": "1000",
        }
        settings.write_text("".join(f"{key}={value}\n" for key, value in told.items()))
        java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        words = ["-cp", f"{jars_of(KAFKA)}/*", "org.apache.kafka.connect.cli.ConnectStandalone", str(settings)]
        return tethered([*java, *words])

    def answers(self) -> bool:
        """See Server."""
        with suppress(httpx.HTTPError):
            return httpx.get(self.url, timeout=5).is_success
        return False

    def create(self, name: str, config: Mapping[str, str]) -> None:
        """A connector."""
        httpx.post(f"{self.url}/connectors", json={"name": name, "config": config}, timeout=None).raise_for_status()

    def stop_connector(self, name: str) -> None:
        """Stops a connector; its offsets are stored when this returns and `status` says STOPPED without tasks."""
        httpx.put(f"{self.url}/connectors/{name}/stop", timeout=None).raise_for_status()

    def status(self, name: str) -> Any:
        """What a connector and its tasks do."""
        return httpx.get(f"{self.url}/connectors/{name}/status", timeout=None).json()

    def offsets(self, name: str) -> Any:
        """Where a connector is, as far as that is stored."""
        return httpx.get(f"{self.url}/connectors/{name}/offsets", timeout=None).json()["offsets"]
