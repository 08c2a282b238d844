"""A `rocketconnect up` as a child process, and an interruption at every moment; programs in its place say when that is."""

import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from demo import __main__ as demo
from demo import files, flights
from rocketconnect_cli.instance import running as instance

STARTING = "time.sleep(600)"
DRAINING = """
signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getppid(), signal.SIGINT))
print('{"rest": "http://127.0.0.1:1", "metrics": "", "nameServer": ""}', flush=True)
while True:
    signal.pause()
"""


class Up:
    """What stands in the place of the command: a program of this code."""

    def __init__(self, folder: Path, code: str) -> None:
        self._pid = folder / "pid"
        command = folder / "rocketconnect"
        say = f"import os, signal, time\nwith open({str(self._pid)!r} + '.new', 'w') as f: f.write(str(os.getpid()))\n"
        command.write_text(f"#!{sys.executable} -I\n{say}os.rename(f.name, {str(self._pid)!r})\n{code}\n")
        command.chmod(0o755)

    def wait_until_it_runs(self) -> None:
        deadline = time.monotonic() + 60
        while not self._pid.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    @property
    def is_gone(self) -> bool:
        return not psutil.pid_exists(int(self._pid.read_text()))


def put_in_place(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> Up:
    up = Up(folder, code)
    (folder / "python").symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    return up


def interrupt_while_waiting(monkeypatch: pytest.MonkeyPatch, up: Up) -> None:
    """As if Ctrl-C came while `running` waits for the word that all is ready."""

    def interrupted(*_: object) -> None:
        up.wait_until_it_runs()
        raise KeyboardInterrupt

    monkeypatch.setattr(instance, "select", SimpleNamespace(select=interrupted))


def test_interrupted_before_it_has_its_handlers_it_is_gone_without_a_word(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    up = put_in_place(monkeypatch, tmp_path, STARTING)
    interrupt_while_waiting(monkeypatch, up)
    with pytest.raises(KeyboardInterrupt), instance.running(tmp_path / "data"):
        pass
    assert up.is_gone
    assert capfd.readouterr() == ("", "")


def test_interrupted_while_it_drains_it_is_ended_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    up = put_in_place(monkeypatch, tmp_path, DRAINING)
    with pytest.raises(KeyboardInterrupt), instance.running(tmp_path / "data"):
        pass
    assert up.is_gone


def test_one_that_does_not_stop_in_time_is_ended_and_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    up = put_in_place(monkeypatch, tmp_path, DRAINING.replace("os.kill(os.getppid(), signal.SIGINT)", "None"))
    monkeypatch.setattr(instance, "STOP_SECONDS", 0.2)
    with pytest.raises(instance.InstanceFailed, match="did not stop cleanly: exit code -9"), instance.running(tmp_path / "data"):
        pass
    assert up.is_gone


@pytest.mark.parametrize("code", [STARTING, DRAINING], ids=["while it starts", "while it drains"])
def test_the_demo_says_that_it_was_interrupted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], code: str
) -> None:
    up = put_in_place(monkeypatch, tmp_path, code)
    if code is STARTING:
        interrupt_while_waiting(monkeypatch, up)
    monkeypatch.setattr(files, "HOME", tmp_path / "demo")
    monkeypatch.setattr(files, "transfer", lambda *_: 1.0)
    monkeypatch.setattr(flights, "extract", lambda table: table.write_text("a,carrier\n1,AA\n"))
    assert demo.main([]) == 130
    out, err = capfd.readouterr()
    assert out.endswith("Interrupted; everything is stopped. Run it again at any time.\n")
    assert err == ""
    assert up.is_gone
