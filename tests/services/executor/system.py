"""The real services and executors as processes, for tests that say what happens to them."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import grpc
import psutil
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub
from rocketconnect.executor.v1 import executor_service_pb2 as pb
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceStub
from rocketconnect.state.v1 import state_service_pb2 as states
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub

from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.tethered import tethered
from tests import stores

PLUGINS = Path(__file__).parent / "plugins"
STORES = ("config", "position", "state", "cluster")
FAILPOINTS = Path(__file__).parents[2] / "chaos" / "injected"


class System:
    """The services as processes, on fixed ports."""

    def __init__(self, folder: Path, name_server: str, free_port: Callable[[], int]) -> None:
        self.folder = folder
        self.name_server = name_server
        self.addresses = {name: f"127.0.0.1:{free_port()}" for name in (*STORES, "worker-1", "worker-2")}
        self.python = sys.executable
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        stores.prepare(folder)
        self.failpoints = folder / "failpoints"
        self.failpoints.mkdir()
        self.config = ConfigServiceStub(grpc.insecure_channel(self.addresses["config"]))
        self.states = StateServiceStub(grpc.insecure_channel(self.addresses["state"]))
        self.cluster = ClusterServiceStub(grpc.insecure_channel(self.addresses["cluster"]))

    def start(self, name: str, **settings: str) -> None:
        service = name if name in STORES else "executor"
        own = {
            "port": self.addresses[name].rpartition(":")[2],
            "data_dir": str(self.folder),
            "name_server": self.name_server,
            **{f"{store}_address": self.addresses[store] for store in STORES},
            **({"worker_id": name} if service == "executor" else {}),
            **settings,
        }
        environment = {f"ROCKETCONNECT_{key.upper()}": value for key, value in own.items()}
        environment["CHAOS_FAILPOINTS"] = str(self.failpoints)
        environment["PYTHONPATH"] = os.pathsep.join([str(PLUGINS), str(FAILPOINTS), os.environ.get("PYTHONPATH", "")])
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                tethered([self.python, "-m", f"services.{service}"]),
                env={**os.environ, **environment},
                stdout=log,
                stderr=log,
            )

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def stopped_at(self, worker: str, failpoint: str) -> tuple[psutil.Process, psutil.Process]:
        """The next host that comes by a failpoint of tests/chaos/injected is stopped there, and with it its executor.

        The other hosts are killed: where one is stopped by chance, it may hold the lock of a file.

        Returns: the executor and the host.
        """
        (self.failpoints / failpoint).write_text(str(int(signal.SIGSTOP)))
        self.until(lambda: list(self.failpoints.glob(f"{failpoint}.*")))
        (hit,) = self.failpoints.glob(f"{failpoint}.*")
        executor, host = psutil.Process(self.processes[worker].pid), psutil.Process(int(hit.suffix[1:]))
        executor.suspend()
        for other in executor.children():
            if other != host:
                other.kill()
        return executor, host

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

    def create(self, name: str, **options: str) -> None:
        given = {key.replace("_", "."): value for key, value in options.items()}
        request = config.CreateConnectorRequest(name=name, config=given, request_id=str(uuid.uuid4()))
        deadline = time.monotonic() + 600
        while True:
            try:
                self.config.CreateConnector(request, timeout=60, wait_for_ready=True)
            except grpc.RpcError as error:
                if decode(error).code not in ("UNAVAILABLE", "DEADLINE_EXCEEDED") or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return

    def state(self, connector: str) -> states.ConnectorState:
        request = states.GetConnectorStateRequest(connector=connector)
        answer: states.GetConnectorStateResponse = self.states.GetConnectorState(request, timeout=60, wait_for_ready=True)
        return answer.state

    def hosts(self, worker: str) -> list[pb.HostProcess]:
        stub = ExecutorServiceStub(grpc.insecure_channel(self.addresses[worker]))
        return list(stub.DescribeWorker(pb.DescribeWorkerRequest(), timeout=60).hosts)

    def host_of(self, worker: str, task: str) -> int:
        return next((int(host.pid) for host in self.hosts(worker) if task in host.tasks), 0)

    def until(self, condition: Callable[[], object], seconds: float = 180.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"waited {seconds} s\n{self.said()}"
            time.sleep(0.05)

    def said(self) -> str:
        answer = self.states.ListConnectorStates(states.ListConnectorStatesRequest(), timeout=60)
        logs = [f"{path.name}: {line}" for path in self.folder.glob("*.log") for line in path.read_text().splitlines()[-15:]]
        return "\n".join([str(answer), *logs])


def lines(path: Path) -> list[str]:
    """What a file sink has written so far."""
    return path.read_text().splitlines() if path.exists() else []


def is_exact(out: Path) -> bool:
    """All so far, once, in order."""
    there = lines(out)
    return there == [f"part-0 {number}" for number in range(1, len(there) + 1)]
