"""Decodes what brokers tell of themselves, of topics, consumer groups and clients."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rocketmq_remoting.model import (
    ConsumerStatus,
    Counted,
    GroupConnection,
    GroupConnections,
    GroupProgress,
    MessageQueue,
    QueueEnds,
    QueueProgress,
)
from rocketmq_remoting.protocol.answers import reading

if TYPE_CHECKING:
    from collections.abc import Mapping

_DECODER = json.JSONDecoder()


def decode_runtime(body: bytes) -> dict[str, str]:
    """Decode what a broker says of itself: texts by name."""
    with reading("what the broker says of itself"):
        return {str(k): str(v) for k, v in _object(body)["table"].items()}


def decode_topics(body: bytes) -> list[str]:
    """Decode the configurations of all topics of a broker: their names, sorted."""
    with reading("the topics of the broker"):
        return sorted(map(str, _object(body)["topicConfigTable"]))


def decode_ends(body: bytes) -> dict[MessageQueue, QueueEnds]:
    """Decode where the queues of a topic begin and end."""
    with reading("the offsets of the topic"):
        _, table = _by_queue(body)
        return {_queue(key): QueueEnds(int(value["minOffset"]), int(value["maxOffset"])) for key, value in table}


def decode_groups(body: bytes) -> list[str]:
    """Decode a list of consumer groups, sorted."""
    with reading("the list of consumer groups"):
        return sorted(map(str, _object(body)["groupList"]))


def decode_connections(body: bytes) -> GroupConnections:
    """Decode who is connected for a consumer group."""
    with reading("the connections of the consumer group"):
        parsed = _object(body)
        found = [GroupConnection(str(each["clientAddr"]), str(each["clientId"])) for each in parsed["connectionSet"]]
        ordered = tuple(sorted(found, key=lambda each: (each.client_id, each.address)))
        return GroupConnections(ordered, broadcasting=parsed.get("messageModel") == "BROADCASTING")


def decode_progress(body: bytes) -> GroupProgress:
    """Decode how far a consumer group is."""
    with reading("the progress of the consumer group"):
        rest, table = _by_queue(body)
        queues = {_queue(key): QueueProgress(int(value["brokerOffset"]), int(value["consumerOffset"])) for key, value in table}
        return GroupProgress(queues, float(rest.get("consumeTps") or 0.0))


def decode_producers(body: bytes) -> dict[str, int]:
    """Decode all producers of a broker: how many connections each group has."""
    with reading("the producers"):
        return {str(group): len(each or ()) for group, each in _object(body)["data"].items()}


def decode_counted(body: bytes) -> Counted:
    """Decode what a broker has counted, in the last minute."""
    with reading("what the broker has counted"):
        minute = _object(body)["statsMinute"]
        return Counted(float(minute["sum"]), float(minute["tps"]))


def decode_status(body: bytes) -> dict[str, ConsumerStatus]:
    """Decode what a consumer says of itself: by topic."""
    with reading("what the consumer says of itself"):
        table = _part(body.decode(), "statusTable")
        return {
            str(topic): ConsumerStatus(
                failed=int(each["consumeFailedMsgs"]),
                failed_per_second=float(each["consumeFailedTPS"]),
                consumed_per_second=float(each["consumeOKTPS"]),
                consume_ms=float(each["consumeRT"]),
                pulled_per_second=float(each["pullTPS"]),
                pull_ms=float(each["pullRT"]),
            )
            for topic, each in table.items()
        }


def _object(body: bytes) -> Mapping[str, Any]:
    parsed: Mapping[str, Any] = json.loads(body)
    return parsed


def _part(text: str, name: str) -> Mapping[str, Any]:
    """What stands under a name, in a text that need not be JSON as a whole: other maps in it may have objects as keys."""
    at = text.index(f'"{name}":') + len(name) + 3
    found: Mapping[str, Any] = _DECODER.raw_decode(text, at)[0]
    return found


def _by_queue(body: bytes) -> tuple[Mapping[str, Any], list[tuple[Any, Any]]]:
    """Decode an object with a map `offsetTable` by queue, whose keys are objects: not what JSON allows.

    Returns:
        The object without that map; the keys and values of the map.
    """
    text, name = body.decode(), '"offsetTable":'
    begins = text.index(name) + len(name)
    at = begins + 1 if text[begins + 1] == "}" else begins
    found = []
    while text[at] != "}":
        # Over the brace in front of the first one, or the comma between two; then over the colon.
        key, at = _DECODER.raw_decode(text, at + 1)
        value, at = _DECODER.raw_decode(text, at + 1)
        found.append((key, value))
    return json.loads(f"{text[:begins]}null{text[at + 1 :]}"), found


def _queue(key: Mapping[str, Any]) -> MessageQueue:
    return MessageQueue(str(key["topic"]), str(key["brokerName"]), int(key["queueId"]))
