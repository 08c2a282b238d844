"""RocketMQ's own admin tool, against the broker of a test."""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from rocketmq_remoting.client import Client
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.requests import Request, check

_RESET_OFFSET = 222


def admin_tool(jars: Path, name_server: str, folder: Path, *command: str) -> str:
    """Run a command and return what it prints; `folder`: for its logs."""
    tool = "org.apache.rocketmq.tools.command.MQAdminStartup"
    done = subprocess.run(
        ["java", f"-Duser.home={folder}", "-cp", f"{jars}/*", tool, *command, "-n", name_server],
        env={**os.environ, "ROCKETMQ_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    return done.stdout


def wait_for_progress(jars: Path, name_server: str, folder: Path, group: str, queue: MessageQueue, numbers: Sequence[int]) -> None:
    """Wait until consumerProgress says so of a queue: broker offset, consumer offset, difference."""
    # The tool takes seconds to start, and gives up early on a busy machine.
    deadline = time.monotonic() + 180
    while True:
        progress = admin_tool(jars, name_server, folder, "consumerProgress", "-g", group)
        # topic, broker, queue, broker offset, consumer offset, perhaps a client, difference, ...
        shown = [
            [int(word) for word in line.split()[3:] if word.isdecimal()]
            for line in progress.splitlines()
            if line.startswith(queue.topic)
        ]
        if any(line[:3] == list(numbers) for line in shown):
            return
        assert time.monotonic() < deadline, progress


def reset_offsets(client: Client, group: str, queue: MessageQueue, timestamp_ms: int) -> None:
    """Send the broker of a queue what resetOffsetByTime sends it, for all queues of its topic; below 0: to their ends."""
    fields = {
        "topic": queue.topic,
        "group": group,
        "timestamp": str(timestamp_ms),
        "isForce": "true",
        "queueId": "-1",
        "offset": "-1",
    }
    request = Request(_RESET_OFFSET, fields)  # type: ignore[arg-type]  # no connector sends it
    client._routes.submit(queue.broker, request, lambda frame: check(frame, "reset"), timeout=60, what="reset").result()
