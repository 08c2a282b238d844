"""`rocketconnect up` as a user starts, interrupts, kills and restarts it."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from rocketconnect_cli.api import Api
from rocketconnect_cli.embedded.rocketmq import BROKER, NAME_SERVER
from rocketconnect_cli.instance import topology
from rocketconnect_cli.states import counter, get_state, wait_for, whole
from rocketconnect_kit.tethered import tethered
from rocketmq_remoting import Client
from tests import free_ports
from tests.deploy.asked import queries
from tests.ended import ended
from tests.shared_rocketmq import RocketMQ

pytestmark = pytest.mark.e2e
COMMAND = str(Path(sys.executable).with_name("rocketconnect"))


class Up:
    """One run of `rocketconnect up`."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [COMMAND, "up", "--data", str(folder), "--output", "json", *options]
        self.process = subprocess.Popen(
            tethered(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def ready(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        return dict(json.loads(line))

    def below(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self, number: signal.Signals, times: int = 1) -> tuple[int, list[psutil.Process], float]:
        """Sends a signal; the exit code, what is still running below it a second later, and the seconds that it took."""
        below = self.below()
        begin = time.monotonic()
        for _ in range(times):
            self.process.send_signal(number)
            time.sleep(0.3)
        self.process.communicate(timeout=90)
        seconds = time.monotonic() - begin
        time.sleep(1.5)
        return self.process.returncode, [child for child in below if alive(child)], seconds


Start = Callable[..., Up]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start one with these arguments of Up; what a failed test leaves running is ended."""
    started: list[Up] = []

    def one(folder: Path, *options: str) -> Up:
        started.append(Up(folder, *options))
        return started[-1]

    yield one
    for up in started:
        if up.process.poll() is None:
            up.process.kill()
            up.process.communicate()


def alive(process: psutil.Process) -> bool:
    return not ended(process)


def wait_until(true: Callable[[], bool], seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.05)


def append(path: Path, *lines: str) -> None:
    with path.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


@pytest.mark.slow
def test_stop_kill_and_restart_on_the_same_directory(tmp_path: Path, start: Start) -> None:
    data, source, target = tmp_path / "data", tmp_path / "in.txt", tmp_path / "out.txt"
    rest = free_ports.choose()
    append(source, "one", "two")

    position, name_server = free_ports.choose(), free_ports.choose()
    first = start(data, "--rest-port", str(rest), "--port", f"position={position}", "--port", f"name-server={name_server}")
    ready = first.ready()
    assert ready["rest"] == f"http://127.0.0.1:{rest}"
    assert (ready["services"]["position"], ready["nameServer"]) == (f"127.0.0.1:{position}", f"127.0.0.1:{name_server}")
    with Api(ready["rest"]) as api:
        sink = {"connector.class": "file_sink", "topics": "t", "filename": str(target)}
        api.request("POST", "/v1/connectors", body={"name": "out", "config": sink})
        config = {"connector.class": "file_source", "topic": "t", "filename": str(source)}
        api.request("POST", "/v1/connectors", body={"name": "in", "config": config})
        wait_until(lambda: target.exists() and target.read_text() == "one\ntwo\n")

    again = subprocess.run(
        [COMMAND, "up", "--data", str(data), "--rest-port", "0"], capture_output=True, text=True, timeout=60, check=False
    )
    assert again.returncode == 1
    assert "another directory" in again.stderr
    assert "Traceback" not in again.stderr

    assert first.end(signal.SIGINT)[:2] == (0, [])

    append(source, "three")
    second = start(data, "--rest-port", str(rest))
    with Api(second.ready()["rest"]) as api:
        wait_until(lambda: target.read_text() == "one\ntwo\nthree\n")
        # Its tasks began while the broker did not answer yet.
        assert {name: whole(get_state(api, name)["tasks"], "errors") for name in ("in", "out")} == {"in": 0, "out": 0}
    assert second.end(signal.SIGKILL)[:2] == (-9, [])

    append(source, "four")
    third = start(data, "--rest-port", str(rest))
    with Api(third.ready()["rest"]) as api:
        wait_until(lambda: target.read_text() == "one\ntwo\nthree\nfour\n")
        for name in ("in", "out"):
            wait_for(api, name, ("RUNNING", "IDLE"), 180)
        out = api.request("DELETE", "/v1/connectors/out")["connector"]
        made = api.request("POST", "/v1/connectors", body={"name": "out", "config": sink, "wantedState": "WANTED_STATE_STOPPED"})
        (warning,) = made["warnings"]
        assert f"(uid {out['uid']}, deleted at " in warning["reason"]
        assert ") wrote to the same target up to t/" in warning["reason"]
        api.request("DELETE", "/v1/connectors/out")
        adopted = api.request("POST", "/v1/connectors", body={"name": "out", "config": sink, "adoptUid": out["uid"]})
        assert adopted["warnings"] == []
        append(source, "five")
        wait_until(lambda: target.read_text().endswith("five\n"))
    time.sleep(1)
    assert target.read_text() == "one\ntwo\nthree\nfour\nfive\n"
    code, left, seconds = third.end(signal.SIGINT, times=2)
    assert (code, left) == (0, [])
    assert seconds < 5


@pytest.mark.slow
def test_an_existing_rocketmq_carries_a_pipeline_and_is_left_running(tmp_path: Path, start: Start, rocketmq: RocketMQ) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    append(source, "one", "two", "three")
    up = start(tmp_path / "data", "--rest-port", "0", "--namesrv", rocketmq.name_server)
    ready = up.ready()
    assert ready["nameServer"] == rocketmq.name_server
    assert not {BROKER, NAME_SERVER} & set(ready["pids"])
    with Api(ready["rest"]) as api:
        sink = {"connector.class": "file_lines", "engine": "native", "topics": "existing", "filename": str(target)}
        api.request("POST", "/v1/connectors", body={"name": "out", "config": sink})
        config = {"connector.class": "file_source", "topic": "existing", "filename": str(source)}
        api.request("POST", "/v1/connectors", body={"name": "in", "config": config})
        wait_until(lambda: target.exists() and target.read_text() == "one\ntwo\nthree\n")
    assert up.end(signal.SIGINT)[:2] == (0, [])
    with Client(rocketmq.name_server, timeout=60) as client:
        assert sum(client.max_offset(queue) for queue in client.queues("existing")) == 3


@pytest.mark.slow
def test_a_prometheus_watches_it_with_the_rules_keeps_its_data_and_ends_with_it(
    tmp_path: Path, start: Start, rocketmq: RocketMQ
) -> None:
    for _ in range(2):
        up = start(tmp_path / "data", "--rest-port", "0", "--watch", "--namesrv", rocketmq.name_server)
        ready = up.ready()

        def ask(path: str, query: str = "", address: str = ready["prometheus"]) -> Any:
            answer = httpx.get(f"{address}/api/v1/{path}", params={"query": query}, timeout=10)
            return answer.raise_for_status().json()["data"]

        # After a restart, too: no process is taken for another one.
        wait_until(lambda: len(ask("query", "up == 1")["result"]) == 7)
        services = {each["metric"].get("service", "exporter") for each in ask("query", "up")["result"]}
        assert services == set(topology.SERVICES)
        assert sum(len(group["rules"]) for group in ask("rules")["groups"]) > 20
        wait_until(lambda: bool(ask("query", 'rocketconnect_workers{state="alive"} == 1')["result"]))
        assert up.end(signal.SIGINT)[:2] == (0, [])
        assert (tmp_path / "data/prometheus/data").is_dir()
    assert json.loads((tmp_path / "data/ports.json").read_text())["prometheus"] == int(ready["prometheus"].rpartition(":")[2])


@pytest.mark.slow
def test_the_java_of_its_own_rocketmq_is_watched(tmp_path: Path, start: Start) -> None:
    up = start(tmp_path / "data with space", "--rest-port", "0", "--watch")
    address = up.ready()["prometheus"]

    def ask(query: str) -> list[Any]:
        answer = httpx.get(f"{address}/api/v1/query", params={"query": query}, timeout=10).raise_for_status()
        found: list[Any] = answer.json()["data"]["result"]
        return found

    (heaps, garbage) = (each.expr for each in queries() if "rocketmq-java" in each.expr)
    wait_until(lambda: len(ask(heaps)) == len(ask(garbage)) == 2, 180)
    assert {each["metric"]["process"] for each in ask(heaps) if 0 < float(each["value"][1]) < 1} == {"name-server", "broker"}
    assert up.end(signal.SIGINT)[:2] == (0, [])


@pytest.mark.slow
def test_two_executors_share_the_tasks_of_a_connector(tmp_path: Path, start: Start, rocketmq: RocketMQ) -> None:
    # Which of its tasks a file belongs to is as good as chance: of so many each task has some.
    for number in range(40):
        append(tmp_path / f"{number}.log", "one")
    up = start(tmp_path / "data", "--rest-port", "0", "--executors", "2", "--namesrv", rocketmq.name_server)
    ready = up.ready()
    with Api(ready["rest"]) as api:
        config = {"connector.class": "file_source", "topic": "shared", "filename": str(tmp_path / "*.log"), "max.tasks": "2"}
        api.request("POST", "/v1/connectors", body={"name": "in", "config": config})

        def all_sent() -> bool:
            return sum(counter(task, "recordsOut") for task in get_state(api, "in")["tasks"]) == 40

        wait_until(all_sent)
        tasks = get_state(api, "in")["tasks"]
        workers = {task["task"]: task["workerId"] for task in tasks}
        command = [COMMAND, "cluster", "--output", "json", "--url", ready["rest"]]
        shown = json.loads(subprocess.run(command, capture_output=True, timeout=60, check=True).stdout)
    assert sorted(workers.values()) == ["worker-1", "worker-2"]
    assert all(counter(task, "recordsOut") > 0 for task in tasks)
    assert {item["task"]: item["workerId"] for item in shown["assignments"]} == workers
    assert {worker["workerId"]: worker["alive"] for worker in shown["workers"]} == {"worker-1": True, "worker-2": True}
    assert up.end(signal.SIGINT)[:2] == (0, [])


@pytest.mark.slow
def test_who_needs_an_executor_that_was_killed_waits_until_it_is_there_again(
    tmp_path: Path, start: Start, rocketmq: RocketMQ
) -> None:
    up = start(tmp_path / "data", "--rest-port", "0", "--namesrv", rocketmq.name_server)
    url = up.ready()["rest"]
    (tmp_path / "in.txt").write_text("one\n")
    pairs = {"connector.class": "file_source", "filename": str(tmp_path / "in.txt"), "topic": "killed-executor"}
    words = [word for key, value in pairs.items() for word in ("-s", f"{key}={value}")]
    (executor,) = (child for child in up.below() if child.cmdline()[-2:] == ["-m", "services.executor"])
    # Nothing is started again before somebody waits for it.
    up.process.send_signal(signal.SIGSTOP)
    executor.kill()
    command = [COMMAND, "connector", "create", "killed", *words, "--url", url]
    with subprocess.Popen(tethered(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr is not None
        assert waiting.stderr.readline() == "no executor answers yet; waiting for one that is starting ...\n"
        up.process.send_signal(signal.SIGCONT)
        waiting.communicate(timeout=120)
    # On a machine that is busy it may take longer than anybody waits.
    wait_until(lambda: waiting.returncode == 0 or subprocess.run(command, capture_output=True, check=False).returncode == 0)
    assert up.end(signal.SIGINT)[:2] == (0, [])


def test_a_port_in_use_is_said_in_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        command = [COMMAND, "up", "--data", str(tmp_path / "d"), "--rest-port", str(port)]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 1
    assert f"port {port} for REST is in use" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    "place", ["a-file", pytest.param("a-file/below", marks=pytest.mark.slow), pytest.param("/proc/foo", marks=pytest.mark.slow)]
)
def test_a_data_directory_that_is_none_is_said_in_one_sentence(tmp_path: Path, place: str) -> None:
    (tmp_path / "a-file").touch()
    command = [COMMAND, "up", "--data", str(tmp_path / place), "--rest-port", "0"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"Error: {tmp_path / place} can't be used as a data directory: ")
    assert answer.stderr.count("\n") == 1
