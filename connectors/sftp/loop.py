"""The event loop of this process in which connections live; tasks wait for it from their own threads."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}
"""By process: a fork has no thread of the one that it came from."""


def loop() -> asyncio.AbstractEventLoop:
    """The loop of this process, which runs as long as the process does."""
    with _lock:
        found = _loops.get(os.getpid())
        if found is None:
            found = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=found.run_forever, name="sftp", daemon=True).start()
        return found


def wait_for(work: Coroutine[Any, Any, _Result]) -> _Result:
    """The result of work that is done in the loop. Raises what it raises."""
    return asyncio.run_coroutine_threadsafe(work, loop()).result()
