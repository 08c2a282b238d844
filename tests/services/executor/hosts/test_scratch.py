"""Temporary files of hosts do not outlive them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from services.executor.hosts.scratch import Scratch, remove


def test_folders_are_gone_after_the_executor(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    first, second = scratch.folder(), scratch.folder()
    (first / "file").write_text("x")
    remove(second)
    scratch.close()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_executor_left_is_removed_by_the_next_one_and_what_a_living_one_has_is_not(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from services.executor.hosts.scratch import Scratch;"
        "scratch = Scratch(Path(sys.argv[1])); print(scratch.folder(), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        folder = Path(other.stdout.readline().strip())
        Scratch(tmp_path).close()
        assert folder.is_dir()
        os.kill(other.pid, signal.SIGKILL)
    Scratch(tmp_path).close()
    assert not folder.exists()
