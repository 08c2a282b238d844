"""A connector is taken over from a real worker of Kafka Connect: what that has sent does not come again, and all else does."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.imports.plan import Wish, plan
from rocketconnect_cli.imports.worker import Worker
from tests.connectors.kafka_connect.installed import SOURCE, file_plugin
from tests.servers.kafka.broker import Kafka
from tests.servers.kafka.connect import STRINGS, Connect

pytestmark = pytest.mark.slow


def ours(plugins: Path, **order: object) -> Any:
    """What our connector does in a process of its own; see child.py."""
    command = [sys.executable, "-m", "tests.connectors.kafka_connect.child", json.dumps(order)]
    environment = {**os.environ, "ROCKETCONNECT_KAFKA_PLUGINS": str(plugins)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_our_connector_goes_on_behind_the_last_line_that_a_worker_of_kafka_connect_has_sent(tmp_path: Path) -> None:
    lines = tmp_path / "in.txt"
    lines.write_text("a\nb\nc\n")
    config = {"connector.class": "FileStreamSource", "file": str(lines), "topic": "lines.of.files", "value.converter": STRINGS}
    made = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
    with Kafka().running() as kafka, Connect(kafka.servers).running() as connect:
        connect.create("lines", {**config, **made})
        while not connect.offsets("lines"):
            time.sleep(1)
        connect.stop_connector("lines")
        while connect.status("lines")["connector"]["state"] != "STOPPED" or connect.status("lines")["tasks"]:
            time.sleep(1)
        with Worker(connect.url) as worker:
            version = worker.version()
            found = list(worker.connectors(version))
        assert [message.value() for message in kafka.read("lines.of.files")] == [b"a", b"b", b"c"]
    with lines.open("a") as file:
        file.write("d\ne\n")
    (step,), problems = plan(found, Wish(), connect.url, version, [{"name": SOURCE}], {}, {})
    assert problems == []
    assert step.made.config == {**config, "connector.class": SOURCE, "topic": "lines_of_files", "topic.queues": "1"}
    positions = {each["partition"]: (json.loads(each["offset"]), json.loads(each["resume"])) for each in step.positions}
    batches = ours(file_plugin(tmp_path / "plugins"), do="source", config=step.made.config, records=2, positions=positions)
    assert [value for batch in batches for value in batch["values"]] == ["d", "e"]
