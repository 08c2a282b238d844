"""What a process of a worker can prove of those that were this worker before."""

import subprocess
import sys
from pathlib import Path

import pytest

from services.executor.worker.predecessors import Predecessors

_LIVE = """
import sys
from pathlib import Path
from services.executor.worker.predecessors import Predecessors
mine = Predecessors(sys.argv[1], Path(sys.argv[2]))
print(mine.process, *mine.ended, flush=True)
sys.stdin.read()
"""


def live(worker: str, folder: Path) -> "subprocess.Popen[str]":
    """A process of the worker, which lives until it is killed or its input is closed."""
    arguments = [sys.executable, "-c", _LIVE, worker, str(folder)]
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[4])


def said(process: "subprocess.Popen[str]") -> list[str]:
    assert process.stdout is not None
    return process.stdout.readline().split()


def test_a_process_that_was_killed_is_known_to_have_ended_by_the_next_one_of_its_worker_alone(tmp_path: Path) -> None:
    with live("w", tmp_path) as first:
        [name] = said(first)
        try:
            assert Predecessors("w", tmp_path).ended == (), "it lives"
        finally:
            first.kill()
    assert Predecessors("w-1", tmp_path).ended == Predecessors("v", tmp_path).ended == ()
    with live("w", tmp_path) as second:
        try:
            own, *ended = said(second)
        finally:
            second.kill()
        assert name in ended
        assert own != name
    assert own in Predecessors("w", tmp_path).ended
    assert own not in Predecessors("w", tmp_path).ended, "it is told once"


def test_of_a_worker_that_has_left_nothing_stays(tmp_path: Path) -> None:
    Predecessors("w", tmp_path).left()
    assert list(tmp_path.iterdir()) == []


def test_what_looks_like_one_and_is_none_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "rocketconnect-worker-w-notes").touch()
    (tmp_path / f"rocketconnect-worker-w-{'a' * 32}").symlink_to(tmp_path / "rocketconnect-worker-w-notes")
    assert Predecessors("w", tmp_path).ended == ()
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("worker", ["w", "host.example:8080"])
def test_processes_have_names_of_their_own(worker: str, tmp_path: Path) -> None:
    assert Predecessors(worker, tmp_path).process != Predecessors(worker, tmp_path).process
