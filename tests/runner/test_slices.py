"""A slice of the slow tests fits into its time, is another one with each commit, and says what it left out."""

from pathlib import Path

import pytest

from tests.runner.spent import portions, slow_costs

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
TESTS = [f"tests/test_{file}.py::test_{number}" for file in range(40) for number in range(5)]
SECONDS = {f"tests/test_{file}.py": float(1 + file % 7 * 3) for file in range(40)}
SOME = "import pytest\n\ndef test_fast():\n    pass\n" + "".join(
    f"\n@pytest.mark.slow\ndef test_slow_{number}():\n    pass\n" for number in range(4)
)


def file_of(test: str) -> str:
    return test.partition("::")[0]


def chosen(key: str, *, seconds: float = 120, workers: int = 2, together: bool = False) -> set[str]:
    return portions.that_fit(
        TESTS, SECONDS, (lambda _test: "all") if together else file_of, key=key, seconds=seconds, workers=workers
    )


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # Those of this project take seconds to load.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\naddopts = -p tests.runner.order -p tests.runner.slices\nmarkers = slow: slow")
    return pytester


def test_what_is_chosen_fills_the_time_of_all_workers_and_no_more() -> None:
    for key in map(str, range(20)):
        assert 200 < sum(SECONDS[file_of(test)] for test in chosen(key)) <= 240


def test_what_goes_to_one_worker_has_the_time_of_one() -> None:
    assert 100 < sum(SECONDS[file_of(test)] for test in chosen("a", together=True)) <= 120


def test_another_commit_runs_other_tests_and_the_same_one_the_same() -> None:
    assert chosen("a") == chosen("a") != chosen("b")
    assert set.union(*(chosen(str(key)) for key in range(200))) == set(TESTS)


def test_a_test_of_unknown_cost_counts_as_usual() -> None:
    found = portions.that_fit(TESTS, {}, file_of, key="a", seconds=100, workers=2)
    assert len(found) == 200 / portions.UNKNOWN_SECONDS


def test_each_slow_test_has_its_day() -> None:
    parts = [portions.of_the_day(TESTS, day, 4) for day in range(4)]
    assert sum(map(len, parts)) == len(TESTS)
    assert set.union(*parts) == set(TESTS)
    assert portions.of_the_day(TESTS, 5, 4) == parts[1]


@pytest.mark.parametrize("words", [(), ("-p", "xdist", "-n2")], ids=["one process", "side by side"])
def test_a_slice_has_slow_tests_alone(project: pytest.Pytester, words: tuple[str, ...]) -> None:
    project.makepyfile(SOME)
    result = project.runpytest_subprocess("--slow-slice", "100", *words)
    result.assert_outcomes(passed=4, deselected=0 if words else 1)


def test_files_that_were_never_run_whole_are_left_out(project: pytest.Pytester) -> None:
    project.makepyfile(test_known=SOME, test_unknown=SOME)
    project.mkdir("tests")
    (project.path / slow_costs.FILE).write_text(slow_costs.written({"test_known.py": slow_costs.FileCost(1, 1, 4)}))
    project.runpytest_subprocess("--slow-slice", "100").assert_outcomes(passed=4, deselected=6)


@pytest.mark.parametrize("words", [(), ("-p", "xdist", "-n2")], ids=["one process", "side by side"])
def test_when_the_time_is_over_no_test_begins_and_the_last_lines_say_so(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    # A clock that is two minutes late once the first test has begun.
    project.makeconftest("import time\n\ndef pytest_runtest_call(item, now=time.time):\n    time.time = lambda: now() + 120\n")
    project.makepyfile(SOME)
    result = project.runpytest_subprocess("--slow-slice", "100", *words)
    result.assert_outcomes(passed=1, skipped=3, deselected=0 if words else 1)
    result.stdout.fnmatch_lines(["3 tests of the slice were not begun: its 100 s were over.*"])


def test_a_part_has_the_fast_tests_and_its_share_of_the_slow_ones(project: pytest.Pytester) -> None:
    files = {f"test_{name}": SOME for name in "abcdefgh"}
    project.makepyfile(**files)
    passed = [project.runpytest_subprocess("--slow-part", f"{day}/2").parseoutcomes()["passed"] for day in (20780, 20781)]
    assert sum(passed) == 2 * 8 + 8 * 4
    assert min(passed) >= 8
    assert project.runpytest_subprocess("--slow-part", "monday").ret == pytest.ExitCode.USAGE_ERROR
