"""A tethered process and its parent."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from rocketconnect_kit import tethered
from tests import free_ports
from tests.ended import pid_ended

PARENT = """
import subprocess, sys, time
from rocketconnect_kit.tethered import tethered
child = subprocess.Popen(tethered(["sleep", "60"]), start_new_session=True)
print(child.pid, flush=True)
time.sleep(60)
"""


def _wait_until_gone(pid: int) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if pid_ended(pid):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM])
def test_it_dies_when_its_parent_is_killed(death: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        while psutil.Process(child).name() != "sleep":
            time.sleep(0.02)
        parent.send_signal(death)
    assert _wait_until_gone(child)


def test_it_keeps_its_process_id_and_its_exit_code() -> None:
    with subprocess.Popen(tethered.tethered(["sh", "-c", "echo $$; exit 7"]), stdout=subprocess.PIPE) as child:
        assert int(child.communicate(timeout=10)[0]) == child.pid
        assert child.returncode == 7


def test_it_does_not_start_when_its_parent_is_gone_already(tmp_path: Path) -> None:
    command = tethered.tethered(["touch", str(tmp_path / "started")])
    assert command[4] == str(os.getpid())
    # As if the parent had died and this process had inherited the child.
    command[4] = "4194304"
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=10)
    assert done.returncode == 1
    assert "4194304" in done.stderr
    assert not (tmp_path / "started").exists()


def test_it_starts_once_the_port_is_listened_on() -> None:
    port = free_ports.choose()
    with subprocess.Popen(tethered.tethered(["true"], once_listening=port)) as child:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.5)
        with socket.create_server(("127.0.0.1", port)):
            assert child.wait(60) == 0
