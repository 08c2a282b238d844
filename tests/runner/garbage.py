"""Collecting garbage waits until the tests are collected, and then leaves alone what that made.

Thousands of tests are a million objects that stay to the end. To look through them again and again took a fifth of the time of
collecting, and half a second of each `gc.collect()` of a test.
"""

import atexit
import gc
from collections.abc import Generator

import pytest


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
