"""`make mutations`: breaks each invariant on purpose, in a copy, and sees a test fail.

tests/mutations.toml says what is broken where, and which tests must notice. First those tests have to pass as things are, once
for all changes that they are to notice; then each change is made alone. Exit code 1 when a test passes on broken code, or the text
to change is no longer there.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "mutations.toml"
_SECONDS = 900
_HANGS = -1
_SOME_FAILED = 1
"""The exit code of pytest; any other but 0 says that the tests did not run."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One way to break an invariant."""

    invariant: int
    what: str
    file: str
    old: str
    new: str
    tests: str


def read() -> list[Mutation]:
    """Return what is to be broken."""
    return [Mutation(**entry) for entry in tomllib.loads(TABLE.read_text())["mutation"]]


def misplaced(mutation: Mutation) -> str:
    """Return why a mutation can't be made; empty: it can."""
    count = (ROOT / mutation.file).read_text().count(mutation.old)
    return "" if count == 1 else f"{mutation.file} has the text {count} times, not once: {mutation.old!r}"


@dataclass(slots=True)
class _Copy:
    """The project in a folder of its own, with what its tests said while it was whole."""

    root: Path
    whole: dict[str, tuple[int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        command = ["/usr/bin/env", "git", "ls-files", "-z"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in filter(None, listed.split("\0")):
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)

    def notices(self, mutation: Mutation) -> bool:
        """Make the change, run its tests, take it back; say whether one of them failed."""
        path = self.root / mutation.file
        text = path.read_text()
        began = time.monotonic()
        if mutation.tests not in self.whole:
            self.whole[mutation.tests] = _test(self.root, mutation.tests)
        healthy, said = self.whole[mutation.tests]
        broken = 0
        if healthy == 0:
            path.write_text(text.replace(mutation.old, mutation.new))
            try:
                broken, said = _test(self.root, mutation.tests)
            finally:
                path.write_text(text)
        noticed = healthy == 0 and broken == _SOME_FAILED
        by = next((line.split(" ", 1)[1].split(" - ")[0] for line in said.splitlines() if line.startswith("FAILED")), "")
        verdict = f"caught by {by}" if noticed else f"NOT CAUGHT (as it is: {healthy}, broken: {broken})\n{said[-2000:]}"
        _tell(f"invariant {mutation.invariant}: {mutation.what}: {verdict} ({time.monotonic() - began:.0f} s)")
        return noticed


def main(argv: Sequence[str]) -> int:
    """Break, test, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--invariant", type=int, action="append", help="only this one; again for more")
    wanted = parser.parse_args(argv).invariant
    mutations = [each for each in read() if not wanted or each.invariant in wanted]
    wrong = [why for each in mutations if (why := misplaced(each))]
    if wrong:
        sys.stderr.write("\n".join(wrong) + "\n")
        return 1
    with tempfile.TemporaryDirectory(prefix="rocketconnect-mutations-") as folder:
        copy = _Copy(Path(folder) / "copy")
        missed = sum(not copy.notices(mutation) for mutation in mutations)
    _tell(f"{len(mutations)} mutations, {missed} not noticed")
    return 1 if missed else 0


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _test(copy: Path, tests: str) -> tuple[int, str]:
    paths = f"{copy}:{copy / 'protos'}"
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "--no-reruns", "-p", "no:cacheprovider", *tests.split()],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": paths, "HYPOTHESIS_PROFILE": "all"},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _HANGS, f"the tests did not end within {_SECONDS} s"
    return ran.returncode, ran.stdout + ran.stderr


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
