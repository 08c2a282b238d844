"""What is checked beside the tests is told after them, and makes the whole red."""

import signal
import subprocess
from pathlib import Path

import psutil
import pytest

BESIDE = Path(__file__).parents[2] / "scripts" / "beside"


@pytest.mark.parametrize(
    ("check", "command", "code"), [("true", "true", 0), ("exit 3", "true", 3), ("true", "exit 4", 4), ("exit 3", "exit 4", 4)]
)
def test_each_of_both_makes_it_red(check: str, command: str, code: int) -> None:
    done = subprocess.run(
        [BESIDE, f"echo checked; {check}", "bash", "-c", f"echo tested; {command}"], capture_output=True, text=True, check=False
    )
    failed = f"\nFAILED beside the tests: echo checked; {check}\n" if check != "true" else ""
    assert (done.returncode, done.stdout) == (code, f"tested\n{failed}checked\n")


def test_who_ends_it_ends_what_runs_beside() -> None:
    command = [str(BESIDE), "sleep 1000; true", "bash", "-c", "echo began; exec sleep 0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        below = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
        assert psutil.wait_procs(below, timeout=60)[1] == []
