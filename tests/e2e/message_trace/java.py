"""A producer and a consumer in Java with the message trace switched on."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from rocketconnect_cli.embedded.rocketmq_jars import rocketmq_jars
from rocketconnect_kit.java.find import find_javac

_SOURCE = Path(__file__).with_name("TracedClients.java")


def compiled(classes: Path) -> Callable[..., str]:
    """A function that runs the Java program, which is compiled into a folder, and returns what it prints."""
    jars, javac = rocketmq_jars(), find_javac().resolve()
    command = [str(javac), "-encoding", "UTF-8", "-cp", f"{jars}/*", "-d", str(classes), str(_SOURCE)]
    subprocess.run(command, check=True, timeout=120, capture_output=True)

    def run(*arguments: str) -> str:
        flags = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Drocketmq.client.rebalance.waitInterval=1000")
        own = (f"-Duser.home={classes}", f"-Drocketmq.client.logRoot={classes}")
        done = subprocess.run(
            [str(javac.with_name("java")), *flags, *own, "-cp", f"{classes}:{jars}/*", "TracedClients", *arguments],
            env={**os.environ, "ROCKETMQ_HOME": str(classes)},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
