"""Host processes as the executor holds them: real ones, started from this process."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest

from rocketconnect_kit.clock import boot_seconds
from rocketconnect_sdk.permissions.spark_profiles import PROFILES
from services.executor.contract.answers import PluginsFound
from services.executor.contract.assignment import Assigned, Key
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.messages import Begin, Exit, TaskPulse, encode
from services.executor.contract.questions import FindPlugins
from services.executor.contract.task import Outcome
from services.executor.hosts.forks import Forks
from services.executor.hosts.fresh import FreshHosts, PluginCrashed
from services.executor.hosts.pool import HUNG_SECONDS, HostPool
from services.executor.hosts.room import Room
from services.executor.hosts.scratch import Scratch


class Watcher:
    """Notes what is told of runs."""

    def __init__(self) -> None:
        self.pulses: list[TaskPulse] = []
        self.ended: dict[int, Outcome] = {}
        self.lost: dict[int, str] = {}

    def on_pulse(self, pulse: TaskPulse) -> None:
        self.pulses.append(pulse)

    def on_ended(self, run: int, outcome: Outcome) -> None:
        self.ended[run] = outcome

    def on_lost(self, run: int, reason: str) -> None:
        self.lost[run] = reason


@pytest.fixture
def watcher() -> Watcher:
    return Watcher()


@pytest.fixture
async def fresh(tmp_path: Path) -> AsyncIterator[FreshHosts]:
    scratch = Scratch(tmp_path)
    made = FreshHosts(scratch, os.environ)
    yield made
    await made.close()
    scratch.close()
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - the folder is this test's own
    # This process takes orphans, also those of servers that other tests start.
    children = (child for child in psutil.Process().children() if child.status() == psutil.STATUS_ZOMBIE)
    assert [child for child in children if child.name().startswith(("python", "rocketconnect"))] == []


@pytest.fixture
async def pool(fresh: FreshHosts, watcher: Watcher) -> AsyncIterator[HostPool]:
    made = HostPool(fresh, Endpoints("127.0.0.1:1", "127.0.0.1:1"), watcher, native_hosts=2)
    yield made
    await made.close()


def assigned() -> Assigned:
    options = {"connector.class": "file_source", "topic": "t", "filename": "/not/there"}
    return Assigned(Key("uid", 0), "orders", 1, 1, 1, "SOURCE", options, {"share": "0/1", "tasks": "1"})


async def until(condition: Callable[[], object], seconds: float = 180.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


async def test_a_host_that_says_nothing_for_too_long_is_killed_and_its_task_is_lost(pool: HostPool, watcher: Watcher) -> None:
    pool.start(1, assigned())
    await until(lambda: watcher.pulses)
    (host,) = pool.describe()
    os.kill(host.pid, signal.SIGSTOP)
    await asyncio.sleep(0.2)
    for _ in range(HUNG_SECONDS):
        pool.tick()
    await asyncio.sleep(0.2)
    assert watcher.lost == {}
    pool.tick()
    await until(lambda: watcher.lost)
    assert "hung" in watcher.lost[1]
    assert pool.describe() == []


async def test_a_task_without_a_lease_stays_and_waits(pool: HostPool, watcher: Watcher) -> None:
    pool.start(1, assigned())
    await until(lambda: pool.describe() and watcher.pulses)
    await asyncio.sleep(2.5)
    assert (watcher.ended, watcher.lost) == ({}, {})


async def test_tasks_share_a_host_when_there_are_as_many_as_there_may_be(pool: HostPool) -> None:
    for run in range(5):
        pool.start(run, assigned())
    assert sorted([run for run, _ in host.runs] for host in pool.describe()) == [[0, 2, 4], [1, 3]]


async def test_tasks_that_begin_after_plugins_were_loaded_anew_get_a_new_process(pool: HostPool, fresh: FreshHosts) -> None:
    for run in range(2):
        pool.start(run, assigned())
    await fresh.load_anew()
    for run in range(2, 5):
        pool.start(run, assigned())
    assert sorted([run for run, _ in host.runs] for host in pool.describe()) == [[0], [1], [2, 4], [3]]


async def test_a_question_whose_host_is_killed_says_so(fresh: FreshHosts) -> None:
    asking = asyncio.create_task(fresh.ask(FindPlugins(), 20, "test"))
    await asyncio.sleep(0.05)
    (host,) = fresh._living
    os.kill(host.pid, signal.SIGKILL)
    with pytest.raises(PluginCrashed, match="SIGKILL"):
        await asking


@pytest.mark.slow
async def test_a_question_is_answered_after_the_process_that_forks_was_killed(fresh: FreshHosts) -> None:
    for _ in range(3):
        assert isinstance(await fresh.ask(FindPlugins(), 20, "test"), PluginsFound)
        for one in forking():
            one.kill()
        answer = await fresh.ask(FindPlugins(), 20, "test")
        assert isinstance(answer, PluginsFound)
        assert "file_source" in {plugin.name for plugin in answer.plugins}


def forking() -> list[psutil.Process]:
    alive = (child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE)
    return [child for child in alive if "services.executor.host.forks" in child.cmdline()]


async def test_hosts_are_copies_of_one_and_children_of_the_executor_and_outlive_that_one(fresh: FreshHosts) -> None:
    async with asyncio.timeout(15):
        while True:
            host = fresh.take(lambda _event: None, lambda _reason: None)
            copy = psutil.Process(host.pid)
            if "services.executor.host.forks" in copy.cmdline():
                break
            host.kill("it is no copy")
            await asyncio.sleep(0.2)
    assert (copy.ppid(), os.getsid(copy.pid)) == (os.getpid(), copy.pid)
    assert copy.open_files() == []
    for one in forking():
        if one != copy:
            one.kill()
    await asyncio.sleep(0.2)
    assert copy.is_running()
    host.close()
    await host.wait()
    assert not copy.is_running()


async def test_hosts_are_started_from_the_main_thread_alone(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def start() -> None:
        try:
            Forks(os.environ).start(tmp_path)
        except RuntimeError as error:
            failures.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "main thread" in str(failures[0])


def start_host(theirs: socket.socket, parent: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "services.executor.host", str(theirs.fileno()), str(parent)]
    return subprocess.Popen(command, pass_fds=[theirs.fileno()])


def test_a_host_ends_when_its_socket_is_closed() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        host = start_host(theirs, os.getpid())
    ours.close()
    assert host.wait(60) == Exit.PARENT_GONE


def test_a_host_whose_executor_died_before_it_could_ask_for_the_signal_ends() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert start_host(theirs, os.getppid()).wait(60) == Exit.PARENT_GONE


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_host_leaves_signals_to_its_executor(number: signal.Signals) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        host = start_host(theirs, os.getpid())
    ours.sendall(encode(Begin(Endpoints("127.0.0.1:1", "127.0.0.1:1"))))
    # From its first pulse on it has its handlers.
    assert ours.recv(1)
    host.send_signal(number)
    with pytest.raises(subprocess.TimeoutExpired):
        host.wait(0.5)
    ours.close()
    assert host.wait(60) == Exit.PARENT_GONE


def test_the_executor_imports_no_plugin_no_spark_and_no_arrow() -> None:
    """The broker's client it does: it shows dead letters itself."""
    code = (
        "import sys, services.executor.__main__;"
        "print([name for name in sys.modules if name.split('.')[0] in"
        " ('pyspark', 'pyarrow', 'connectors', 'py4j', 'pandas', 'numpy')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.spark
async def test_a_host_in_which_spark_did_not_start_is_replaced(watcher: Watcher, tmp_path: Path) -> None:
    """pyspark keeps what is left of a start that failed: in that process every later one would fail, too."""
    profiles = tmp_path / "profiles.toml"
    profiles.write_text('[many]\n"spark.master" = "local[many]"\n', encoding="utf-8")
    scratch = Scratch(tmp_path)
    fresh = FreshHosts(scratch, {**os.environ, PROFILES: str(profiles)})
    options = {"connector.class": "file_sink", "topics": "t", "filename": "/not/there", "spark.profile": "many"}
    pool = HostPool(fresh, Endpoints("127.0.0.1:1", "127.0.0.1:1"), watcher, spark_profiles=str(profiles))
    try:
        for run in (1, 2):
            pool.renew(boot_seconds() + 600)
            pool.start(run, Assigned(Key("uid", 0), "lines", 1, 1, 1, "SINK", options, {"tasks": "1"}))
            (host,) = pool.describe()
            await until(lambda run=run: run in watcher.ended or watcher.lost, 180)  # type: ignore[misc]
            assert "Spark could not be started" in watcher.ended[run].error
            assert "Could not parse Master URL: 'local[many]'" in watcher.ended[run].error
            assert not watcher.ended[run].permanent
            assert host.pid not in [left.pid for left in pool.describe()]
    finally:
        await pool.close()
        await fresh.close()
        scratch.close()


async def test_a_run_without_room_waits_until_there_is_some_or_it_is_to_end(fresh: FreshHosts, watcher: Watcher) -> None:
    pool = HostPool(fresh, Endpoints("127.0.0.1:1", "127.0.0.1:1"), watcher, room=Room(tasks=1))
    for run in (1, 2, 3, 4):
        pool.start(run, assigned())
    traces: dict[int, str] = {}

    def told() -> bool:
        traces.update({pulse.run: pulse.trace for pulse in watcher.pulses if "--max-tasks" in pulse.trace})
        return set(traces) == {2, 3, 4}

    await until(told)
    pool.direct(2, "stop")
    pool.direct(3, "fence")
    pool.direct(4, "pause")
    await until(lambda: {2, 3} <= set(watcher.ended))
    assert (watcher.ended[2].clean, watcher.ended[2].fenced, watcher.ended[3].fenced) == (True, False, True)
    assert [run for host in pool.describe() for run, _ in host.runs] == [1]
    pool.kill(1)
    await until(lambda: 1 in watcher.lost)
    ((_, started),) = [run for host in pool.describe() for run in host.runs]
    assert started.paused
    pool.direct(4, "fence")
    await until(lambda: 4 in watcher.ended)
    await pool.close()


@pytest.mark.slow
@pytest.mark.spark
async def test_a_driver_that_nothing_runs_in_makes_room_for_another_and_one_that_is_too_large_is_refused(
    fresh: FreshHosts, watcher: Watcher
) -> None:
    pool = HostPool(fresh, Endpoints("127.0.0.1:1", "127.0.0.1:1"), watcher, room=Room(drivers=1, memory=2 << 30))

    def sink(memory: str) -> Assigned:
        options = {"connector.class": "file_sink", "topics": "t", "filename": "/not/there", "spark.driver.memory": memory}
        return Assigned(Key("uid", 0), "lines", 1, 1, 1, "SINK", options, {"tasks": "1"})

    try:
        pool.renew(boot_seconds() + 600)
        for run, memory in ((1, "700m"), (2, "800m"), (3, "700m"), (4, "3g")):
            pool.start(run, sink(memory))
        await until(lambda: 4 in watcher.ended and any("--max-spark-drivers" in pulse.trace for pulse in watcher.pulses))
        assert watcher.ended[4].permanent
        assert "--max-spark-memory" in watcher.ended[4].error
        (first,) = pool.describe()
        assert [run for run, _ in first.runs] == [1, 3]
        for run in (1, 3):
            pool.direct(run, "fence")
        await until(lambda: {1, 3} <= set(watcher.ended), 180)
        await until(lambda: [run for host in pool.describe() for run, _ in host.runs] == [2])
        assert pool.describe()[0].pid != first.pid
    finally:
        await pool.close()
