"""A test that hangs fails with the stacks of all threads, instead of holding up the whole run until somebody ends it.

Setting a test up, running it and cleaning up have `SECONDS` each, and `SLOW_TIMES` as long where it is `slow`: for hangs alone, as
the slowest test takes five minutes where nothing runs beside it. Then the main thread is interrupted, so the test fails like any
other and its fixtures are cleaned up. Where the main thread can't be interrupted, its process ends after a quarter more; then
pytest-xdist names the test, and starts another worker. The same holds for a worker that doesn't end when all is done.

`pytest --hang-limit SECONDS` sets another limit; 0 switches it off, for a debugger.
"""

import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Generator
from types import FrameType

import pytest

SECONDS = 600.0
SLOW_TIMES = 3


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--hang-limit`."""
    parser.addoption("--hang-limit", type=float, default=SECONDS, metavar="SECONDS", help="how long each step of a test may take")


def pytest_configure(config: pytest.Config) -> None:
    """Register the guard, where tests run."""
    if config.getoption("hang_limit") and not config.option.collectonly:
        config.pluginmanager.register(_Guard(config.getoption("hang_limit")), "rocketconnect-limits")


class _Guard:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        # Tests replace sys.stderr, and pytest captures what is written to the first.
        self._stderr = os.fdopen(os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2), "w")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self._guarded(item, "setting up"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self._guarded(item, "running"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self._guarded(item, "cleaning up after"))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):
            # It may wait for others that still have tests, as long as they like: what has its limit is its end.
            threading.Thread(target=self._end_in_time, daemon=True).start()

    def _end_in_time(self) -> None:
        threading.main_thread().join()
        faulthandler.dump_traceback_later(self._seconds, file=self._stderr, exit=True)

    def _guarded(self, item: pytest.Item, step: str) -> Generator[None, object, object]:
        seconds = self._seconds * (SLOW_TIMES if item.get_closest_marker("slow") else 1)

        def interrupt(number: int, frame: FrameType | None) -> None:
            self._stderr.write(f"\n{step} {item.nodeid} took more than {seconds:g} s:\n")
            faulthandler.dump_traceback(self._stderr)
            pytest.fail(f"{step} took more than {seconds:g} s; the stacks of all threads are on the standard error")

        before = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        faulthandler.dump_traceback_later(seconds * 1.25, file=self._stderr, exit=True)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()
            signal.signal(signal.SIGALRM, before)
