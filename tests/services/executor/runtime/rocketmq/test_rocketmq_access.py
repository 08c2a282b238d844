"""Tasks with a RocketMQ that lets not everybody in."""

import socket
import sys
from contextlib import closing
from pathlib import Path

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketconnect_sdk.errors import PermanentError
from rocketmq_remoting.connections.transport import TcpTransport
from services.executor.contract.endpoints import Endpoints, RocketMQAccess
from services.executor.contract.task import Kind, State
from services.executor.runtime.rocketmq.connect import connect
from services.executor.secrets.resolving import hide
from tests.services.executor.runtime.conftest import PositionProcess, Tasks


@pytest.mark.rocketmq
def test_a_broker_with_acl_is_used_with_the_key_of_the_settings_and_its_secret_is_never_shown(
    acl_rocketmq: EmbeddedRocketMQ, positions: PositionProcess, tmp_path: Path, plugins: None
) -> None:
    access = RocketMQAccess("root", "root-secret")
    tasks = Tasks(acl_rocketmq.name_server, positions.address, tmp_path, access)
    try:
        file = tasks.file("a", [f"line {number}" for number in range(100)])
        running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file)})
        running.reporter.wait_for_out(100)
        assert running.stop().clean
        assert tasks.bodies() == file.read_text().splitlines()
    finally:
        tasks.close()
    assert "root-secret" not in repr(access)
    assert hide("the secret is root-secret") == "the secret is ***"


@pytest.mark.rocketmq
def test_a_task_that_a_broker_does_not_let_in_says_why(
    acl_rocketmq: EmbeddedRocketMQ, positions: PositionProcess, tmp_path: Path, plugins: None
) -> None:
    tasks = Tasks(acl_rocketmq.name_server, positions.address, tmp_path)
    try:
        file = tasks.file("a", ["line"])
        running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file)})
        assert running.end().failed
        state, trace = running.reporter.states[-1]
        assert state is State.FAILED
        assert "access key" in trace
    finally:
        tasks.close()


@pytest.mark.rocketmq
@pytest.mark.parametrize(
    "own", [True, False], ids=["its own user may, the executor's not", "its own user may not, the executor's may"]
)
def test_a_connector_is_the_user_that_it_names_and_nobody_else(
    acl_rocketmq: EmbeddedRocketMQ,
    positions: PositionProcess,
    tmp_path: Path,
    plugins: None,
    monkeypatch: pytest.MonkeyPatch,
    own: bool,
) -> None:
    root = RocketMQAccess("root", "root-secret")
    tasks = Tasks(acl_rocketmq.name_server, positions.address, tmp_path, root)
    tasks.rocketmq = RocketMQAccess("nobody", "known-to-nobody") if own else root
    # What a reference stands for is hidden from then on in whatever this process says: it must be no word that others say.
    name = "root" if own else "${env:TEAM_USER}"
    monkeypatch.setenv("TEAM_USER", "stranger-to-the-broker")
    monkeypatch.setenv("TEAM_SECRET", "root-secret" if own else "known-to-nobody")
    try:
        file = tasks.file("a", ["line"])
        user = {"rocketmq.access.key": name, "rocketmq.secret.key": "${env:TEAM_SECRET}"}
        running = tasks.start(Kind.SOURCE, {"connector.class": "lines", "files": str(file), **user})
        if own:
            running.reporter.wait_for_out(1)
            assert running.stop().clean
            sink = tasks.start(Kind.SINK, {"connector.class": "table", "file": str(tmp_path / "t.db"), **user})
            sink.reporter.wait_for_out(1)
            assert sink.stop().clean
        else:
            assert running.end().failed
            assert "check access key and secret key" in running.reporter.states[-1][1]
            assert "known-to-nobody" not in str(running.reporter.states)
    finally:
        tasks.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can be told")
def test_nothing_is_sent_again_by_the_kernel_after_the_send_deadline() -> None:
    """What was written just before the lease ended must not arrive when a new owner has looked into the topic."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with closing(connect(Endpoints(address, "127.0.0.1:1", send_deadline=1.5), "group")) as client:
            transport = client._network.connection(address)._transport
            assert isinstance(transport, TcpTransport)
            assert transport._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 1500


def test_certificates_that_can_not_be_used_are_named(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("no certificate")
    with pytest.raises(PermanentError, match=f"{file}.*give the executor valid PEM files"):
        connect(Endpoints("127.0.0.1:1", "127.0.0.1:1", rocketmq=RocketMQAccess(tls=True, tls_ca=str(file))), "group")
