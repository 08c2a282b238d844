"""RocketMQ's own admin tool, against the broker of a test."""

import os
import subprocess
from pathlib import Path


def admin_tool(jars: Path, name_server: str, folder: Path, *command: str) -> str:
    """Run a command and return what it prints; `folder`: for its logs."""
    tool = "org.apache.rocketmq.tools.command.MQAdminStartup"
    done = subprocess.run(
        ["java", f"-Duser.home={folder}", "-cp", f"{jars}/*", tool, *command, "-n", name_server],
        env={**os.environ, "ROCKETMQ_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout
