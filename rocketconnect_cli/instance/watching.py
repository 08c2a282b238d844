"""The Prometheus of `rocketconnect up --watch`: what it asks, by which rules, and how it is started."""

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rocketconnect_cli.embedded import ports, probe
from rocketconnect_cli.embedded.java_agent import JavaAgent
from rocketconnect_cli.embedded.rocketmq import BROKER, NAME_SERVER
from rocketconnect_cli.instance.process import Process
from rocketconnect_cli.instance.topology import STORES, Ports, Service
from rocketconnect_kit.tethered import tethered

NAME = "prometheus"
STAGE = 2
"""It ends with the exporter, which it asks."""
STOP_SECONDS = 10.0
MISSING = (
    "no program prometheus is on the PATH, so nothing watches this instance. Debian and Ubuntu: apt-get install prometheus; "
    "others: https://prometheus.io/download. Then start again"
)
_KEEP = ("--storage.tsdb.retention.time=15d", "--storage.tsdb.retention.size=1GB")
_EXEMPLARS = "--enable-feature=exemplar-storage"
OF_JAVA = (NAME_SERVER, BROKER)
JAVA_JOB = "rocketmq-java"
_METRICS_OF = "metrics of "
_JOBS = ("rocketconnect", "rocketconnect-services")
_IN_WHEEL = Path(__file__).parent / "prometheus"
_IN_CHECKOUT = Path(__file__).parents[2] / "deploy/prometheus"


@dataclass(frozen=True, slots=True)
class Watched:
    """What is asked.

    Attributes:
        exporter: Where the exporter's metrics are, "host:port".
        services: Of each process of a service its kind and where its own metrics are.
        java: The names of processes of RocketMQ, and where their Java tells of itself.
    """

    exporter: str
    services: Sequence[tuple[str, str]]
    java: Sequence[tuple[str, str]] = ()


def watched(services: Sequence[Service], reachable: str, metrics: Mapping[str, int]) -> Watched:
    """Return what is asked of an instance.

    Args:
        services: Its processes.
        reachable: Where this machine reaches REST, and the exporter.
        metrics: The ports of their own metrics, and of those of RocketMQ's Java, by their names.
    """
    hosts = {"gateway": reachable}
    exporter = next(service.port for service in services if service.kind == "exporter")
    asked = [
        (service.kind, f"{hosts.get(service.kind, '127.0.0.1')}:{metrics[service.name]}")
        for service in services
        if service.name in metrics
    ]
    java = tuple((name, f"127.0.0.1:{metrics[name]}") for name in OF_JAVA if name in metrics)
    return Watched(f"{reachable}:{exporter}", asked, java)


def find() -> str | None:
    """The program, if it is on this machine."""
    return shutil.which(NAME)


def configuration(given: Mapping[str, Any], watched: Watched) -> dict[str, Any]:
    """Return a configuration of Prometheus like the given one, but of other addresses, and that tells nobody."""
    own: dict[str, list[dict[str, Any]]] = {
        _JOBS[0]: [{"targets": [watched.exporter]}],
        _JOBS[1]: [{"targets": [address], "labels": {"service": kind}} for kind, address in watched.services],
    }
    jobs = [{**job, "static_configs": own[job["job_name"]]} for job in given["scrape_configs"]]
    if watched.java:
        of_java = [{"targets": [address], "labels": {"process": name}} for name, address in watched.java]
        jobs.append({"job_name": JAVA_JOB, "static_configs": of_java})
    # Who has just started it waits for numbers.
    pace = {"scrape_interval": "5s", "evaluation_interval": "5s"}
    return {"global": {**given["global"], **pace}, "rule_files": given["rule_files"], "scrape_configs": jobs}


def prepare(folder: Path, watched: Watched) -> None:
    """Write the configuration and the rules of this version into a folder."""
    source = _IN_WHEEL if _IN_WHEEL.exists() else _IN_CHECKOUT
    shutil.rmtree(folder / "rules", ignore_errors=True)
    shutil.copytree(source / "rules", folder / "rules")
    given = yaml.safe_load((source / "prometheus.yml").read_text(encoding="utf-8"))
    text = yaml.safe_dump(configuration(given, watched), sort_keys=False, allow_unicode=True)
    (folder / "prometheus.yml").write_text(text, encoding="utf-8")


def command(program: str, port: int) -> list[str]:
    """The command line, for the folder of `prepare`: of one that keeps its data there, and listens on this machine alone.

    Nothing names the folder, as Prometheus takes some characters of a path to rules for a pattern.
    """
    address = f"127.0.0.1:{port}"
    return [
        program,
        "--config.file=prometheus.yml",
        "--storage.tsdb.path=data",
        f"--web.listen-address={address}",
        _EXEMPLARS,
        *_KEEP,
    ]


@dataclass(frozen=True, slots=True)
class Watch:
    """The Prometheus of one instance.

    Attributes:
        program: Its path.
        port: Where it answers on this machine.
        metrics: Where the services have metrics of their own, and RocketMQ's Java, by their names.
        agent: What RocketMQ's Java has them from; None: it has none.
    """

    program: str
    port: int
    metrics: Mapping[str, int]
    agent: JavaAgent | None = None

    @classmethod
    def choose(
        cls, program: str, others: Ports, taken: Collection[int], kept: Mapping[str, int], java: Path | None = None
    ) -> "Watch":
        """One on free ports: those of the last time, where they are free, as Prometheus takes another port for another process.

        Args:
            program: Its path.
            others: The ports of the instance.
            taken: Further ports that are promised.
            kept: The ports of the last time, see `kept`.
            java: The folder with what RocketMQ's Java has metrics from; None: it has none.
        """
        promised = {others.rest, others.metrics, *others.stores.values(), *others.executors, *taken}

        def settle(name: str) -> int:
            promised.add(port := ports.settle(name, 0, kept.get(name, 0), (0,), promised))
            return port

        executors = (f"executor-{number}" for number in range(1, len(others.executors) + 1))
        port = settle(NAME)
        metrics = {name: settle(_METRICS_OF + name) for name in (*STORES, *executors, "gateway")}
        if java is None:
            return cls(program, port, metrics)
        of_java = {name: settle(_METRICS_OF + name) for name in OF_JAVA}
        return cls(program, port, metrics | of_java, JavaAgent(java, of_java))

    @property
    def kept(self) -> dict[str, int]:
        """Its ports, to be kept for the next time."""
        return {NAME: self.port} | {_METRICS_OF + name: port for name, port in self.metrics.items()}

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def is_ready(self) -> bool:
        """Whether it answers."""
        return probe.answers(f"127.0.0.1:{self.port}", 1.0)

    def process(self, folder: Path, log: Path, services: Sequence[Service], reachable: str) -> Process:
        """What is started, when the folder has been made ready for it."""
        prepare(folder, watched(services, reachable, self.metrics))
        start = tethered(command(self.program, self.port))
        return Process(NAME, lambda: start, os.environ, log, STAGE, STOP_SECONDS, folder=folder)
