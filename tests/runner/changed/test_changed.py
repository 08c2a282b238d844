"""What a change can reach is run, and what it can't reach is not."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner.changed.__main__ import changes, declared, graph_of
from tests.runner.changed.choice import Choice, choose, cost, told
from tests.runner.changed.graph import Declared, Graph
from tests.runner.spent.slow_costs import FileCost

ROOT = Path(__file__).parents[3]
ALL = {"test_a.py", "test_b.py"}
PRODUCT = {
    # What nobody names counts as part of what lies beside it.
    "bench/run.py": "import kit.base, kit.lazy, kit.shown",
    "connectors/__init__.py": "",
    "connectors/in_sink/__init__.py": "from connectors.in_sink import table",
    "connectors/in_sink/table.py": "",
    "kit/__init__.py": "",
    "kit/base.py": "",
    "kit/lazy.py": "def later():\n    from kit import deep\n",
    "kit/deep.py": "if TYPE_CHECKING:\n    from kit import shown\n",
    "kit/shown.py": "",
    "services/__init__.py": "",
    "services/one/__init__.py": "",
    "services/one/__main__.py": "from services.one.server import serve",
    "services/one/server.py": "from . import store",
    "services/one/store.py": "",
    "services/one/migrations/v1.py": "",
    "services/two/__main__.py": "",
    "up/main.py": 'def command(name):\n    return ["-m", f"services.{name}"]\n',
}
CONFTEST = """
import pytest
from kit.base import Server
from kit.lazy import later

Settings = Server()

@pytest.fixture
def server():
    return Settings

@pytest.fixture
def through(server):
    return server

@pytest.fixture(autouse=True)
def always():
    later()
"""


def reached(change: str, a: str, b: str = "", **more: str) -> set[str]:
    """Which of the test files a and b a change can reach, in a tree with these files besides (. is written as __)."""
    texts = {**PRODUCT, "tests/test_a.py": a, "tests/deep/test_b.py": b, **more}
    others = ["docs/page.md", "services/one/words.txt", "tests/java/Peer.java", "tests/conftest.txt", "examples/one/a.yaml"]
    said = Declared(all_tests=("pyproject.toml",), commands={"rocket": "up/main.py"}, reaches={"tests/deep/": ("examples/*",)})
    return {Path(path).name for path in Graph(texts, [*others, change], said).reached_by(change)}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("kit/base.py", "from kit.base import Server"),
        ("kit/base.py", "import kit.base as base"),
        ("kit/__init__.py", "import kit.base"),
        ("kit/deep.py", "def test_a():\n    from kit.lazy import later\n"),
        ("services/one/store.py", "from services.one.server import serve"),
        ("services/one/store.py", 'WORDS = ["-m", "services.one"]'),
        ("services/one/store.py", "COMMAND = 'import services.one.server; print(1)'"),
        ("services/one/store.py", "from up import main"),
        ("services/two/__main__.py", "def words(name):\n    return f'services.{name}'"),
        ("services/one/store.py", 'def start(self):\n    self.words, more = ["-m", "services.one"], 1'),
        ("services/two/__main__.py", 'COMMAND = "bin/rocket"'),
        ("services/one/migrations/v1.py", "import services.one.server"),
        ("services/one/words.txt", "import services.one.store"),
        ("connectors/in_sink/table.py", 'CONFIG = {"plugin": "in_sink"}'),
        ("docs/page.md", 'PAGE = Path(__file__).parents[1] / "docs" / "page.md"\ndef test_a():\n    PAGE.read_text()'),
        ("docs/page.md", 'ROOT = Path(__file__).parents[1]\ndef test_a(name):\n    (ROOT / "docs" / name).read_text()'),
        ("docs/page.md", 'TEXT = Path("docs/page.md").read_text()'),
        ("tests/java/Peer.java", 'SOURCE = Path(__file__).parent / "java"\ndef test_a():\n    build(SOURCE)'),
        ("tests/java/Peer.java", 'def test_a():\n    build(Path(__file__).with_name("java"))'),
        ("tests/test_a.py", ""),
    ],
)
def test_a_change_reaches_who_names_it(change: str, text: str) -> None:
    assert reached(change, a=text) == {"test_a.py"}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("kit/deep.py", "from kit.base import Server"),
        ("kit/shown.py", "from kit.deep import nothing"),
        ("services/one/__main__.py", "from services.one.server import serve"),
        ("connectors/in_sink/table.py", "CONFIG = {'plugin': 'out_sink'}"),
        ("docs/page.md", 'PAGE = Path(__file__).parents[1] / "docs" / "page.md"'),
    ],
)
def test_a_change_reaches_nobody_who_does_not_name_it(change: str, text: str) -> None:
    assert reached(change, a=text) == set()


def test_a_conftest_reaches_all_below_it_and_its_fixtures_who_asks_for_them() -> None:
    with_conftest = {"tests/conftest.py": CONFTEST}
    assert reached("tests/conftest.py", "", "", **with_conftest) == ALL
    assert reached("kit/deep.py", "", "", **with_conftest) == ALL
    assert reached("kit/base.py", "def test_a(through):\n    pass", "", **with_conftest) == {"test_a.py"}
    below = {"tests/deep/conftest.py": "import pytest\n@pytest.fixture\ndef mine(server):\n    return server\n", **with_conftest}
    assert reached("kit/base.py", "", "def test_b(mine):\n    pass", **below) == {"test_b.py"}
    assert reached("tests/deep/conftest.py", "", "", **below) == {"test_b.py"}


def test_a_fixture_counts_that_the_base_class_of_a_test_asks_for() -> None:
    more = {"tests/conftest.py": CONFTEST, "tests/suite.py": "class Suite:\n    def test_one(self, server):\n        pass\n"}
    assert reached("kit/base.py", "from tests.suite import Suite", "", **more) == {"test_a.py"}


def test_what_went_reaches_who_still_names_it() -> None:
    assert reached("kit/gone.py", "from kit.gone import it") == {"test_a.py"}
    assert reached("tests/deep/conftest.py", "", "") == {"test_b.py"}
    assert reached("tests/deep/test_gone.py", "", "") == set()


def test_what_is_declared_is_reached() -> None:
    assert reached("examples/one/a.yaml", "", "") == {"test_b.py"}
    assert reached("pyproject.toml", "", "") == ALL


def test_a_change_that_reaches_most_runs_the_fast_tests_and_a_part_of_the_slow_ones() -> None:
    tests = {f"tests/test_{number}.py": "import kit.base" if number < 7 else "" for number in range(10)}
    graph = Graph({**PRODUCT, **tests}, [], Declared())
    most = choose(["kit/base.py", "docs/page.md"], graph)
    assert most.is_nearly_all
    assert told(most, 5) == [
        "  kit/base.py",
        "    -> 7 test files: tests 7",
        "  docs/page.md",
        "    -> no test",
        "Together 7 test files of 10, more than 60%: the fast tier runs, and of the slow one part 2 of 4, the one of the day.",
    ]
    one = choose(["tests/test_8.py"], graph)
    assert not one.is_nearly_all
    assert told(one, 5)[-1] == "Together 1 test file of 10, fast and slow tests."


def test_the_cost_is_reckoned_by_the_number_of_tests_and_says_what_is_not_known() -> None:
    choice = Choice({"x": frozenset({"tests/a/test_a.py"})}, all_tests=3)
    counts, given = {"tests/a/test_a.py": 3, "tests/a/test_b.py": 1}, {"tests/a": 40.0}
    assert cost(choice, counts, given, {}).startswith("It takes about 30 s of processor by the budgets of the fast tests; what")
    slow = {"tests/a/test_a.py": FileCost(90, 5, 1), "tests/b/test_b.py": FileCost(500, 5, 1)}
    assert cost(choice, counts, given, slow).endswith("and 90 s of slow ones; with two workers some 1 min.")


def test_changes_are_what_is_committed_what_is_not_what_is_new_and_what_went(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True
        )

    git("init")
    for name in ("kept", "went", "changed", "moved"):
        (tmp_path / name).write_text(name * 20)
    git("add", ".")
    git("commit", "-m", "base")
    git("mv", "moved", "moved to")
    git("commit", "-m", "next")
    (tmp_path / "changed").write_text("other")
    (tmp_path / "went").unlink()
    (tmp_path / "new").write_text("")
    assert changes(tmp_path, "HEAD~1") == ["changed", "moved", "moved to", "new", "went"]
    assert changes(tmp_path, "HEAD") == ["changed", "new", "went"]


def test_without_a_green_tree_the_command_asks_for_a_commit_and_without_a_change_it_runs_nothing(tmp_path: Path) -> None:
    subprocess.run(["git", "-C", tmp_path, "init"], check=True, capture_output=True)
    program = f"from tests.runner.changed import __main__ as it; raise SystemExit(it.main([], it.Path({str(tmp_path)!r})))"

    def run() -> tuple[int, str]:
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    code, said = run()
    assert code == 2
    assert "BASE=" in said
    tree = subprocess.run(["git", "-C", tmp_path, "write-tree"], check=True, capture_output=True, text=True).stdout
    (tmp_path / ".git/ci-green").write_text(tree)
    assert run() == (0, f"Nothing changed since {tree[:12]}.\n")


def test_who_takes_the_root_of_the_repository_declares_what_it_looks_at() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / "tests").rglob("*.py")}
    assert Graph(texts, [], declared(ROOT)).looking_around() == [], (
        "say in tests/reaches.toml what these look at; an empty list: nothing but what is seen"
    )


@pytest.mark.slow
def test_each_way_in_which_this_repository_names_its_files_is_seen() -> None:
    graph = graph_of(ROOT)
    for change, test in {
        "services/config/migrations/v0001_initial.py": "tests/services/config/test_process.py",
        "services/gateway/server.py": "tests/e2e/test_up.py",
        "connectors/delta_sink/__init__.py": "tests/connectors/delta_sink/test_delta_sink.py",
        "docs/types.md": "tests/pairs/test_pairs.py",
        "examples/README.md": "tests/e2e/test_examples.py",
        "deploy/compose/compose.yaml": "tests/services/executor/contract/test_stop_limits.py",
        "tests/servers/mariadb.py": "tests/connectors/mysql_cdc_source/test_types.py",
        "tests/chaos/injected/sitecustomize.py": "tests/services/executor/runtime/sink/query/test_query_kills.py",
    }.items():
        assert test in graph.reached_by(change), change
    assert len(graph.reached_by("connectors/delta_sink/__init__.py")) < 100
