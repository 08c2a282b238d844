"""Collecting garbage waits until the tests are collected, and then leaves alone what that made.

Thousands of tests are a million objects that stay to the end. To look through them again and again took a fifth of the time of
collecting, and half a second of each `gc.collect()` of a test.

After each test its own garbage is collected, and what is in it is complained of there: a file that a test forgets to close is
held by some cycle now and then, and another test would fail when that is found.
"""

import atexit
import gc
from collections.abc import Generator

import pytest
from _pytest.unraisableexception import collect_unraisable


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without collecting garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        # Libraries complain at the end of what then is still there.
        atexit.register(gc.unfreeze)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Collect what the test has left, and nothing that was there before it."""
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        # pytest's own turn is over by now, and its next one is another test's.
        collect_unraisable(item.config)
