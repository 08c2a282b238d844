"""Python that is started by this program imports nothing from the folder in which somebody happens to stand."""

import re
import subprocess
from pathlib import Path

import pytest

from rocketconnect_cli.instance.topology import Service

ROOT = Path(__file__).parents[2]
PRODUCT = (
    "connectors",
    "pyspark_rocketmq",
    "rocketconnect_cli",
    "rocketconnect_kit",
    "rocketconnect_sdk",
    "rocketmq_native",
    "rocketmq_remoting",
    "services",
)
# The first word after the interpreter.
STARTED = re.compile(r"[\[(]\s*sys\.executable,\s*\"(-\w+)\"")


def started() -> list[tuple[Path, str]]:
    files = [path for part in PRODUCT for path in (ROOT / part).rglob("*.py")]
    return [(path, found[1]) for path in files for found in STARTED.finditer(path.read_text())]


def test_each_python_that_is_started_has_a_safe_path() -> None:
    assert len(started()) >= 6
    # -I says more than -P.
    assert [path for path, word in started() if word not in ("-P", "-I")] == []


@pytest.mark.parametrize("name", ["services.py", "json.py"])
def test_a_service_does_not_import_a_file_of_the_working_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("open('imported', 'w').close()\n")
    command = Service("config", "config", 0, {}).command
    done = subprocess.run([*command, "--help"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert not (tmp_path / "imported").exists(), done.stderr
