"""Tests that failed are named at once, and run again, each alone, when all others are done: what then passes is FLAKY.

A race that shows once in a thousand runs must not hold up everybody's work, nor pass in silence. So: passed once in three tries,
the run stays green, and its last lines name the test with its first failure; failed each time, or more than `MOST_FLAKY` of them,
the run is red. `tests/flaky.toml` lists those that were seen; one that was seen `MOST_SEEN` times is left to `make test-all` until
it is mended.

`--no-reruns` switches it off. With pytest-xdist the controller does all of it, after its workers have ended.
"""

import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.reports import TestReport
from _pytest.terminal import TerminalReporter

from tests.run_folder import run_folder

TRIES = 3
MOST_FLAKY = 5
MOST_SEEN = 3
# For hangs alone: the slowest tests take two minutes.
SECONDS_A_TRY = 900
LISTED = Path(__file__).parents[1] / "flaky.toml"


@dataclass(frozen=True, slots=True)
class Seen:
    """A test that was seen flaky: its name, its sightings (each with its date), and the suspected cause."""

    test: str
    seen: tuple[str, ...]
    cause: str


def listed(path: Path | None = None) -> list[Seen]:
    """The tests that `flaky.toml` lists. Raises ValueError for an entry that is not of its form."""
    path = path or LISTED
    entries = tomllib.loads(path.read_text()).get("flaky", [])
    for entry in entries:
        if entry.keys() != {"test", "seen", "cause"} or not entry["seen"]:
            raise ValueError(f"{path}: {entry.get('test', entry)}: an entry has test, seen (one text or more) and cause")
    return [Seen(entry["test"], tuple(entry["seen"]), entry["cause"]) for entry in entries]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--no-reruns`."""
    parser.addoption("--no-reruns", action="store_true", help="do not run failed tests again")


def pytest_configure(config: pytest.Config) -> None:
    """Register what runs tests again, in the process that sees all results."""
    if not hasattr(config, "workerinput") and not config.option.collectonly and not config.getoption("no_reruns"):
        config.pluginmanager.register(_Reruns(config), "rocketconnect-reruns")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what was seen flaky too often."""
    often = {entry.test for entry in listed() if len(entry.seen) >= MOST_SEEN}
    for item in items:
        if item.nodeid in often or item.nodeid.partition("[")[0] in often:
            item.add_marker(pytest.mark.slow)


class _Reruns:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # In the order of their failures; of a test that failed at several steps the first.
        self._failed: dict[str, TestReport] = {}
        self._flaky: dict[str, int] = {}

    def pytest_runtest_logreport(self, report: TestReport) -> None:
        if report.failed and report.nodeid not in self._failed:
            self._failed[report.nodeid] = report
            # The end of a run, with the whole of it, may be an hour away.
            terminal = self._terminal()
            # Behind the dots of several workers it knows of no line that has begun.
            terminal.line("")
            terminal.write_line(f"FAILED {report.nodeid}: {_reason(report)}", red=True)

    def _terminal(self) -> TerminalReporter:
        terminal: TerminalReporter | None = self._config.pluginmanager.get_plugin("terminalreporter")
        assert terminal is not None
        return terminal

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED or not self._failed:
            return
        terminal = self._terminal()
        terminal.ensure_newline()
        # With more failures the run is red whatever they do alone.
        for nodeid in list(self._failed) if len(self._failed) <= MOST_FLAKY else ():
            passed = self._passed(nodeid, terminal)
            if passed is not None:
                self._flaky[nodeid] = passed
        for key in ("failed", "error"):
            reports = terminal.stats.pop(key, [])
            kept = [report for report in reports if report.nodeid not in self._flaky]
            if kept:
                terminal.stats[key] = kept
        if self._flaky:
            terminal.stats["flaky"] = [self._failed[nodeid] for nodeid in self._flaky]
        if not terminal.stats.get("failed") and not terminal.stats.get("error"):
            session.exitstatus = pytest.ExitCode.OK

    def _passed(self, nodeid: str, terminal: TerminalReporter) -> int | None:
        """At which try the test passed alone; None: at none."""
        for number in range(1, TRIES + 1):
            # Its text is a command: pytest takes the name of a test as it is.
            command = [sys.executable, "-m", "pytest", "--no-reruns", "-p", "no:cacheprovider", "-p", "no:xdist", "-q", nodeid]
            # With one of its own it would take the folder of this run away as an old one.
            command.append(f"--basetemp={run_folder(self._config) / 'again'}")
            try:
                done = subprocess.run(
                    command,
                    cwd=self._config.rootpath,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=SECONDS_A_TRY,
                    check=False,
                )
                code, said = done.returncode, done.stdout
            except subprocess.TimeoutExpired:
                code, said = -1, f"not done after {SECONDS_A_TRY} s"
            terminal.write_line(f"again, alone, {number} of {TRIES}: {'passed' if code == 0 else 'FAILED'}: {nodeid}")
            if code == 0:
                return number
            if code != pytest.ExitCode.TESTS_FAILED:
                terminal.write_line(said)
        return None

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        terminal = terminalreporter
        if self._flaky:
            terminal.section("FLAKY", yellow=True)
        for nodeid, number in self._flaky.items():
            report = self._failed[nodeid]
            terminal.write_line(f"FLAKY {nodeid}: failed at {report.when}, passed alone at try {number}", yellow=True, bold=True)
            terminal.write_line(report.longreprtext)
        if self._flaky:
            terminal.write_line(f"{len(self._flaky)} flaky: note each in tests/flaky.toml, and mend it first thing.", yellow=True)
        if len(self._failed) > MOST_FLAKY:
            terminal.write_line(
                f"{len(self._failed)} tests failed, more than the {MOST_FLAKY} that may be flaky in a run: none was run again.",
                red=True,
            )


def _reason(report: TestReport) -> str:
    """The first line of why a test failed."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext.strip().rpartition("\n")[2]
    return text.partition("\n")[0]
