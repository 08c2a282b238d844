"""A connector is taken over from a real worker of Kafka Connect: what that has sent does not come again, and all else does."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.instance import topology
from rocketconnect_cli.instance.running import running
from rocketconnect_sdk.plugins.kafka import VARIABLE
from tests import stores
from tests.connectors.kafka_connect.installed import SOURCE, file_plugin
from tests.servers.kafka.broker import Kafka
from tests.servers.kafka.connect import STRINGS, Connect
from tests.spoken import rc

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An instance whose executors have Kafka's connectors of files, and a keystore."""
    keys = tmp_path / "keys"
    assert rc("", "secret", "new-key", str(keys))[0] == 0
    monkeypatch.setenv("ROCKETCONNECT_KEYSTORE_KEYS", str(keys))
    monkeypatch.setenv(VARIABLE, str(file_plugin(tmp_path / "plugins")))
    monkeypatch.setenv(topology.SPARK_WARM, "false")
    stores.prepare(tmp_path / "data")
    with running(tmp_path / "data", drain=False) as ready:
        yield str(ready["rest"])


def until(condition: Callable[[], object], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s"
        time.sleep(0.5)


def test_our_connector_goes_on_behind_the_last_line_that_a_worker_of_kafka_connect_has_sent(tmp_path: Path, url: str) -> None:
    lines = tmp_path / "in.txt"
    lines.write_text("a\nb\nc\n")
    config = {"connector.class": "FileStreamSource", "file": str(lines), "topic": "lines.of.files", "value.converter": STRINGS}
    more = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1", "api.token": "hush"}

    def ours(*words: str) -> Any:
        code, out, err = rc(url, *words, "-o", "json")
        assert code == 0, (out, err)
        return json.loads(out.splitlines()[-1])

    def values() -> list[str]:
        names = {row["name"] for row in ours("topic", "list")["topics"]}
        peeked = ours("topic", "peek", "lines_of_files", "-n", "100")["records"] if "lines_of_files" in names else []
        return [each["record"]["value"] for each in peeked]

    with Kafka().running() as kafka, Connect(kafka.servers).running() as connect:
        connect.create("lines", {**config, **more})
        until(lambda: connect.offsets("lines"))
        code, out, err = rc(url, "import", "kafka-connect", connect.url)
        assert (code, "lines: is RUNNING in Kafka Connect" in err, "hush" in out + err) == (2, True, False), err
        connect.stop_connector("lines")
        until(lambda: connect.status("lines")["connector"]["state"] == "STOPPED" and not connect.status("lines")["tasks"])
        with lines.open("a") as file:
            file.write("d\ne\n")
        ours("import", "kafka-connect", connect.url, "--yes", "--start")
        again = ours("import", "kafka-connect", connect.url)["connectors"]
        assert [message.value() for message in kafka.read("lines.of.files")] == [b"a", b"b", b"c"]
    assert [each["exists"] for each in again] == [True]
    stored = ours("connector", "get", "lines")["config"]
    expected = {**config, "connector.class": SOURCE, "topic": "lines_of_files", "topic.queues": "1"}
    assert stored == {**expected, "api.token": "${keystore:lines.api.token}"}
    until(lambda: len(values()) >= 2)
    with lines.open("a") as file:
        file.write("f\n")
    until(lambda: "f" in values())
    assert values() == ["d", "e", "f"]
