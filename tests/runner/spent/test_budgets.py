"""What folders of tests may cost, and what they do cost."""

from pathlib import Path

import pytest

from tests.runner.spent import budgets, costs, slow_costs
from tests.runner.spent.costs import Cost

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[3]
GIVEN = {"tests/connectors": 2.0, "tests/connectors/delta_sink": 30.0}
BUSY = (
    "def test_busy():\n    import time\n    end = time.process_time() + 1.2\n    while time.process_time() < end:\n        pass\n"
)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # Those of this project take seconds to load.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\naddopts = -p tests.runner.times\nmarkers = slow: slow\ntestpaths = tests")
    for name, text in {"busy": BUSY, "idle": "def test_idle():\n    pass\n", "new": "def test_new():\n    pass\n"}.items():
        folder = pytester.mkdir("tests") if name == "busy" else pytester.path / "tests"
        (folder / name).mkdir()
        (folder / name / f"test_{name}.py").write_text(text)
    (pytester.path / "tests/budgets.toml").write_text('[budgets]\n"tests/busy" = 1\n"tests/idle" = 1\n')
    return pytester


@pytest.mark.parametrize("words", [(), ("-p", "xdist", "-n2")], ids=["one process", "side by side"])
def test_a_run_of_the_whole_fast_tier_names_who_is_over_and_who_has_no_budget_and_stays_green(
    project: pytest.Pytester, words: tuple[str, ...]
) -> None:
    result = project.runpytest_subprocess("-m", "not slow", *words)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        [
            "* none *  tests/new: NO BUDGET*",
            "* 1 * +0.*  tests/busy: OVER",
            "* 1 * -*  tests/idle",
            "*  around the tests*",
            "* 2 * -*  all tests",
        ]
    )


def test_a_run_of_a_part_shows_budgets_only_when_asked(project: pytest.Pytester) -> None:
    assert "budgets.toml" not in project.runpytest_subprocess("-m", "not slow", "tests/idle").stdout.str()
    assert "budgets.toml" not in project.runpytest_subprocess("-m", "not slow", "-k", "idle").stdout.str()
    shown = project.runpytest_subprocess("--budgets", "tests/idle").stdout
    shown.fnmatch_lines(["* 1 * -*  tests/idle"])
    assert "tests/busy" not in shown.str()


def test_a_table_of_times_is_read_as_it_was_written(project: pytest.Pytester) -> None:
    path = project.path / "times.tsv"
    (project.path / "tests/idle/test_slow.py").write_text("import pytest\n@pytest.mark.slow\ndef test_slow():\n    pass\n")
    project.runpytest_subprocess("--times", str(path))
    found = costs.read(path.read_text())
    assert {nodeid: cost.slow for nodeid, cost in found.items()} == {
        "tests/busy/test_busy.py::test_busy": False,
        "tests/idle/test_idle.py::test_idle": False,
        "tests/idle/test_slow.py::test_slow": True,
        "tests/new/test_new.py::test_new": False,
    }
    assert 1.2 <= found["tests/busy/test_busy.py::test_busy"].processor < 3
    with pytest.raises(ValueError, match="no table of costs"):
        costs.read("test\tseconds\n")


def test_a_file_counts_with_the_innermost_folder_that_has_a_budget() -> None:
    assert budgets.folder_of("tests/connectors/delta_sink/test_a.py", GIVEN) == "tests/connectors/delta_sink"
    assert budgets.folder_of("tests/connectors/mysql/deep/test_a.py", GIVEN) == "tests/connectors"
    assert budgets.folder_of("tests/services/executor/worker/test_a.py", GIVEN) == "tests/services/executor"


def test_slow_tests_use_no_budget_of_the_fast_tier() -> None:
    tests = {"tests/connectors/test_a.py::a": Cost(1, 2), "tests/connectors/test_a.py::b": Cost(1, 3, slow=True)}
    assert budgets.used_by_folder(tests, GIVEN) == {"tests/connectors": 2}


def test_what_was_used_is_printed_as_the_file_has_it() -> None:
    assert budgets.as_toml({"tests/b": 2.1, "tests/a": 0.01}) == '[budgets]\n"tests/a" = 1\n"tests/b" = 3\n'


def test_each_budget_is_of_a_folder_that_is_there_and_each_test_has_one() -> None:
    given = budgets.read(ROOT)
    assert [folder for folder in given if not (ROOT / folder).is_dir()] == []
    files = [str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")]
    assert {folder for path in files if (folder := budgets.folder_of(path, given)) not in given} == set()


def test_each_cost_of_a_slow_test_is_of_a_file_that_is_there() -> None:
    assert {file for file in slow_costs.read(ROOT) if not (ROOT / file).exists()} == set()


def test_the_slow_tests_of_a_file_are_one_line_and_are_read_as_they_were_written(tmp_path: Path) -> None:
    tests = {
        "tests/test_a.py::a": Cost(1, 2, slow=True),
        "tests/test_a.py::b": Cost(3, 4, slow=True),
        "tests/test_b.py::c": Cost(9, 9),
    }
    known = slow_costs.by_file(tests)
    assert known == {"tests/test_a.py": slow_costs.FileCost(4, 6, 2)}
    assert known["tests/test_a.py"].each == 2
    (tmp_path / "tests").mkdir()
    (tmp_path / slow_costs.FILE).write_text(slow_costs.written(known))
    assert slow_costs.read(tmp_path) == known
