"""Garbage is collected from the first test on, and what was there before is not looked through."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("words", [(), ("-p", "xdist", "-n1")], ids=["one process", "side by side"])
def test_garbage_is_collected_in_tests_alone(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        "import gc\n\nassert not gc.isenabled()\n\ndef test_it():\n    assert gc.isenabled()\n    assert gc.get_freeze_count()\n"
    )
    pytester.runpytest_subprocess("-p", "tests.runner.garbage", *words).assert_outcomes(passed=1)


LEAK = """
class Cycle:
    def __init__(self, file):
        self.file, self.own = file, self

def test_a_leak(tmp_path):
    Cycle((tmp_path / "left.bin").open("wb"))

def test_another(): pass
"""


def test_a_file_that_a_test_left_open_fails_that_test(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(LEAK)
    ran = pytester.runpytest_subprocess("-p", "tests.runner.garbage", "-W", "error", "-v")
    ran.assert_outcomes(passed=2, errors=1)
    ran.stdout.fnmatch_lines(["*ERROR at teardown of test_a_leak*", "*left.bin*"])
