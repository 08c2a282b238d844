"""What records become in MQTT, and what a broker refuses."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from connectors.mqtt.sink import MqttSink
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConfigError, RecordRefused, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from tests.servers.mqtt.mosquitto import Mosquitto

QUEUE = "orders/b/0"


def write(
    broker: Mosquitto, values: Sequence[object], keys: Sequence[object] | None = None, headers: Any = None, **given: str
) -> dict[int, str]:
    """Writes a batch as the runtime does; returns what was refused."""
    sink = MqttSink()
    config = parse(sink.options, {"url": broker.url, **{key.replace("_", "."): value for key, value in given.items()}})
    task = sink.open(config, {}, TaskContext())
    task.start()
    batch = SinkBatch(QUEUE, "orders", values, range(len(values)), keys, None, headers)
    commit = SinkCommit("test", 0, 1, {QUEUE: QueuePosition(0)}, {QUEUE: QueuePosition(len(values))}, len(values), "token")
    refused: dict[int, str] = {}
    try:
        receipts: Any = [task.writer().stage(batch, "part")]
    except RecordRefused as error:
        refused, receipts = error.refused, [error.receipt]
    try:
        task.commit(receipts, commit)
    except RecordRefused as error:
        refused |= error.refused
    task.close()
    return refused


def test_topics_and_properties_are_made_of_the_record_and_one_that_can_not_be_is_refused_alone(broker: Mosquitto) -> None:
    with broker.listening(f"{broker.root}/#", whole=True) as seen:
        refused = write(
            broker,
            ['{"id":1}', '{"id":2}', '{"id":3}', "no fields"],
            ["a", "b/+", "c", "d"],
            [{"trace": "t1"}, {"trace": "t2"}, {"trace": "x" * 70_000}, {"trace": "t4"}],
            target_topic=f"{broker.root}/${{key}}/${{value.id}}",
            user_properties="trace=${header.trace},id=${key}",
            content_type="application/json",
            message_expiry="100s",
            retain="true",
        )
        broker.settle(f"{broker.root}/end", seen)
    assert sorted(refused) == [1, 2, 3]
    assert "has a + or a #" in refused[1]
    assert "more than the 65,535 bytes" in refused[2]
    (message, _) = seen
    assert (message.topic, message.payload) == (f"{broker.root}/a/1", b'{"id":1}')
    assert message.properties.UserProperty == [("trace", "t1"), ("id", "a")]
    assert message.properties.ContentType == "application/json"
    with broker.listening(f"{broker.root}/#", whole=True) as seen:
        broker.settle(f"{broker.root}/end", seen)
    assert (seen[0].payload, seen[0].retain) == (b'{"id":1}', True)


def test_what_the_broker_refuses_is_refused_alone(tmp_path: Path) -> None:
    rights = tmp_path / "rights"
    rights.write_text("topic readwrite may/#\n")
    with Mosquitto(("allow_anonymous true", f"acl_file {rights}", "max_packet_size 10000")).running() as broker:
        for qos in ("1", "2"):
            with broker.listening("may/#") as seen:
                refused = write(
                    broker, ["a", "b", "x" * 20_000, "c"], ["may", "not", "may", "may"], target_topic="${key}/x", qos=qos
                )
                broker.settle("may/end", seen)
            assert seen == ["a", "c", "end"]
            assert refused == {
                1: "the broker does not let us do this (0x87)",
                2: "it takes 20,014 bytes, and the broker allows 10,000",
            }


def test_all_problems_are_told_and_a_broker_that_is_away_is_waited_for(broker: Mosquitto) -> None:
    def problems(given: Mapping[str, str]) -> set[str]:
        sink = MqttSink()
        try:
            return {each.key for each in sink.check(parse(sink.options, given))}
        except ConfigError as error:
            return {each.key for each in error.problems}

    assert problems({"url": broker.url}) == set()
    assert problems({"url": "http://h", "target.topic": "${x}", "user.properties": "a"}) == {
        "url",
        "target.topic",
        "user.properties",
    }
    assert problems({"url": broker.url, "version": "3.1.1", "content.type": "x", "qos": "0"}) == {"content.type", "qos"}
    assert problems({"url": "mqtt://localhost:1"}) == {"url"}
    sink = MqttSink()
    with pytest.raises(SystemAway, match="does not answer"):
        sink.open(parse(sink.options, {"url": "mqtt://localhost:1"}), {}, TaskContext()).start()
