"""A deployment: RocketMQ, PostgreSQL and every service as a process of its own, each started again when it has died."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx

from rocketconnect_cli.embedded import probe
from rocketconnect_cli.embedded.rocketmq import BROKER, NAME_SERVER, EmbeddedRocketMQ
from rocketconnect_cli.embedded.spark import spark_folder
from rocketconnect_cli.instance import topology
from rocketconnect_cli.instance.process import Process
from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.chaos.deployments.processes import leave_out_running
from tests.chaos.network import Network, Proxy
from tests.servers.postgres import Postgres

START_SECONDS = 240
GIVES_UP = 5
POSTGRES = "postgres"
SERVICES = "services"
BROKERS = "brokers"
INJECTED = Path(__file__).parents[1] / "injected"


class NotReady(Exception):
    """The deployment did not come up."""


class Fleet:
    """Everything on loopback. For the main thread: all of it dies with the thread that starts it.

    Args:
        folder: For everything that it keeps.
        replicas: Of each of config, position, state and cluster.
        executors: How many.
        spark: Keep a Spark driver warm in each executor.
        network: Each executor is on a host of its own there, and reaches the services at SERVICES and RocketMQ at BROKERS.

    Attributes:
        postgres: The database of the stores.
        store_url: Of the stores.
        database: What stands between them and the services.
    """

    form = "fleet"

    def __init__(
        self, folder: Path, *, replicas: int = 1, executors: int = 2, spark: bool = True, network: Network | None = None
    ) -> None:
        leave_out_running()
        self.folder = folder
        self.failpoints = folder / "failpoints"
        self._logs = folder / "logs"
        self._data = folder / "data"
        for made in (self.failpoints, self._logs, self._data):
            made.mkdir()
        self._network = network
        reached = {} if network is None else {"brokerIP1": network.addresses[BROKERS]}
        self._rocketmq = EmbeddedRocketMQ(folder / "rocketmq", broker_settings=reached)
        self._rocketmq.prepare()
        free_ports.promise(*self._rocketmq.ports)
        self.postgres = Postgres(max_connections="200")
        self.store_url = self.postgres.url()
        self.database = Proxy({("127.0.0.1", port := free_ports.choose()): ("127.0.0.1", self.postgres.port)})
        self._database_url = self.postgres.url(port)
        self._executors = executors
        self._held: dict[str, float] = {}
        self.deaths: list[str] = []
        environment = {**os.environ, **self._rocketmq.environment}
        self.processes = {
            POSTGRES: self._process(POSTGRES, self.postgres.command, dict(os.environ)),
            NAME_SERVER: self._process(NAME_SERVER, self._rocketmq.name_server_command, environment),
            BROKER: self._process(BROKER, self._rocketmq.broker_command, environment),
        }
        for service in self._services(replicas, spark=spark):
            command = partial(tethered, self._on_its_host(service))
            self.processes[service.name] = self._process(
                service.name, command, {**topology.UNLESS_TOLD, **os.environ, **service.environment}
            )

    @property
    def name_server(self) -> str:
        """Of RocketMQ, as this process reaches it."""
        return self._rocketmq.name_server

    def start(self) -> None:
        """Start all, and return when everything answers.

        Raises:
            NotReady
        """
        self.processes[POSTGRES].start()
        self._wait("PostgreSQL", self.postgres.is_ready)
        for name in (NAME_SERVER, BROKER):
            self.processes[name].start()
        self._wait("RocketMQ", self._broker_is_known)
        for process in self.processes.values():
            if not process.starts:
                process.start()
        self._wait("the services", self._answers)

    def close(self) -> None:
        """End everything at once."""
        for process in reversed(self.processes.values()):
            process.kill()
        self._rocketmq.kill()
        self.postgres.remove()

    def hold(self, name: str, seconds: float) -> None:
        """A process that dies is not started again before that time has passed."""
        self._held[name] = time.monotonic() + seconds

    def look_after(self) -> None:
        """Start again what has died and is not held. To be called all the time; says who died in `deaths`."""
        now = time.monotonic()
        for name, process in self.processes.items():
            if now < self._held.get(name, 0.0):
                continue
            code = process.revive(now)
            if code is not None:
                self.deaths.append(f"{name} {code}")

    def name_of(self, pid: int) -> str:
        """The name of the process with this id; empty: it is a child of one."""
        return next((name for name, process in self.processes.items() if process.pid == pid), "")

    def _services(self, replicas: int, *, spark: bool) -> list[topology.Service]:
        stores = {kind: [free_ports.choose() for _ in range(replicas)] for kind in topology.STORES}
        self.rest = f"http://127.0.0.1:{(rest := free_ports.choose())}"
        workers = tuple(free_ports.choose() for _ in range(self._executors))
        chosen = topology.Ports(rest, free_ports.choose(), {kind: listed[0] for kind, listed in stores.items()}, workers)
        self.hosts = self._proxied(stores)
        addresses = {
            f"ROCKETCONNECT_{kind.upper()}_ADDRESS": ",".join(f"127.0.0.1:{port}" for port in listed)
            for kind, listed in stores.items()
        }
        extra = {
            **addresses,
            "ROCKETCONNECT_STORE_URL": self._database_url,
            "CHAOS_FAILPOINTS": str(self.failpoints),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(INJECTED), os.environ.get("PYTHONPATH", "")))),
        }
        services = []
        for service in topology.services(
            chosen, data=self._data, name_server=self._rocketmq.name_server, spark_classes=spark_folder(), extra=extra
        ):
            if service.kind == "exporter":
                continue
            environment = {**service.environment, "ROCKETCONNECT_SPARK_WARM": str(spark).lower()}
            if service.kind == "executor":
                environment |= self._far(service.name, stores)
            for number, port in enumerate(stores.get(service.kind, [service.port]), 1):
                name = f"{service.name}-{number}" if replicas > 1 and service.kind in stores else service.name
                told = {"ROCKETCONNECT_PORT": str(port), "CHAOS_CLOCK": str(clock_of(self.failpoints, name))}
                services.append(replace(service, name=name, port=port, environment={**environment, **told}))
        return services

    def _on_its_host(self, service: topology.Service) -> list[str]:
        if self._network is None or service.kind != "executor":
            return service.command
        return self._network.enter(service.name, service.command)

    def _far(self, name: str, stores: Mapping[str, Sequence[int]]) -> dict[str, str]:
        """What an executor on another host is told: everything is behind a proxy there."""
        if self._network is None:
            return {}
        services, brokers = self._network.addresses[SERVICES], self._network.addresses[BROKERS]
        return {
            "ROCKETCONNECT_HOST": self._network.addresses[name],
            # Its network has nobody else in it.
            "ROCKETCONNECT_INSECURE": "true",
            "ROCKETCONNECT_NAME_SERVER": f"{brokers}:{self._rocketmq.name_server.rpartition(':')[2]}",
            **{
                f"ROCKETCONNECT_{kind.upper()}_ADDRESS": ",".join(f"{services}:{port}" for port in listed)
                for kind, listed in stores.items()
            },
        }

    def _proxied(self, stores: Mapping[str, Sequence[int]]) -> Proxy | None:
        if self._network is None:
            return None
        ways = {(SERVICES, port): port for listed in stores.values() for port in listed}
        ways |= {(BROKERS, port): port for port in (_port(self._rocketmq.name_server), _port(self._rocketmq.broker))}
        return Proxy({(self._network.addresses[name], port): ("127.0.0.1", port) for name, port in ways})

    def _process(self, name: str, command: Callable[[], Sequence[str]], environment: dict[str, str]) -> Process:
        return Process(name, command, environment, self._logs / f"{name}.log", 0, 5.0)

    def _wait(self, what: str, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not true():
            if time.monotonic() > deadline:
                msg = f"{what} did not come up within {START_SECONDS} s; see {self._logs}"
                raise NotReady(msg)
            for process in self.processes.values():
                if process.starts:
                    process.revive(time.monotonic())
                if process.failures == GIVES_UP:
                    last = self._logs.joinpath(f"{process.name}.log").read_text(encoding="utf-8").rstrip().rpartition("\n")[2]
                    msg = f"{process.name} has ended {GIVES_UP} times: {last}"
                    raise NotReady(msg)
            time.sleep(0.2)

    def _broker_is_known(self) -> bool:
        if self._network is None:
            return self._rocketmq.is_ready()
        told = f'"{self._network.addresses[BROKERS]}:{_port(self._rocketmq.broker)}"'.encode()
        return told in probe._call(_port(self._rocketmq.name_server), probe._GET_BROKER_CLUSTER_INFO, b"", 1.0)

    def _answers(self) -> bool:
        return answers(self.rest, self._executors)


def clock_of(failpoints: Path, name: str) -> Path:
    """The file that says by how much the clock of a process is wrong; none: it is right."""
    return failpoints / f"clock-{name}"


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def answers(rest: str, executors: int) -> bool:
    """Whether everything behind a gateway answers, and so many workers live and have said what they offer."""
    try:
        with httpx.Client(base_url=rest, timeout=2.0) as client:
            got = [client.get(path) for path in ("/readyz", "/v1/workers", "/v1/plugins")]
        if not all(answer.is_success for answer in got):
            return False
        alive = [worker for worker in got[1].json().get("workers", []) if worker.get("alive")]
        return len(alive) >= executors and bool(got[2].json().get("plugins"))
    except httpx.HTTPError:
        return False
