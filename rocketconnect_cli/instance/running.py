"""A `rocketconnect up` as a child process: for the demo, the benchmarks and the tests."""

import json
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rocketconnect_kit.tethered import tethered

START_SECONDS = 300.0
"""How long after the last start of a process everything has to answer."""
_SAID_SECONDS = START_SECONDS + 100.0
"""How long `rocketconnect up` may take to say that it is ready, or why not."""
STOP_SECONDS = 100.0


class InstanceFailed(Exception):
    """It did not start, or did not stop cleanly; the text says what to look at."""


@contextmanager
def running(data: Path, *options: str, drain: bool = True) -> Iterator[dict[str, Any]]:
    """Everything on free ports, until the end of the block; then drained and stopped. It dies with the thread that calls this.

    Args:
        data: Its data directory.
        options: More options of `rocketconnect up`.
        drain: False: it is killed at the end, and its data are of no more use.

    Yields:
        What `rocketconnect up --output json` says when it is ready.

    Raises:
        InstanceFailed: it did not start, or did not stop cleanly.
    """
    executable = str(Path(sys.executable).with_name("rocketconnect"))
    command = [executable, "up", "--data", str(data), "--rest-port", "0", "--output", "json", *options]
    # In a session of its own: Ctrl-C comes to the caller alone, who then stops it in good order.
    with subprocess.Popen(tethered(command), stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield _ready(process)
        finally:
            code = _stop(process) if drain else _kill(process)
        if drain and code != 0:
            msg = f"`rocketconnect up` did not stop cleanly: exit code {code}; see {data / 'logs'}"
            raise InstanceFailed(msg)


def _stop(process: subprocess.Popen[str]) -> int:
    """Drains and stops it, at once when that takes too long or the caller is interrupted meanwhile; its exit code."""
    try:
        # Not SIGINT: before `up` has its handlers that one prints a traceback; this one just ends it.
        process.terminate()
        with suppress(subprocess.TimeoutExpired):  # the exit code tells of it
            process.wait(STOP_SECONDS)
    finally:
        _kill(process)
    return process.returncode


def _kill(process: subprocess.Popen[str]) -> int:
    # What runs below it dies with it.
    process.kill()
    return process.wait()


def _ready(process: subprocess.Popen[str]) -> dict[str, Any]:
    if process.stdout is None:
        msg = "no pipe to `rocketconnect up`"
        raise InstanceFailed(msg)
    readable, _, _ = select.select([process.stdout], [], [], _SAID_SECONDS)
    line = process.stdout.readline() if readable else ""
    if not line:
        msg = f"`rocketconnect up` was not ready within {_SAID_SECONDS:g} s" if not readable else "`rocketconnect up` did not start"
        raise InstanceFailed(msg)
    return dict(json.loads(line))
