"""RocketMQ's message trace: what Java clients and our sinks write is shown, as RocketMQ's own tool shows it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.embedded.rocketmq_jars import rocketmq_jars
from rocketmq_remoting import Client, PulledMessage
from services.executor.topics.traces import id_of
from tests.e2e.message_trace.java import compiled
from tests.processes import wait_until
from tests.rocketmq_admin import admin_tool
from tests.spoken import rc

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="session")
def java_clients(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    return compiled(tmp_path_factory.mktemp("java-traced"))


def traced(instance: Any, topic: str, *words: str) -> list[dict[str, Any]]:
    code, out, err = rc(instance.url, "topic", "trace", topic, *words, "-o", "json")
    assert code == 0, err
    found: list[dict[str, Any]] = json.loads(out)["messages"]
    return found


def test_what_traced_java_clients_do_with_a_message_is_shown_as_rocketmqs_own_tool_shows_it(
    instance: Any, java_clients: Callable[..., str], tmp_path: Path
) -> None:
    assert rc(instance.url, "topic", "create", "traced", "--queues", "1")[0] == 0
    said = java_clients(instance.ready["nameServer"], "traced", "order-1").split()
    assert said[0] == "TAKEN"
    message_id = said[1]

    # Brokers index what they store a moment later.
    wait_until(lambda: len((traced(instance, "traced", "--id", message_id) or [{}])[0].get("steps", [])) == 3, 60)
    (message,) = traced(instance, "traced", "--id", message_id)
    assert (message["messageId"], message["keys"], message["tags"]) == (message_id, "order-1 other", "tag")
    assert message["stored"]["queue"].startswith("traced/")
    assert int(message["stored"]["bytes"]) == len("traced")
    sent, first, second = message["steps"]
    assert (sent["kind"], sent["group"], sent["result"]) == ("TRACE_STEP_KIND_SENT", "traced_producer", "success")
    assert sent["storeHost"] == message["stored"]["storeHost"]
    assert sent["clientHost"] == message["stored"]["bornHost"].rpartition(":")[0]
    for step, result, retries in ((first, "failed", 0), (second, "success", 1)):
        assert (step["kind"], step["group"]) == ("TRACE_STEP_KIND_CONSUMED", "traced_consumer")
        assert (step["result"], step.get("retries", 0)) == (result, retries)
        assert "took" in step
    assert sent["time"] <= first["time"] <= second["time"]
    for word in ("order-1", "other"):
        assert traced(instance, "traced", "--key", word) == [message]
    assert traced(instance, "traced", "--key", "order-2") == []

    # A sink of ours gets the message, too.
    config = {"connector.class": "stdout", "topics": "traced", "engine": "native", "message.trace": "true"}
    instance.api.request("POST", "/v1/connectors", body={"name": "traced-out", "config": config})
    wait_until(lambda: len(traced(instance, "traced", "--id", message_id)[0]["steps"]) == 4, 120)
    ours = traced(instance, "traced", "--id", message_id)[0]["steps"][-1]
    assert (ours["kind"], ours["group"], ours["result"]) == ("TRACE_STEP_KIND_CONSUMED", "connect-traced-out", "success")
    instance.api.request("DELETE", "/v1/connectors/traced-out")

    # RocketMQ's own tool tells the same.
    shown = admin_tool(rocketmq_jars(), instance.ready["nameServer"], tmp_path, "queryMsgTraceById", "-i", message_id)
    lines = [line.split() for line in shown.splitlines() if line.startswith(("Pub", "Sub"))]
    assert sorted((line[0], line[1], line[2], line[-1]) for line in lines) == sorted(
        (kind, step["group"], step["clientHost"], step["result"])
        for kind, step in (("Pub", sent), ("Sub", first), ("Sub", second), ("Sub", ours))
    )

    code, out, _ = rc(instance.url, "topic", "trace", "traced", "--key", "order-1")
    assert code == 0
    assert [line.split()[2] for line in out.splitlines()[2:]] == ["sent", "consumed", "consumed", "consumed"]
    code, _, err = rc(instance.url, "topic", "trace", "traced", "--key", "order-1", "--trace-topic", "nobodys")
    assert code != 0
    assert "there is no trace topic 'nobodys'. Set traceTopicEnable=true" in err
    assert rc(instance.url, "topic", "trace", "traced")[0] == 2
    assert "there is no topic 'untraced'" in rc(instance.url, "topic", "trace", "untraced", "--key", "x")[2]


def test_what_our_source_has_sent_and_our_sink_has_got_is_shown_by_rocketmqs_own_tool(instance: Any, tmp_path: Path) -> None:
    lines = instance.folder / "traced.txt"
    lines.write_text("one\n")
    source = {"connector.class": "file_source", "topic": "traced-lines", "filename": str(lines)}
    sink = {"connector.class": "stdout", "topics": "traced-lines", "engine": "native"}
    for name, config in (("traced-from", source), ("traced-to", sink)):
        instance.api.request("POST", "/v1/connectors", body={"name": name, "config": {**config, "message.trace": "true"}})

    def sent() -> list[PulledMessage]:
        if not client.topic_exists("traced-lines"):
            return []
        return [message for queue in client.queues("traced-lines") for message in client.pull(queue, 0).messages]

    with Client(instance.ready["nameServer"]) as client:
        wait_until(lambda: bool(sent()), 120)
        (message_id,) = map(id_of, sent())
    wait_until(lambda: len((traced(instance, "traced-lines", "--id", message_id) or [{}])[0].get("steps", [])) == 2, 120)
    first, second = traced(instance, "traced-lines", "--id", message_id)[0]["steps"]
    assert [step["group"] for step in (first, second)] == ["connect-traced-from", "connect-traced-to"]
    shown = admin_tool(rocketmq_jars(), instance.ready["nameServer"], tmp_path, "queryMsgTraceById", "-i", message_id)
    lines_of = [line.split() for line in shown.splitlines() if line.startswith(("Pub", "Sub"))]
    assert [(line[0], line[1], line[-1]) for line in lines_of] == [
        ("Pub", "connect-traced-from", "success"),
        ("Sub", "connect-traced-to", "success"),
    ]
    for name in ("traced-to", "traced-from"):
        instance.api.request("DELETE", f"/v1/connectors/{name}")
