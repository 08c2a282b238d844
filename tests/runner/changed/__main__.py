"""`make test-changed`: runs the tests, fast and slow, that the changes since the last `make ci` can reach.

`--base COMMIT` compares with another one; `--list` says what would run, and runs nothing. What stands after `--` is for pytest.
"""

import argparse
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tests.runner.changed.choice import PARTS, choose, cost, told
from tests.runner.changed.graph import Declared, Graph
from tests.runner.spent import budgets, slow_costs

ROOT = Path(__file__).resolve().parents[3]
DECLARED = "tests/reaches.toml"
_TEST = re.compile(r"^\s*(async )?def test_", re.MULTILINE)
_DAY = 86_400


def main(argv: Sequence[str], root: Path = ROOT) -> int:
    """Choose, tell, run; return the exit code."""
    mine, for_pytest = (argv[: argv.index("--")], argv[argv.index("--") + 1 :]) if "--" in argv else (argv, [])
    parser = argparse.ArgumentParser(prog="make test-changed", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--base", help="the commit or tree to compare with, instead of the last one that make ci passed")
    parser.add_argument("--list", action="store_true", help="say what would run, and run nothing")
    given = parser.parse_args(mine)
    base = given.base or green(root)
    if base is None:
        _say("make ci has passed no tree in this clone yet: name the commit to compare with, as in make test-changed BASE=HEAD~1")
        return 2
    changed = changes(root, base)
    if not changed:
        _say(f"Nothing changed since {base[:12]}.")
        return 0
    graph = graph_of(root, changed)
    chosen, day = choose(changed, graph), int(time.time()) // _DAY
    _say(f"{len(changed)} files changed since {base[:12]}:")
    for line in told(chosen, day):
        _say(line)
    if not chosen.tests:
        return 0
    counts = {path: len(_TEST.findall((root / path).read_text(encoding="utf-8"))) for path in graph.tests}
    _say(cost(chosen, counts, budgets.read(root), slow_costs.read(root)))
    if given.list:
        return 0
    what = [f"--slow-part={day}/{PARTS}"] if chosen.is_nearly_all else chosen.tests
    workers = ["--numprocesses=2"] if len(chosen.tests) > 1 else []
    return _become(root, [sys.executable, "-m", "pytest", *workers, *for_pytest, *what])


def _become(root: Path, command: list[str]) -> NoReturn:
    """Run this in the place of this process, so that signals reach it."""
    sys.stderr.flush()
    os.chdir(root)
    os.execv(command[0], command)


def green(root: Path) -> str | None:
    """The last tree that make ci passed; None: none that is here."""
    path = Path(git(root, "rev-parse", "--absolute-git-dir").strip(), "ci-green")
    return path.read_text(encoding="utf-8").strip() if path.exists() else None


def changes(root: Path, base: str) -> list[str]:
    """The files that differ from this commit or tree: committed or not, new ones and those that went."""
    differ = git(root, "diff", "--name-only", "--no-renames", "-z", base, "--")
    new = git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return sorted({path for path in (differ + new).split("\0") if path})


def graph_of(root: Path, changed: Sequence[str] = ()) -> Graph:
    """What reaches what in this tree; changed files that went count as if they were there."""
    listed = git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
    there = [path for path in listed if path and (root / path).is_file()]
    texts = {path: (root / path).read_text(encoding="utf-8") for path in there if path.endswith(".py")}
    return Graph(texts, {*there, *changed} - texts.keys(), declared(root))


def declared(root: Path) -> Declared:
    """What tests/reaches.toml says."""
    given = tomllib.loads((root / DECLARED).read_text(encoding="utf-8"))
    return Declared(
        all_tests=tuple(given["all_tests"]),
        never_by_name=tuple(given["never_by_name"]),
        commands=given["commands"],
        reaches={place: tuple(patterns) for place, patterns in given["reaches"].items()},
    )


def git(root: Path, *words: str) -> str:
    """What git says."""
    done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip() or f"git {' '.join(words)} failed")
    return done.stdout


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - what a command tells


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
