"""`rocketconnect doctor` on this machine."""

import json
import os
import socket
from pathlib import Path

import pytest
from typer.testing import Result

from rocketconnect_cli.doctor import checks
from rocketconnect_cli.embedded.data_directory import DataDirectory
from tests.rocketconnect_cli.conftest import RestFactory
from tests.spoken import answered


def run(*words: str) -> Result:
    return answered("doctor", *words)


def test_every_check_says_something_and_nothing_stays(tmp_path: Path) -> None:
    found = json.loads(run("--data", str(tmp_path / "a" / "data"), "--rest-port", "0", "-o", "json").stdout)["findings"]
    assert [each["check"] for each in found] == ["python", "packages", "java", "data directory", "disk", "open files"]
    assert list(tmp_path.iterdir()) == []
    assert found[3]["text"].endswith("can be made")


def test_a_port_of_somebody_else_is_a_problem_with_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(0)
        result = run("--data", str(tmp_path), "--rest-port", str(other.getsockname()[1]))
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    (place,) = (number for number, line in enumerate(lines) if line.startswith("problem  port"))
    assert "--rest-port" in lines[place + 1]


def test_a_port_at_which_the_instance_of_the_data_directory_answers_is_none_and_that_of_another_one_is(
    rest_factory: RestFactory, tmp_path: Path
) -> None:
    port = int(rest_factory(200, {"connectors": []}).url.rpartition(":")[2])
    (tmp_path / "ports.json").write_text(json.dumps({"rest": port}))
    assert checks.port(port, tmp_path).verdict == "ok"
    assert checks.port(port, tmp_path / "other").verdict == "problem"


def test_a_directory_that_can_not_be_written_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = checks.data_directory(tmp_path / "file" / "data")
    assert (found.verdict, str(tmp_path / "file") in found.text) == ("problem", True)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_directory_of_somebody_else_is_a_problem(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert checks.data_directory(tmp_path).verdict == "problem"
    tmp_path.chmod(0o700)


def test_that_an_instance_runs_on_the_directory_is_told_and_is_no_problem(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    directory.acquire()
    assert "an instance runs on" in checks.data_directory(tmp_path).text
    directory.release()
    assert checks.data_directory(tmp_path).text == f"{tmp_path} can be written"


def test_a_java_that_is_missing_is_a_problem_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from rocketconnect_kit.java.find import find_java

    monkeypatch.setattr(checks, "find_java", lambda: find_java({"PATH": ""}, Path("/nonexistent")))
    found = checks.java()
    assert found.verdict == "problem"
    assert "apt-get install openjdk-17" in found.fix
    assert found.text.endswith("was not found")
