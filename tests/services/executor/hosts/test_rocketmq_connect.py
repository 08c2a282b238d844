"""Connectors of RocketMQ Connect, in Java, in hosts of a real executor that are killed."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.connectors.rocketmq_connect.installed import LINES, SINK, plain_plugin
from tests.services.executor.system import System, lines

pytestmark = [pytest.mark.rocketmq, pytest.mark.e2e, pytest.mark.slow]


def test_lines_go_from_file_to_file_by_connectors_in_java_though_their_processes_are_killed(system: System, tmp_path: Path) -> None:
    there, here, topic = tmp_path / "in.txt", tmp_path / "out.txt", f"rc-lines-{os.getpid()}-{time.time_ns()}"
    system.start("worker-1", kafka_plugins=str(plain_plugin(tmp_path / "plugins")))
    there.write_text("".join(f"line-{number}\n" for number in range(1000)))
    # Under RocketMQ Connect's own names of options.
    system.create("reads", connector_class=LINES, filename=str(there), connect_topicname=topic)
    system.create("writes", connector_class=SINK, filename=str(here), connect_topicnames=topic)

    def seen() -> set[str]:
        return {line.split()[1] for line in lines(here)}

    system.until(lambda: len(seen()) == 1000, 300)
    for number, task in enumerate(("reads/0", "writes/0", "reads/0")):
        os.kill(system.host_of("worker-1", task), signal.SIGKILL)
        with there.open("a") as file:
            file.writelines(f"more-{number}-{each}\n" for each in range(500))
        wanted = set(lines(there))
        # At least once: what was not confirmed comes again.
        system.until(lambda wanted=wanted: seen() == wanted, 300)  # type: ignore[misc]
    # Nothing was read again from the beginning: what came twice is what was on its way.
    assert len(lines(here)) < 2 * len(wanted)
