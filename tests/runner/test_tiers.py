"""Tests are slow for what they cost, as two files say, and the files stay true."""

from pathlib import Path

import pytest

from tests.runner import tiers
from tests.runner.spent import costly, costs
from tests.runner.spent.costs import Cost

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
COSTLY = tiers.written({"tests/test_a.py::test_costly[1]": 7.0})
TIERS = '[slow]\n"tests/lakes" = "Spark"\n'


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\naddopts = -p tests.runner.tiers --import-mode=importlib\nmarkers = slow: slow\ntestpaths = tests")
    lakes = pytester.mkdir("tests") / "lakes"
    lakes.mkdir()
    two = 'import pytest\n\n@pytest.mark.parametrize("n", [1, 2])\ndef test_costly(n):\n    pass\n'
    (lakes.parent / "test_a.py").write_text(two)
    (lakes / "test_b.py").write_text("def test_one():\n    pass\n\ndef test_two():\n    pass\n")
    (lakes.parent / "costly.tsv").write_text(COSTLY)
    (lakes.parent / "tiers.toml").write_text(f'fast = ["tests/lakes/test_b.py::test_two"]\n{TIERS}')
    return pytester


def test_what_the_files_name_is_slow_but_for_what_stays_fast(project: pytest.Pytester) -> None:
    done = project.runpytest_inprocess("-m", "not slow", "--collect-only", "-q")
    found = [line for line in done.outlines if "::" in line]
    assert found == ["tests/lakes/test_b.py::test_two", "tests/test_a.py::test_costly[2]"]


def test_an_entry_whose_test_is_gone_is_named_when_all_are_collected(project: pytest.Pytester) -> None:
    Path("tests/test_a.py").write_text("")
    assert project.runpytest_inprocess("tests/lakes").ret == pytest.ExitCode.OK
    done = project.runpytest_inprocess()
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*name what is no test any more: tests/test_a.py::test_costly?1?"])


def test_the_cheapest_case_stays_and_so_does_what_is_cheap_or_told_to_stay() -> None:
    seconds = {"a.py::t[1]": 2.0, "a.py::t[2]": 1.0, "a.py::t[3]": 0.2, "a.py::dear": 5.0, "a.py::kept": 9.0, "a.py::u": 3.0}
    measured = {nodeid: Cost(99.0, 0.0, alone=spent) for nodeid, spent in seconds.items()} | {
        "a.py::slow": Cost(99.0, 0.0, slow=True, alone=50.0)
    }
    assert costly.chosen(measured, frozenset({"a.py::kept"})) == {"a.py::t[1]": 2.0, "a.py::t[2]": 1.0, "a.py::dear": 5.0}


def test_the_table_is_written_with_what_was_in_it_as_long_as_its_file_is_there(
    project: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = {
        "tests/test_a.py::test_costly[2]": Cost(9.0, 0.0, alone=4.5),
        "tests/lakes/test_b.py::test_one": Cost(9.0, 0.0, alone=9.0),
    }
    Path("times.tsv").write_text(costs.written(measured))
    Path("tests/costly.tsv").write_text(COSTLY + "8.0\ttests/test_gone.py::test\n")
    assert costly.main(["times.tsv"], project.path) == 0
    assert capsys.readouterr().out == "tests/costly.tsv: 2 tests, 12 s one after the other\n"
    found = tiers.read(project.path).costly
    assert found == {"tests/test_a.py::test_costly[1]": 7.0, "tests/test_a.py::test_costly[2]": 4.5}


def test_a_file_that_is_no_table_is_told(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/costly.tsv").write_text("nonsense")
    with pytest.raises(ValueError, match="no table of costly tests: its first line is not 'seconds"):
        tiers.read(tmp_path)
