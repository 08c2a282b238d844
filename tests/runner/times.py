"""What each test costs: measured always, shown when asked for.

`--times FILE` writes a table of all tests, and names the slowest files at the end. At the end of a run of the whole fast tier, or
with `--budgets`, what each folder used stands beside its budget (tests/budgets.toml), and which tests used most. To be over a
budget does not make a run red, as machines differ: it is seen, and argued about.

Processor time is that of the process that runs the tests and of its children that have ended; a server that outlives a test is
counted where it ends.
"""

import json
import resource
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.reports import TestReport
from _pytest.terminal import TerminalReporter

from tests import shared_rocketmq
from tests.run_folder import run_folder
from tests.runner.spent import budgets
from tests.runner.spent.costs import Cost, written

_PROPERTY = "rocketconnect-cost"
_AROUND = "rocketconnect-around"
_SLOWEST = 10
_COSTLIEST = 60
_FAST = "not slow"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--times` and `--budgets`."""
    parser.addoption("--times", type=Path, metavar="FILE", help="write seconds and processor seconds of each test there")
    parser.addoption("--budgets", action="store_true", help="show what each folder used beside its budget, also of a part")


def pytest_configure(config: pytest.Config) -> None:
    """Register what measures where tests run, and what collects where results are seen."""
    if config.option.collectonly:
        return
    config.pluginmanager.register(_Meter(), "rocketconnect-meter")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Table(config), "rocketconnect-times")


class _Meter:
    def __init__(self) -> None:
        self._of_tests = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._began, self._cost, self._alone = time.monotonic(), _processor_seconds(), 0.0
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, TestReport, TestReport]:
        report = yield
        if call.when == "call":
            self._alone = call.duration
        if call.when == "teardown":
            processor = _processor_seconds() - self._cost
            self._of_tests += processor
            slow = item.get_closest_marker("slow") is not None
            cost = {"seconds": time.monotonic() - self._began, "processor": processor, "slow": slow, "alone": self._alone}
            report.user_properties.append((_PROPERTY, json.dumps(cost)))
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_AROUND] = _processor_seconds() - self._of_tests
        else:
            # Workers are children of this process, and tell what they used themselves.
            has_workers = session.config.pluginmanager.has_plugin("dsession")
            around = _processor_seconds(resource.RUSAGE_SELF) if has_workers else _processor_seconds() - self._of_tests
            table: _Table | None = session.config.pluginmanager.get_plugin("rocketconnect-times")
            assert table is not None
            table.around += around


class _Table:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._costs: dict[str, Cost] = {}
        self.around = 0.0
        """Processor seconds of all processes but those of tests: to start, to collect, to report."""

    def pytest_runtest_logreport(self, report: TestReport) -> None:
        for name, value in report.user_properties:
            if name == _PROPERTY:
                self._costs[report.nodeid] = Cost(**json.loads(str(value)))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object, error: object) -> None:
        self.around += getattr(node, "workeroutput", {}).get(_AROUND, 0.0)

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        path: Path | None = self._config.getoption("times")
        if path is not None:
            path.write_text(written(self._costs), encoding="utf-8")
            self._show_slowest(terminalreporter)
        if self._config.getoption("budgets") or self._is_whole():
            self._show_budgets(terminalreporter)

    def _is_whole(self) -> bool:
        is_all = self._config.args_source is pytest.Config.ArgsSource.TESTPATHS and not self._config.option.keyword
        return is_all and self._config.option.markexpr == _FAST and self._config.rootpath.joinpath(budgets.FILE).exists()

    def _show_slowest(self, terminal: TerminalReporter) -> None:
        by_file: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
        for nodeid, cost in self._costs.items():
            path = nodeid.partition("::")[0]
            by_file[path] = by_file[path][0] + cost.seconds, by_file[path][1] + cost.processor
        terminal.section("the slowest files: seconds, processor seconds")
        for path, (seconds, processor) in sorted(by_file.items(), key=lambda item: -item[1][0])[:_SLOWEST]:
            terminal.write_line(f"{seconds:8.1f} {processor:8.1f}  {path}")

    def _show_budgets(self, terminal: TerminalReporter) -> None:
        given = budgets.read(self._config.rootpath)
        used = budgets.used_by_folder(self._costs, given)
        terminal.section("processor seconds of the fast tier, by folder (tests/budgets.toml)")
        shared = shared_rocketmq.spent(run_folder(self._config) / shared_rocketmq.FOLDER)
        around = {"around the tests: to start, to collect, to report": self.around, "RocketMQ of all workers": shared}
        for line in budgets.table(used, given, around):
            terminal.write_line(line.text, red=line.is_over, bold=line.is_over)
        terminal.section("the costliest tests: processor seconds, seconds")
        fast = {nodeid: cost for nodeid, cost in self._costs.items() if not cost.slow}
        for nodeid, cost in sorted(fast.items(), key=lambda item: -item[1].processor)[:_COSTLIEST]:
            terminal.write_line(f"{cost.processor:8.1f} {cost.seconds:8.1f}  {nodeid}")


def _processor_seconds(*of: int) -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in of or (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
