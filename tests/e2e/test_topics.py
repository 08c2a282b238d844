"""Topics from the command line, at the broker of a running instance."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e
COMMAND = str(Path(sys.executable).with_name("rocketconnect"))
HANG_SECONDS = 90


def rc(instance: Any, *words: str) -> tuple[int, str, str]:
    command = [COMMAND, "topic", *words, "--url", instance.url]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert "Traceback" not in answer.stderr
    return answer.returncode, answer.stdout, answer.stderr


def test_a_topic_is_created_filled_listed_and_looked_at(instance: Any) -> None:
    code, out, err = rc(instance, "create", "looked-at", "--queues", "2")
    assert (code, out.strip(), err) == (0, "looked-at created with 2 queues", "")
    assert rc(instance, "create", "looked-at", "--queues", "2")[1].strip() == "looked-at is there already, with 2 queues"
    code, _, err = rc(instance, "create", "looked-at", "--queues", "3")
    assert code == 4
    assert "2 queues" in err
    assert rc(instance, "create", "%RETRY%x")[0] == 2
    assert rc(instance, "peek", "looked-at")[1].strip() == "There are no messages to show."

    source = instance.folder / "looked-at.txt"
    source.write_text("one\ntwo\nthree\n")
    config = {"connector.class": "file_source", "topic": "looked-at", "filename": str(source)}
    made = instance.api.request("POST", "/v1/connectors", body={"name": "looked-at", "config": config})["connector"]
    command = [COMMAND, "topic", "tail", "looked-at", "--offset", "0", "-o", "json", "--url", instance.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tail:
        hang = threading.Timer(HANG_SECONDS, tail.kill)
        hang.start()
        assert tail.stdout is not None
        first = [json.loads(tail.stdout.readline()) for _ in range(3)]
        with source.open("a") as file:
            file.write("four\n")
        fourth = json.loads(tail.stdout.readline())
        tail.send_signal(signal.SIGINT)
        assert tail.wait(HANG_SECONDS) == 0
        hang.cancel()
    assert [record["record"]["value"] for record in (*first, fourth)] == ["one", "two", "three", "four"]
    assert {record["source"]["connectorUid"] for record in (*first, fourth)} == {made["uid"]}

    code, out, err = rc(instance, "peek", "looked-at", "-n", "1")
    assert (code, err) == (0, "")
    assert "four" in out
    assert "one" not in out
    assert f"from connector {made['uid']}" in out
    code, out, _ = rc(instance, "peek", "looked-at", "-c", "json", "-o", "json", "--since", "1h")
    assert code == 0
    assert {record["body"] for record in json.loads(out)["records"]} == {"one", "two", "three", "four"}
    assert rc(instance, "peek", "looked-at", "-c", "jsn")[0] == 2
    assert rc(instance, "peek", "nobody-made-this")[0] == 3

    topics = {row["name"]: row for row in json.loads(rc(instance, "list", "-o", "json")[1])["topics"]}
    assert sum(int(queue.get("latest", 0)) for queue in topics["looked-at"]["queues"]) == 4
    assert not any(name.startswith(("%", "rmq_sys", "RMQ_SYS", "TBW102")) for name in topics)
    assert "rmq_sys_" in rc(instance, "list", "--all")[1].casefold()
    instance.api.request("DELETE", "/v1/connectors/looked-at")
