"""A test that hangs fails by itself and says where it hung; the others go on."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
PASSES = "def test_well():\n    pass\n"
HANGS = "import threading\ndef test_hangs():\n    threading.Event().wait()\n"
HANGS_AT_CLEANING_UP = """
import pytest, threading
@pytest.fixture
def server():
    yield
    threading.Event().wait()
def test_hangs(server):
    assert False, "first this"
"""
# The main thread of it can't be interrupted.
DEAF = """
import signal, threading
def test_hangs():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    threading.Event().wait()
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # Those of this project take seconds to load.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\naddopts = -p tests.runner.limits --hang-limit 1")
    return pytester


@pytest.mark.parametrize("words", [(), ("-p", "xdist", "-n2")], ids=["one process", "side by side"])
@pytest.mark.parametrize(("hangs", "step"), [(HANGS, "running"), (HANGS_AT_CLEANING_UP, "cleaning up after")])
def test_a_test_that_hangs_fails_and_shows_where(project: pytest.Pytester, words: tuple[str, ...], hangs: str, step: str) -> None:
    project.makepyfile(hangs + PASSES)
    result = project.runpytest_subprocess(*words)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"*{step} took more than 1 s*"])
    result.stderr.fnmatch_lines([f"{step} *::test_hangs took more than 1 s:", "*in wait"])
    assert "1 passed" in result.stdout.str()


def test_the_process_of_a_test_that_can_not_be_interrupted_ends_and_the_test_is_named(project: pytest.Pytester) -> None:
    project.makepyfile(DEAF + PASSES)
    result = project.runpytest_subprocess("-p", "xdist", "-n2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*crashed while running '*::test_hangs'*"])
    result.stderr.fnmatch_lines(["Timeout*", "*in wait"])
    assert "1 passed" in result.stdout.str()


def test_a_worker_that_is_done_waits_for_the_others_as_long_as_they_need(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_short=PASSES, test_long="import time\n" + "".join(f"def test_{n}(): time.sleep(0.7)\n" for n in range(3))
    )
    result = project.runpytest_subprocess("-p", "xdist", "-n2", "--dist", "loadfile")
    result.assert_outcomes(passed=4)
    assert "Timeout" not in result.stderr.str()


def test_a_worker_that_does_not_end_is_ended_and_shows_where(project: pytest.Pytester) -> None:
    project.makepyfile(
        PASSES + "import threading\ndef test_leaves_a_thread():\n    threading.Thread(target=threading.Event().wait).start()\n"
    )
    result = project.runpytest_subprocess("-p", "xdist", "-n1", timeout=60)
    result.stderr.fnmatch_lines(["Timeout*", "*in wait"])


def test_a_slow_test_has_longer(project: pytest.Pytester) -> None:
    body = "import pytest, time\n@pytest.mark.slow\ndef test_takes_its_time():\n    time.sleep({})\n"
    project.makepyfile(test_in_time=body.format(1.5), test_late=body.format(3.5))
    result = project.runpytest_subprocess("-m", "slow")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*running took more than 3 s*"])


def test_a_limit_of_zero_is_none(project: pytest.Pytester) -> None:
    project.makepyfile("import time\ndef test_takes_its_time():\n    time.sleep(1.5)\n")
    assert project.runpytest_subprocess("--hang-limit", "0").ret == pytest.ExitCode.OK
    assert project.runpytest_subprocess().ret == pytest.ExitCode.TESTS_FAILED
