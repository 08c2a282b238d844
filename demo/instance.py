"""A `rocketconnect up` of the demo's own."""

import json
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

START_SECONDS = 300.0
STOP_SECONDS = 90.0


class DemoFailed(Exception):
    """The demo can't go on, or its check found something; the text says what."""


@contextmanager
def running(data: Path) -> Iterator[dict[str, Any]]:
    """Everything on free ports, until the end of the block; then drained and stopped.

    Yields:
        What `rocketconnect up --output json` says when it is ready.

    Raises:
        DemoFailed: it did not start, or did not stop cleanly.
    """
    command = [
        str(Path(sys.executable).with_name("rocketconnect")),
        "up",
        "--data",
        str(data),
        "--rest-port",
        "0",
        "--output",
        "json",
    ]
    # In a session of its own: Ctrl-C comes to the demo alone, which then stops it in good order.
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield _ready(process)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                code = process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
        if code != 0:
            msg = f"`rocketconnect up` did not stop cleanly: exit code {code}; see {data / 'logs'}"
            raise DemoFailed(msg)


def _ready(process: subprocess.Popen[str]) -> dict[str, Any]:
    if process.stdout is None:
        msg = "no pipe to `rocketconnect up`"
        raise DemoFailed(msg)
    readable, _, _ = select.select([process.stdout], [], [], START_SECONDS)
    line = process.stdout.readline() if readable else ""
    if not line:
        msg = f"`rocketconnect up` was not ready within {START_SECONDS:g} s" if not readable else "`rocketconnect up` did not start"
        raise DemoFailed(msg)
    return dict(json.loads(line))
