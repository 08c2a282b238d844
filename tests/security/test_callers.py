"""Seven services that ask who calls: a pipeline runs, and nobody else gets anywhere."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub
from rocketconnect.executor.v1 import executor_service_pb2 as executor
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceStub
from rocketconnect.keystore.v1 import keystore_service_pb2 as keystore
from rocketconnect.keystore.v1.keystore_service_pb2_grpc import KeystoreServiceStub
from rocketconnect.position.v1 import position_service_pb2 as position
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub
from rocketconnect.state.v1 import state_service_pb2 as states
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub

from rocketconnect_cli.api import Access, Api, ApiError
from rocketconnect_cli.instance import topology
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import line
from rocketconnect_kit.calls.channel import sync_channel
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_kit.tethered import tethered
from tests.processes import COMMAND, Fleet, wait_until

pytestmark = pytest.mark.e2e
CALLERS = {"services": Role.SERVICE, "worker-1": Role.WORKER, "worker-9": Role.WORKER, "alice": Role.WRITE, "bob": Role.READ}


class Guarded:
    """Seven processes with tokens of their own."""

    def __init__(self, folder: Path, name_server: str) -> None:
        self.folder = folder
        callers = folder / "callers"
        callers.write_text("".join(line(name, role, self.token(name)) for name, role in CALLERS.items()))
        for name in CALLERS:
            (folder / f"{name}.token").write_text(self.token(name))
        told = {
            "ROCKETCONNECT_TOKENS_FILES": str(callers),
            "ROCKETCONNECT_TOKEN_FILE": str(folder / "services.token"),
            "ROCKETCONNECT_SPARK_WARM": "false",
        }
        # What it may is what an executor may, and in its own name.
        worker = {"ROCKETCONNECT_TOKEN_FILE": str(folder / "worker-1.token"), **topology.UNLESS_TOLD}
        self.fleet = Fleet(folder, name_server, told, {"executor": worker})

    @staticmethod
    def token(name: str) -> str:
        return f"token-of-{name}"

    def api(self, name: str) -> Api:
        return Api(self.fleet.rest, Access(self.token(name)))

    def refused(self, service: str, name: str | None, stub: Any, method: str, request: Any) -> str:
        """With which reason a call of a service is refused to who shows this token."""
        settings = ServiceSettings(token_file=None if name is None else self.folder / f"{name}.token")
        address = f"127.0.0.1:{self.fleet.services[service].port}"
        with sync_channel(address, settings) as channel, pytest.raises(grpc.RpcError) as raised:
            getattr(stub(channel), method)(request, timeout=20)
        return decode(raised.value).reason


def said(*words: str, fails: bool = False) -> str:
    """What a command of the command line prints, on one line."""
    done = subprocess.run([COMMAND, *words], check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode != 0) is fails, done.stderr
    return " ".join((done.stdout + done.stderr).split())


@pytest.fixture
def guarded(tmp_path: Path, rocketmq: Any) -> Iterator[Guarded]:
    made = Guarded(tmp_path, rocketmq.name_server)
    for kind in topology.SERVICES:
        made.fleet.start(kind)
    try:
        yield made
    finally:
        for process in made.fleet.processes.values():
            process.kill()
            process.wait()


def test_a_pipeline_runs_between_services_that_ask_and_who_may_not_is_refused(guarded: Guarded, tmp_path: Path) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("".join(f"{number}\n" for number in range(1000)))

    def joined() -> bool:
        try:
            with guarded.api("bob") as api:
                return bool(list(api.pages("/v1/plugins", "plugins")))
        except ApiError:
            return False

    wait_until(joined, 90)
    with guarded.api("alice") as api:
        for name, options in (
            ("out", {"connector.class": "file_lines", "topics": "guarded", "filename": str(target)}),
            ("in", {"connector.class": "file_source", "topic": "guarded", "filename": str(source)}),
        ):
            api.request("POST", "/v1/connectors", body={"name": name, "config": options})
    wait_until(lambda: target.exists() and target.read_text() == source.read_text(), 90)

    url = ["--url", guarded.fleet.rest]
    as_bob = ["--token-file", str(tmp_path / "bob.token"), "connector"]
    assert "out" in said(*as_bob, "list", *url)
    assert "'bob' has the role read, which may not ask for this" in said(*as_bob, "pause", "in", *url, fails=True)
    assert "who asks is not known; show a token" in said("connector", "list", *url, fails=True)

    create = config.CreateConnectorRequest(name="x", config={"connector.class": "file_source"})
    signal = executor.SignalTaskRequest(connector="in")
    opened = position.OpenTaskRequest(fence=position.TaskFence(connector_uid="u", task=0, generation=1 << 60, epoch=1 << 60))
    register = cluster.RegisterWorkerRequest(worker_id="worker-1", address="127.0.0.1:1")
    read = keystore.ReadSealedSecretRequest(name="x")
    # What one worker says of the tasks of another, and where it has users' configurations sent in its place.
    report = states.ReportTasksRequest(worker_id="worker-1")
    plugins = config.ReportPluginsRequest(worker_id="worker-1", address="127.0.0.1:1")
    cleanup = config.ReportCleanupRequest(worker_id="worker-1", connector_uid="u")
    calls: list[tuple[str, str | None, Any, str, Any, str]] = [
        ("config", None, ConfigServiceStub, "CreateConnector", create, "NOT_KNOWN"),
        ("config", "bob", ConfigServiceStub, "CreateConnector", create, "NOT_ALLOWED"),
        ("executor", "alice", ExecutorServiceStub, "SignalTask", signal, "NOT_ALLOWED"),
        # A fence of an absurd generation would end a task for good.
        ("position", "alice", PositionServiceStub, "OpenTask", opened, "NOT_ALLOWED"),
        ("position", None, PositionServiceStub, "OpenTask", opened, "NOT_KNOWN"),
        ("cluster", "alice", ClusterServiceStub, "RegisterWorker", register, "NOT_ALLOWED"),
        ("cluster", "worker-9", ClusterServiceStub, "RegisterWorker", register, "NOT_ALLOWED"),
        ("state", "worker-9", StateServiceStub, "ReportTasks", report, "NOT_ALLOWED"),
        ("config", "worker-9", ConfigServiceStub, "ReportPlugins", plugins, "NOT_ALLOWED"),
        ("config", "worker-9", ConfigServiceStub, "ReportCleanup", cleanup, "NOT_ALLOWED"),
        ("config", "alice", KeystoreServiceStub, "ReadSealedSecret", read, "NOT_ALLOWED"),
    ]
    for service, shown, stub, method, request, reason in calls:
        assert guarded.refused(service, shown, stub, method, request) == reason, (service, method)
    codes = guarded.fleet.stop()
    assert codes == dict.fromkeys(topology.SERVICES, 0)
    logs = "".join(path.read_text(errors="replace") for path in tmp_path.glob("*.log"))
    assert "token-of-" not in logs


def test_up_listens_beyond_this_machine_only_where_it_asks_who_calls_in_secret(tmp_path: Path) -> None:
    words = ["up", "--data", str(tmp_path / "data"), "--host", "0.0.0.0"]
    told = said(*words, fails=True)
    assert (
        "--host 0.0.0.0 lets in others than this machine, and nobody is asked who it is: give --tokens-file; and what is said"
        in told
    )
    assert "give --tls-cert and --tls-key; or give --insecure on a trusted network" in told
    assert "--tls-cert and --tls-key go together" in said(*words, "--tls-cert", __file__, fails=True)


def test_an_instance_with_tokens_and_tls_answers_who_shows_one_and_trusts_it(tmp_path: Path, rocketmq: Any) -> None:
    cert, key = tmp_path / "rest.pem", tmp_path / "rest.key"
    made = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=rest -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {cert}"
    subprocess.run(["openssl", *made.split()], check=True, capture_output=True)
    callers = tmp_path / "callers"
    token = said("token", "create", "alice", "--role", "write", "--file", str(callers))
    command = [COMMAND, "up", "--data", str(tmp_path / "data"), "--namesrv", rocketmq.name_server, "-o", "json", "--rest-port", "0"]
    guarded = ["--tokens-file", str(callers), "--tls-cert", str(cert), "--tls-key", str(key)]
    with subprocess.Popen(tethered([*command, *guarded]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line_said = process.stdout.readline()
            assert line_said, process.stderr.read()
            rest = json.loads(line_said)["rest"]
            assert rest.startswith("https://127.0.0.1:")
            asked = ["plugins", "list", "--url", rest]
            assert "file_source" in said("--token", token, "--cacert", str(cert), *asked)
            assert "CERTIFICATE_VERIFY_FAILED" in said("--token", token, *asked, fails=True)
            assert "who asks is not known" in said("--cacert", str(cert), *asked, fails=True)
            logs = [path.read_text(errors="replace") for path in (tmp_path / "data" / "logs").glob("*.log")]
            assert not any(token in log for log in logs)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=90)
        assert process.returncode == 0
