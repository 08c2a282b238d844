import importlib
import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.faults.common import FLEET

INJECTED = Path(__file__).with_name("injected")
CODE = """
from rocketmq_remoting.client import Client

try:
    Client.send_batch_async(None, None, None)
except TypeError:
    pass
"""
POINT = "source.before-send"


def points() -> dict[str, tuple[str, str, str]]:
    spec = importlib.util.spec_from_file_location("failpoints", INJECTED / "sitecustomize.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, tuple[str, str, str]] = module.POINTS
    return found


def run(folder: Path, *, injected: bool = True) -> int:
    paths = [str(INJECTED), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "CHAOS_FAILPOINTS": str(folder), "PYTHONPATH": os.pathsep.join(paths[not injected :])}
    return subprocess.run([sys.executable, "-c", CODE], env=environment, check=False).returncode


@pytest.mark.parametrize("point", sorted(points()))
def test_a_failpoint_is_a_function_of_the_product(point: str) -> None:
    name, path, where = points()[point]
    found = importlib.import_module(name)
    for part in path.split("."):
        found = getattr(found, part)
    assert callable(found)
    assert where in ("before", "after", "middle")


def test_every_failpoint_is_among_the_faults() -> None:
    # No sink of a deployment has a query: the tests of queries kill at those.
    known = {point for point in points() if not point.startswith("query.")}
    assert {target for target, fault in FLEET if fault.startswith("failpoint")} == known


def test_an_armed_failpoint_kills_the_first_that_comes_by_and_only_that_one(tmp_path: Path) -> None:
    (tmp_path / POINT).write_text(str(int(signal.SIGKILL)))
    assert run(tmp_path, injected=False) == 0
    assert run(tmp_path) == -signal.SIGKILL
    assert run(tmp_path) == 0
