"""The supervisor, with real processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from rocketconnect_cli.instance.process import Process
from rocketconnect_cli.instance.supervisor import Supervisor
from rocketconnect_kit.tethered import tethered
from tests.ended import ended

SLEEPER = "import time; time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"


def make(tmp_path: Path, name: str, code: str, *, stage: int = 0, stop_seconds: float = 5.0) -> Process:
    command = [sys.executable, "-c", code]
    return Process(name, lambda: tethered(command), os.environ, tmp_path / f"{name}.log", stage, stop_seconds)


def wait_until(true: Callable[[], bool], seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.02)


def test_a_killed_process_is_started_again_and_told_about(tmp_path: Path) -> None:
    said: list[str] = []
    process = make(tmp_path, "one", SLEEPER)
    supervisor = Supervisor([process], said.append)
    supervisor.start()
    first = process.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    try:
        deadline = time.monotonic() + 10
        while process.pid in (None, first) and time.monotonic() < deadline:
            supervisor.look_after()
        assert process.pid not in (None, first)
        assert process.starts == 2
        assert process.failures == 0
        assert said == [f"one was ended by signal 9; starting it again (its log: {tmp_path / 'one.log'})"]
    finally:
        supervisor.stop()


SUPERVISES = """
import sys
from pathlib import Path
from rocketconnect_cli.instance.process import Process
from rocketconnect_cli.instance import supervisor as module
from rocketconnect_cli.instance.supervisor import Supervisor
module.QUIET_SECONDS = 120.0
process = Process("one", lambda: [sys.executable, "-c", "import time; time.sleep(600)"], {}, Path(sys.argv[1]), 0, 5.0)
supervisor = Supervisor([process], lambda line: print(line, process.pid, flush=True))
supervisor.catch_signals()
supervisor.start()
print(process.pid, flush=True)
supervisor.run()
supervisor.stop()
"""


def test_a_supervisor_at_rest_sees_a_death_and_a_signal_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SUPERVISES, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as supervising:
        assert supervising.stdout is not None
        pid = int(supervising.stdout.readline())
        time.sleep(0.5)  # it is at rest
        begin = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        assert "ended by signal 9" in supervising.stdout.readline()
        assert time.monotonic() - begin < 60
        wait_until(lambda: any(child.status() != psutil.STATUS_ZOMBIE for child in psutil.Process(supervising.pid).children()))
        time.sleep(0.5)
        begin = time.monotonic()
        supervising.terminate()
        assert supervising.wait(60) == 0
        assert time.monotonic() - begin < 60


def test_a_process_that_ends_at_once_is_started_again_ever_more_slowly(tmp_path: Path) -> None:
    process = make(tmp_path, "broken", "raise SystemExit(3)")
    supervisor = Supervisor([process], lambda _: None)
    supervisor.start()
    deadline = time.monotonic() + 2.5
    while time.monotonic() < deadline:
        supervisor.look_after()
    supervisor.stop()
    assert 2 <= process.starts <= 4
    assert process.starts - 1 <= process.failures <= process.starts


def test_stages_stop_one_after_the_other(tmp_path: Path) -> None:
    stamp = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.3), sys.exit(0)));"
        "print('up', flush=True); time.sleep(600)"
    )
    late, early = make(tmp_path, "late", stamp, stage=1), make(tmp_path, "early", stamp, stage=0)
    supervisor = Supervisor([late, early], lambda _: None)
    supervisor.start()
    wait_until(lambda: all("up" in (tmp_path / f"{name}.log").read_text() for name in ("late", "early")))
    pids = {name: process.pid for name, process in (("late", late), ("early", early))}
    begin = time.monotonic()
    supervisor.stop()
    assert time.monotonic() - begin >= 0.6
    assert not any(psutil.pid_exists(pid) for pid in pids.values() if pid)


def test_a_process_that_ignores_the_request_to_end_is_ended_after_its_time(tmp_path: Path) -> None:
    said: list[str] = []
    process = make(tmp_path, "deaf", DEAF, stop_seconds=0.5)
    supervisor = Supervisor([process], said.append)
    supervisor.start()
    wait_until(lambda: "deaf" in (tmp_path / "deaf.log").read_text())
    supervisor.stop()
    assert process.pid is None
    assert said == ["deaf did not stop within 0.5 s and is ended now"]


def test_whoever_waits_for_an_end_is_told_what_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketconnect_cli.instance.supervisor.SILENT_SECONDS", 0.2)
    said: list[str] = []
    deaf, quick = make(tmp_path, "deaf", DEAF, stop_seconds=1.0), make(tmp_path, "quick", SLEEPER, stage=1)
    deaf.ending = "close its store"
    supervisor = Supervisor([deaf, quick], said.append)
    supervisor.start()
    wait_until(lambda: "deaf" in (tmp_path / "deaf.log").read_text())
    supervisor.stop()
    assert said[:2] == ["Waiting for deaf to close its store ...", "deaf did not stop within 1 s and is ended now"]


@pytest.mark.parametrize("signals", [1, 2])
def test_one_interrupt_drains_and_a_second_one_stops_at_once(tmp_path: Path, signals: int) -> None:
    """In a process of its own, because signals come to the main thread."""
    stop_seconds = 4.0 if signals == 1 else 120.0
    code = f"""
import os, sys, time
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from rocketconnect_kit.tethered import tethered
from rocketconnect_cli.instance.process import Process
from rocketconnect_cli.instance.supervisor import Supervisor
deaf = [sys.executable, "-c", {DEAF!r}]
log = Path({str(tmp_path / "deaf.log")!r})
supervisor = Supervisor([Process("deaf", lambda: tethered(deaf), os.environ, log, 0, {stop_seconds})], print)
supervisor.catch_signals()
supervisor.start()
print("ready", flush=True)
supervisor.run()
supervisor.stop()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
        wait_until(lambda: "deaf" in (tmp_path / "deaf.log").read_text())
        child = psutil.Process(owner.pid).children()[0]
        begin = time.monotonic()
        for _ in range(signals):
            owner.send_signal(signal.SIGINT)
            time.sleep(0.3)
        owner.wait(60)
        seconds = time.monotonic() - begin
    assert not child.is_running()
    assert signals == 2 or seconds > 3.5


def test_children_die_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    code = f"""
import os, sys
from pathlib import Path
from rocketconnect_kit.tethered import tethered
from rocketconnect_cli.instance.process import Process
from rocketconnect_cli.instance.supervisor import Supervisor
command = [sys.executable, "-c", {SLEEPER!r}]
supervisor = Supervisor([Process("one", lambda: tethered(command), os.environ, Path({str(tmp_path / "one.log")!r}), 0, 4.0)], print)
supervisor.start()
print(supervisor.processes[0].pid, flush=True)
supervisor.run()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        child = psutil.Process(int(owner.stdout.readline()))
        time.sleep(0.5)
        assert child.is_running()
        owner.kill()
    wait_until(lambda: ended(child))
