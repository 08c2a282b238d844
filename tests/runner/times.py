"""`--times FILE`: how long each test took and what it cost, as a table; summed up by file at the end.

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

_PROPERTY = "rocketconnect-cost"
_SLOWEST = 10


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--times`."""
    parser.addoption("--times", type=Path, metavar="FILE", help="write seconds and processor seconds of each test there")


def pytest_configure(config: pytest.Config) -> None:
    """Register what measures where tests run, and what collects where results are seen."""
    if config.getoption("times") is None:
        return
    config.pluginmanager.register(_Meter(), "rocketconnect-meter")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Table(config.getoption("times")), "rocketconnect-times")


class _Meter:
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._began, self._cost = time.monotonic(), _processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, TestReport, TestReport]:
        report = yield
        if call.when == "teardown":
            cost = {"seconds": time.monotonic() - self._began, "processor": _processor_seconds() - self._cost}
            report.user_properties.append((_PROPERTY, json.dumps(cost)))
        return report


class _Table:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._costs: dict[str, tuple[float, float]] = {}

    def pytest_runtest_logreport(self, report: TestReport) -> None:
        for name, value in report.user_properties:
            if name == _PROPERTY:
                cost = json.loads(str(value))
                self._costs[report.nodeid] = cost["seconds"], cost["processor"]

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        by_file: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
        with self._path.open("w", encoding="utf-8") as file:
            file.write("seconds\tprocessor seconds\ttest\n")
            for nodeid, (seconds, processor) in sorted(self._costs.items(), key=lambda item: -item[1][0]):
                file.write(f"{seconds:.2f}\t{processor:.2f}\t{nodeid}\n")
                path = nodeid.partition("::")[0]
                by_file[path] = by_file[path][0] + seconds, by_file[path][1] + processor
        terminalreporter.section("the slowest files: seconds, processor seconds")
        for path, (seconds, processor) in sorted(by_file.items(), key=lambda item: -item[1][0])[:_SLOWEST]:
            terminalreporter.write_line(f"{seconds:8.1f} {processor:8.1f}  {path}")


def _processor_seconds() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
