"""What fails each time makes a run red, what fails at random is named, and the run stays green."""

from pathlib import Path

import pytest

from tests.runner.reruns import MOST_FLAKY, MOST_SEEN, TRIES, listed

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
FAILS = "def test_broken():\n    assert 1 + 1 == 3\n"
PASSES = "def test_well():\n    pass\n"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # Those of this project take seconds to load.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\naddopts = -p tests.runner.reruns\nmarkers = slow: slow")
    return pytester


def fails_for(times: int, name: str = "test_at_random") -> str:
    """A test that fails so many times, and then passes."""
    return f"""
def {name}():
    from pathlib import Path
    count = Path("{name}.count")
    number = len(count.read_text()) if count.exists() else 0
    count.write_text("x" * (number + 1))
    assert number >= {times}, "first time unlucky"
"""


def run(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    return project.runpytest_subprocess(*words)


@pytest.mark.parametrize("words", [(), ("-p", "xdist", "-n2")], ids=["one process", "side by side"])
def test_a_test_that_fails_each_time_makes_the_run_red(project: pytest.Pytester, words: tuple[str, ...]) -> None:
    project.makepyfile(FAILS + PASSES)
    result = run(project, *words)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    named = "FAILED *::test_broken: assert (1 + 1) == 3"
    result.stdout.fnmatch_lines([named, "*again, alone, 1 of 3: FAILED: *::test_broken", "*1 failed, 1 passed*"])
    assert "FLAKY" not in result.stdout.str()


@pytest.mark.parametrize("words", [(), ("-p", "xdist", "-n2")], ids=["one process", "side by side"])
@pytest.mark.parametrize("times", [1, TRIES])
def test_a_test_that_passes_once_alone_is_named_with_its_first_failure(
    project: pytest.Pytester, words: tuple[str, ...], times: int
) -> None:
    project.makepyfile(fails_for(times) + PASSES)
    result = run(project, *words)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["FLAKY *::test_at_random: failed at call, passed alone at try *", "*first time unlucky*", "*1 passed, 1 flaky*"]
    )


def test_a_failure_beside_a_flake_is_still_a_failure(project: pytest.Pytester) -> None:
    project.makepyfile(fails_for(1) + FAILS)
    result = run(project)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["FLAKY *::test_at_random*", "*1 failed, 1 flaky*"])


def test_a_fixture_that_fails_at_random_is_a_flake_of_its_test(project: pytest.Pytester) -> None:
    fixture = fails_for(1, "made").replace("def made", "import pytest\n@pytest.fixture\ndef made", 1)
    project.makepyfile(fixture + "\ndef test_with_it(made):\n    pass\n")
    result = run(project)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["FLAKY *::test_with_it: failed at setup*"])


def test_more_flakes_than_a_run_may_have_make_it_red(project: pytest.Pytester) -> None:
    project.makepyfile("".join(fails_for(1, f"test_{number}") for number in range(MOST_FLAKY + 1)))
    result = run(project)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"{MOST_FLAKY + 1} tests failed, more than the {MOST_FLAKY}*"])


def test_a_file_that_does_not_import_makes_the_run_red(project: pytest.Pytester) -> None:
    project.makepyfile(test_one="import nothing_of_this_name", test_two=fails_for(1))
    assert run(project, "--continue-on-collection-errors").ret == pytest.ExitCode.TESTS_FAILED


def test_without_reruns_nothing_is_run_again(project: pytest.Pytester) -> None:
    project.makepyfile(fails_for(1))
    result = run(project, "--no-reruns")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "again, alone" not in result.stdout.str()


def test_each_entry_of_the_list_names_a_test_that_is_there_and_what_was_seen(tmp_path: Path) -> None:
    for entry in listed():
        path, *_, name = entry.test.partition("[")[0].split("::")
        assert f"def {name}(" in (ROOT / path).read_text(), entry.test
    (tmp_path / "flaky.toml").write_text("[[flaky]]\ntest = 'tests/test_a.py::test_a'\nseen = []\ncause = ''\n")
    with pytest.raises(ValueError, match="an entry has test, seen"):
        listed(tmp_path / "flaky.toml")


def test_a_test_that_was_seen_too_often_is_left_to_the_long_run(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = [f"2026-11-2{day}: unlucky" for day in range(MOST_SEEN)]
    listing = tmp_path / "flaky.toml"
    listing.write_text(
        f"[[flaky]]\ntest = 'test_often.py::test_at_random'\nseen = {seen}\ncause = ''\n"
        f"[[flaky]]\ntest = 'test_often.py::test_well'\nseen = {seen[1:]}\ncause = ''\n"
    )
    project.makepyfile(test_often=fails_for(1) + PASSES)
    project.makeconftest(f"from pathlib import Path\nfrom tests.runner import reruns\nreruns.LISTED = Path({str(listing)!r})\n")
    run(project, "-m", "not slow").stdout.fnmatch_lines(["*1 passed, 1 deselected*"])
