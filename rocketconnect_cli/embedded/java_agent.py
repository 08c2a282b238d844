"""What has a process of Java tell Prometheus of its memory and its garbage: an agent within it, Prometheus' JMX exporter."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from rocketconnect_kit.java.jars import JarSet

VERSION = "1.0.1"
CONFIGURATION = 'rules: []\nexcludeObjectNames: ["*:*"]\n'
"""All that it tells by itself, and nothing of what RocketMQ has made beans of, which the exporter asks brokers for."""

JMX_EXPORTER = JarSet(
    f"JMX exporter {VERSION}",
    files(__package__) / f"jmx-exporter-{VERSION}.jars",
    "3 MB",
    "ROCKETCONNECT_JMX_EXPORTER_JARS",
    ("jmx_prometheus_javaagent-*.jar",),
)


@dataclass(frozen=True, slots=True)
class JavaAgent:
    """The agent of some processes.

    Attributes:
        jars: The folder with its jar.
        ports: Where it answers on this machine, by the names of the processes that have it.
    """

    jars: Path
    ports: Mapping[str, int]

    def flags(self, process: str, configuration: Path) -> list[str]:
        """Java's flags for a process; none, if it has no agent.

        Args:
            process: Its name.
            configuration: A file with CONFIGURATION.
        """
        if process not in self.ports:
            return []
        (jar,) = self.jars.glob(*JMX_EXPORTER.needed)
        return [f"-javaagent:{jar}=127.0.0.1:{self.ports[process]}:{configuration}"]
