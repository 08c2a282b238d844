"""Decodes what brokers tell of themselves, of topics, consumer groups and clients."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from rocketmq_remoting.errors import ProtocolError
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

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")
_DECODER = json.JSONDecoder()


def decode_runtime(body: bytes) -> dict[str, str]:
    """Decode what a broker says of itself: texts by name."""
    return _read("what the broker says of itself", lambda: {str(k): str(v) for k, v in _object(body)["table"].items()})


def decode_topics(body: bytes) -> list[str]:
    """Decode the configurations of all topics of a broker: their names, sorted."""
    return _read("the topics of the broker", lambda: sorted(map(str, _object(body)["topicConfigTable"])))


def decode_ends(body: bytes) -> dict[MessageQueue, QueueEnds]:
    """Decode where the queues of a topic begin and end."""

    def read() -> dict[MessageQueue, QueueEnds]:
        _, table = _by_queue(body)
        return {_queue(key): QueueEnds(int(value["minOffset"]), int(value["maxOffset"])) for key, value in table}

    return _read("the offsets of the topic", read)


def decode_groups(body: bytes) -> list[str]:
    """Decode a list of consumer groups, sorted."""
    return _read("the list of consumer groups", lambda: sorted(map(str, _object(body)["groupList"])))


def decode_connections(body: bytes) -> GroupConnections:
    """Decode who is connected for a consumer group."""

    def read() -> GroupConnections:
        parsed = _object(body)
        found = [GroupConnection(str(each["clientAddr"]), str(each["clientId"])) for each in parsed["connectionSet"]]
        ordered = tuple(sorted(found, key=lambda each: (each.client_id, each.address)))
        return GroupConnections(ordered, broadcasting=parsed.get("messageModel") == "BROADCASTING")

    return _read("the connections of the consumer group", read)


def decode_progress(body: bytes) -> GroupProgress:
    """Decode how far a consumer group is."""

    def read() -> GroupProgress:
        rest, table = _by_queue(body)
        queues = {_queue(key): QueueProgress(int(value["brokerOffset"]), int(value["consumerOffset"])) for key, value in table}
        return GroupProgress(queues, float(rest.get("consumeTps") or 0.0))

    return _read("the progress of the consumer group", read)


def decode_producers(body: bytes) -> dict[str, int]:
    """Decode all producers of a broker: how many connections each group has."""
    return _read("the producers", lambda: {str(group): len(each or ()) for group, each in _object(body)["data"].items()})


def decode_counted(body: bytes) -> Counted:
    """Decode what a broker has counted, in the last minute."""

    def read() -> Counted:
        minute = _object(body)["statsMinute"]
        return Counted(float(minute["sum"]), float(minute["tps"]))

    return _read("what the broker has counted", read)


def decode_status(body: bytes) -> dict[str, ConsumerStatus]:
    """Decode what a consumer says of itself: by topic."""

    def read() -> dict[str, ConsumerStatus]:
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

    return _read("what the consumer says of itself", read)


def _read(of: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        msg = f"{of}: the answer lacks or garbles {error}"
        raise ProtocolError(msg) from error


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
