"""Between a real worker of Kafka Connect, a real instance, and clients of Kafka Connect."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
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


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An instance whose executors have Kafka's connectors of files, and a keystore."""
    folder = tmp_path_factory.mktemp("instance")
    keys = folder / "keys"
    assert rc("", "secret", "new-key", str(keys))[0] == 0
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ROCKETCONNECT_KEYSTORE_KEYS", str(keys))
        patched.setenv(VARIABLE, str(file_plugin(folder / "plugins")))
        patched.setenv(topology.SPARK_WARM, "false")
        stores.prepare(folder / "data")
        with running(folder / "data", drain=False) as ready:
            yield str(ready["rest"])


def until(condition: Callable[[], object], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s"
        time.sleep(0.5)


def said(url: str, *words: str) -> Any:
    """What a command says as JSON."""
    code, out, err = rc(url, *words, "-o", "json")
    assert code == 0, (out, err)
    return json.loads(out.splitlines()[-1])


def values(url: str, topic: str) -> list[str]:
    """Of all messages of a topic of one queue, in their order; none where there is no such topic."""
    names = {row["name"] for row in said(url, "topic", "list")["topics"]}
    return [each["record"]["value"] for each in said(url, "topic", "peek", topic, "-n", "100")["records"]] if topic in names else []


def test_our_connector_goes_on_behind_the_last_line_that_a_worker_of_kafka_connect_has_sent(tmp_path: Path, url: str) -> None:
    lines = tmp_path / "in.txt"
    lines.write_text("a\nb\nc\n")
    config = {"connector.class": "FileStreamSource", "file": str(lines), "topic": "lines.of.files", "value.converter": STRINGS}
    more = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1", "api.token": "hush"}

    with Kafka().running() as kafka, Connect(kafka.servers).running() as connect:
        connect.create("lines", {**config, **more})
        until(lambda: connect.offsets("lines"))
        code, out, err = rc(url, "import", "kafka-connect", connect.url)
        assert (code, "lines: is RUNNING in Kafka Connect" in err, "hush" in out + err) == (2, True, False), err
        connect.stop_connector("lines")
        until(lambda: connect.status("lines")["connector"]["state"] == "STOPPED" and not connect.status("lines")["tasks"])
        with lines.open("a") as file:
            file.write("d\ne\n")
        said(url, "import", "kafka-connect", connect.url, "--yes", "--start")
        again = said(url, "import", "kafka-connect", connect.url)["connectors"]
        assert [message.value() for message in kafka.read("lines.of.files")] == [b"a", b"b", b"c"]
    assert [each["exists"] for each in again] == [True]
    stored = said(url, "connector", "get", "lines")["config"]
    expected = {**config, "connector.class": SOURCE, "topic": "lines_of_files", "topic.queues": "1"}
    assert stored == {**expected, "api.token": "${keystore:lines.api.token}"}
    until(lambda: len(values(url, "lines_of_files")) >= 2)
    with lines.open("a") as file:
        file.write("f\n")
    until(lambda: "f" in values(url, "lines_of_files"))
    assert values(url, "lines_of_files") == ["d", "e", "f"]


def test_a_client_of_kafka_connect_makes_a_connector_moves_it_back_and_deletes_it(tmp_path: Path, url: str) -> None:
    lines = tmp_path / "in.txt"
    lines.write_text("a\nb\nc\n")
    config = {"connector.class": SOURCE, "file": str(lines), "topic": "faced", "topic.queues": "1", "value.converter": STRINGS}
    partition = {"filename": str(lines)}
    with httpx.Client(base_url=f"{url}/kafka-connect", timeout=600) as client:

        def offsets() -> object:
            return client.get("/connectors/faced/offsets").json()["offsets"]

        def is_stopped() -> bool:
            return bool(client.get("/connectors/faced/status").json()["connector"]["state"] == "STOPPED")

        wrong = client.put(
            f"/connector-plugins/{SOURCE}/config/validate", json={"connector.class": SOURCE, "batch.size": "many"}
        ).json()
        errors = {each["value"]["name"] for each in wrong["configs"] if each["value"]["errors"]}
        assert {"topic", "batch.size"} <= errors
        made = client.post("/connectors", json={"name": "faced", "config": {**config, "api.token": "hush"}})
        assert (made.status_code, "hush" in made.text) == (201, False), made.text
        assert made.json()["config"]["api.token"].startswith("${keystore:faced.api.token.")
        until(lambda: values(url, "faced") == ["a", "b", "c"])
        assert client.put("/connectors/faced/stop").status_code == 204
        until(is_stopped)
        until(lambda: offsets() == [{"partition": partition, "offset": {"position": 6}}])
        moved = client.patch("/connectors/faced/offsets", json={"offsets": [{"partition": partition, "offset": {"position": 2}}]})
        assert moved.status_code == 200, moved.text
        assert client.put("/connectors/faced/resume").status_code == 202
        until(lambda: len(values(url, "faced")) >= 5)
        assert values(url, "faced") == ["a", "b", "c", "b", "c"]
        assert client.delete("/connectors/faced").status_code == 204
        assert "faced" not in client.get("/connectors").json()
