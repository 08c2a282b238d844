"""What shells complete, asked of the command as they ask it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("rocketconnect")


def ask(**environment: str) -> str:
    answer = subprocess.run([COMMAND], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    return answer.stdout


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("rocketconnect top", ["topic"]),
        ("rocketconnect connector re", ["restart", "resume", "revisions"]),
        ("rocketconnect connector list --st", ["--state"]),
        ("rocketconnect topic peek orders -o j", ["json"]),
    ],
)
def test_bash_completes_commands_options_and_values(line: str, completed: list[str]) -> None:
    place = str(len(line.split()) - 1)
    said = ask(_ROCKETCONNECT_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=place)
    assert sorted(said.split()) == completed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_the_command(shell: str) -> None:
    script = ask(_ROCKETCONNECT_COMPLETE=f"source_{shell}")
    assert f"_ROCKETCONNECT_COMPLETE=complete_{shell}" in script
