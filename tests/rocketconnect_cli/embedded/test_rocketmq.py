"""A real RocketMQ: started, killed, restarted, stopped, several side by side."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import psutil
import pytest

from rocketconnect_cli.embedded import DataDirectoryInUse, EmbeddedRocketMQ, StartFailed, probe
from rocketconnect_cli.embedded.rocketmq import BROKER, NAME_SERVER
from rocketmq_remoting import Client, encode_batch
from tests.conftest import RocketMQFactory
from tests.ended import pid_ended

pytestmark = pytest.mark.rocketmq

OWNER = """
import json, sys, time
from pathlib import Path
from rocketconnect_cli.embedded import EmbeddedRocketMQ
rocketmq = EmbeddedRocketMQ(Path(sys.argv[1]))
rocketmq.start()
pids = [process.pid for process in rocketmq.processes.values()]
print(json.dumps({"pids": pids, "name_server": rocketmq.name_server, "broker": rocketmq.broker}), flush=True)
time.sleep(600)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedRocketMQ]:
    made = EmbeddedRocketMQ(tmp_path / "data")
    yield made
    made.kill()


@pytest.fixture(scope="module")
def running(rocketmq_factory: RocketMQFactory) -> EmbeddedRocketMQ:
    return rocketmq_factory({})


def _owner(data_dir: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", OWNER, str(data_dir)], stdout=subprocess.PIPE, text=True)


def _ready(owner: subprocess.Popen[str]) -> dict[str, object]:
    assert owner.stdout is not None
    return dict(json.loads(owner.stdout.readline()))


def _send(name_server: str, count: int) -> None:
    with Client(name_server, timeout=10) as client:
        client.create_topic("kept", queues=1)
        (queue,) = client.queues("kept", writable=True)
        for first in range(0, count, 100):
            client.send_batch(queue, encode_batch([b"%d" % number for number in range(first, first + 100)]))


def _received(name_server: str, count: int) -> list[int]:
    bodies: list[int] = []
    with Client(name_server, timeout=10) as client:
        (queue,) = client.queues("kept")
        client.barrier(queue.broker, 10)
        while len(bodies) < count:
            pulled = client.pull(queue, len(bodies), max_messages=count).messages
            assert pulled, f"only {len(bodies)} of {count} messages"
            bodies += [int(message.body) for message in pulled]
    return bodies


def _gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 60
    while not all(map(pid_ended, pids)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.slow
def test_killed_with_its_owner_it_dies_and_comes_back_with_every_message_on_the_same_ports(tmp_path: Path) -> None:
    with _owner(tmp_path) as owner:
        before = _ready(owner)
        _send(str(before["name_server"]), 5000)
        owner.send_signal(signal.SIGKILL)
    pids = before["pids"]
    assert isinstance(pids, list)
    assert _gone(pids)

    with EmbeddedRocketMQ(tmp_path) as again:
        assert (again.name_server, again.broker) == (before["name_server"], before["broker"])
        # Nor does it take any others, which somebody may have been promised.
        assert _listening(again) == set(again.ports)
        assert _received(again.name_server, 5000) == list(range(5000))
        again.kill()


@pytest.mark.slow
def test_a_killed_broker_can_be_started_alone_by_a_supervisor(server: EmbeddedRocketMQ) -> None:
    server.prepare()
    commands = {NAME_SERVER: server.name_server_command, BROKER: server.broker_command}
    running = {name: subprocess.Popen(command(), env=server.environment) for name, command in commands.items()}
    try:
        _until_ready(server)
        _send(server.name_server, 1000)
        # It writes its settings anew at that; the restarted one reads them.
        probe.ask_to_register(int(server.broker.rpartition(":")[2]), 5)
        assert "brokerPermission=6" in (server.data_dir / "broker.conf").read_text()
        running[BROKER].kill()
        running[BROKER].wait()
        running[BROKER] = subprocess.Popen(server.broker_command(), env=server.environment)
        _until_ready(server)
        assert _received(server.name_server, 1000) == list(range(1000))
    finally:
        for process in running.values():
            process.kill()
            process.wait()


def _listening(server: EmbeddedRocketMQ) -> set[int]:
    found = (psutil.Process(process.pid).net_connections() for process in server.processes.values())
    return {each.laddr.port for each in chain.from_iterable(found) if each.status == psutil.CONN_LISTEN}


def _until_ready(server: EmbeddedRocketMQ) -> None:
    deadline = time.monotonic() + 60
    while not server.is_ready():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_stopped_it_has_closed_its_store_and_starts_again(server: EmbeddedRocketMQ) -> None:
    server.start()
    processes = server.processes
    _send(server.name_server, 1000)
    server.stop()
    assert server.is_closed()
    assert all(process.returncode is not None for process in processes.values())
    server.start()
    assert _received(server.name_server, 1000) == list(range(1000))


@pytest.mark.slow
def test_two_started_at_the_same_moment_run_side_by_side(tmp_path: Path) -> None:
    with _owner(tmp_path / "one") as first, _owner(tmp_path / "two") as second:
        try:
            one, two = _ready(first), _ready(second)
            assert len({one["name_server"], one["broker"], two["name_server"], two["broker"]}) == 4
            for of in (one, two):
                _send(str(of["name_server"]), 100)
        finally:
            first.kill()
            second.kill()


def test_a_data_directory_has_one_owner(running: EmbeddedRocketMQ) -> None:
    with pytest.raises(DataDirectoryInUse, match=str(running.data_dir)):
        EmbeddedRocketMQ(running.data_dir).start()
    assert running.is_ready()


def test_only_replication_listens_beyond_loopback(running: EmbeddedRocketMQ) -> None:
    broker_port = int(running.broker.rpartition(":")[2])
    listening = {
        (connection.laddr.ip.removeprefix("::ffff:"), connection.laddr.port)
        for process in running.processes.values()
        for connection in psutil.Process(process.pid).net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
    assert {port for ip, port in listening if ip != "127.0.0.1"} == {broker_port + 1}
    assert ("127.0.0.1", broker_port) in listening


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        # It has ended; what others left for this process to bury is a zombie.
        return ""


def test_a_broker_that_can_not_start_is_told_with_its_log_and_leaves_nothing_running(tmp_path: Path) -> None:
    # A file stands where the broker wants a folder.
    (tmp_path / "file").touch()
    server = EmbeddedRocketMQ(tmp_path / "data", broker_settings={"storePathRootDir": str(tmp_path / "file")})
    with pytest.raises(StartFailed, match=r"ended \(broker\).*broker\.out"):
        server.start()
    assert server.processes == {}
    assert not [child for child in psutil.Process(os.getpid()).children() if str(tmp_path) in _command(child)]
    free_again = EmbeddedRocketMQ(tmp_path / "data")
    free_again.prepare()
    free_again.kill()
