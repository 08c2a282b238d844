"""`--slow-slice SECONDS`: of the slow tests those that fit into this time; `--slow-part DAY/PARTS`: one part of them.

What is chosen for a time is chosen by `--slow-key`, which is the commit in CI, so each commit runs other slow tests, and again
the same ones. It is reckoned from what they cost when they last ran (tests/slow-costs.tsv); those of other files were never run
whole, and are left out. Costs differ, so there is a deadline, too: from the start of the run SECONDS, after which no test
begins. One that has begun goes on, up to `--hang-limit`.

Tests that are not slow stay with `--slow-part`, and are left out with `--slow-slice`.
"""

import time

import pytest
from _pytest.terminal import TerminalReporter

from tests.runner import order
from tests.runner.spent import portions, slow_costs

_DEADLINE = "rocketconnect-deadline"
_NOT_BEGUN = "not begun: the time of the slice is over"
# To collect, and to start what the first tests need.
_USED_BEFORE = 45.0
_MOST_OF_IT = 0.85


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    parser.addoption("--slow-slice", type=float, metavar="SECONDS", help="only slow tests, as many as fit into these seconds")
    parser.addoption("--slow-key", default="", metavar="KEY", help="what decides which slow tests --slow-slice takes")
    parser.addoption("--slow-part", metavar="DAY/PARTS", help="of the slow tests only the part of this day")


def pytest_configure(config: pytest.Config) -> None:
    """Register what chooses, and what ends the run."""
    seconds: float | None = config.getoption("slow_slice")
    if seconds is not None:
        config.pluginmanager.register(_Slice(config, seconds), "rocketconnect-slice")
    elif config.getoption("slow_part"):
        config.pluginmanager.register(_Part(config.getoption("slow_part")), "rocketconnect-part")


class _Slice:
    def __init__(self, config: pytest.Config, seconds: float) -> None:
        self._config = config
        self._seconds = seconds
        given = getattr(config, "workerinput", {})
        self._deadline: float = given.get(_DEADLINE, time.time() + seconds)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: object) -> None:
        node.workerinput[_DEADLINE] = self._deadline  # type: ignore[attr-defined]  # xdist has no type for it

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        costs = slow_costs.read(self._config.rootpath)
        slow = [item.nodeid for item in items if item.get_closest_marker("slow")]
        known = [nodeid for nodeid in slow if not costs or portions.file_of(nodeid) in costs]
        chosen = portions.that_fit(
            known,
            {file: cost.each for file, cost in costs.items()},
            order.scope_of,
            key=self._config.getoption("slow_key"),
            seconds=max(0.0, self._seconds - _USED_BEFORE) * _MOST_OF_IT,
            workers=_workers(self._config),
        )
        _keep(self._config, items, chosen)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        if time.time() > self._deadline:
            pytest.skip(_NOT_BEGUN)

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        late = [report for report in terminalreporter.stats.get("skipped", []) if _NOT_BEGUN in str(report.longrepr)]
        if late:
            terminalreporter.write_line(
                f"{len(late)} tests of the slice were not begun: its {self._seconds:g} s were over. "
                f"Measure the slow tests again: see {slow_costs.FILE} in CONTRIBUTING.md.",
                yellow=True,
            )


class _Part:
    def __init__(self, part: str) -> None:
        day, _, parts = part.partition("/")
        if not (day.isdigit() and parts.isdigit() and int(parts)):
            raise pytest.UsageError(f"--slow-part {part}: give it a day and a number of parts, like 20788/4")
        self._day, self._parts = int(day), int(parts)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        slow = [item.nodeid for item in items if item.get_closest_marker("slow")]
        fast = {item.nodeid for item in items} - set(slow)
        _keep(config, items, fast | portions.of_the_day(slow, self._day, self._parts))


def _keep(config: pytest.Config, items: list[pytest.Item], chosen: set[str]) -> None:
    left = [item for item in items if item.nodeid not in chosen]
    items[:] = [item for item in items if item.nodeid in chosen]
    if left:
        config.hook.pytest_deselected(items=left)


def _workers(config: pytest.Config) -> int:
    given = getattr(config, "workerinput", {}).get("workercount")
    return int(given or 1)
