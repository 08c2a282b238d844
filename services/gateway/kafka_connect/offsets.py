"""Positions as the offsets of Kafka Connect, and back. Pure.

The offset of a source of Kafka Connect is its own map, as it is there. That of another source is {"offset": [17], "resume": {...}}
of the partition {"partition": NAME}. A sink's is {"kafka_offset": 17} of the queue {"kafka_topic": TOPIC, "kafka_partition": 3,
"broker": "broker-0"}: queues of one topic on two brokers may have one number.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rocketconnect.record.v1 import record_pb2

from rocketconnect_kit.errors import FieldProblem
from rocketconnect_sdk.plugins.kafka_names import BROUGHT, OFFSET, partition_name, partition_of
from services.gateway.problems import Problem, RequestRejected, malformed

Json = dict[str, Any]
_RUNTIMES = "~"
"""Begins the rows that the runtime keeps for itself."""
_TOPIC, _QUEUE, _BROKER, _NEXT = "kafka_topic", "kafka_partition", "broker", "kafka_offset"
_FIX = 'send {"offsets": [{"partition": {...}, "offset": {...}}]} as GET gives it; an offset of null forgets the position'


def own(positions: Iterable[record_pb2.Position]) -> list[record_pb2.Position]:
    """Return those that a connector knows of."""
    return [each for each in positions if not each.partition.startswith(_RUNTIMES)]


def offsets(positions: Iterable[record_pb2.Position], *, sink: bool) -> Json:
    """Return ConnectorOffsets."""
    return {"offsets": [_of_queue(each) if sink else _of_source(each) for each in own(positions)]}


def positions(body: Any, there: Sequence[record_pb2.Position], *, sink: bool) -> tuple[list[record_pb2.Position], list[str]]:
    """Return the positions that a body asks for, and the partitions that are to be forgotten.

    Args:
        body: Of PATCH, parsed.
        there: The positions that the connector has.
        sink: Whether it is one.

    Raises:
        RequestRejected: 400, with all that is wrong.
    """
    given = body.get("offsets") if isinstance(body, dict) else None
    if not isinstance(given, list) or not given:
        raise malformed("OFFSETS_MISSING", f"the body has no offsets; {_FIX}")
    moved: dict[str, record_pb2.Position | None] = {}
    problems: list[FieldProblem] = []
    for number, each in enumerate(given):
        try:
            position = _to_queue(each, there) if sink else _to_source(each, there)
            wrong = "is given twice" if position.partition in moved else ""
            moved[position.partition] = None if each["offset"] is None else position
        except (AttributeError, KeyError, TypeError):
            wrong = "has no partition and offset as this connector has them"
        except ValueError as error:
            wrong = str(error)
        if wrong:
            problems.append(FieldProblem(f"offsets[{number}]", "", wrong, _FIX))
    if problems:
        raise RequestRejected(Problem(400, "OFFSETS_INVALID", "; ".join(map(str, problems)), problems))
    return [each for each in moved.values() if each], [name for name, each in moved.items() if each is None]


def _of_source(position: record_pb2.Position) -> Json:
    resume = _object(position.resume)
    partition = partition_of(position.partition)
    if partition is not None and OFFSET in resume:
        return {"partition": partition, "offset": resume[OFFSET]}
    beside = {"resume": resume} if resume else {}
    return {"partition": {"partition": position.partition}, "offset": {"offset": json.loads(position.offset), **beside}}


def _of_queue(position: record_pb2.Position) -> Json:
    topic, broker, queue = _parts(position.partition)
    place = {_TOPIC: topic, _QUEUE: queue, _BROKER: broker}
    return {"partition": place, "offset": {_NEXT: json.loads(position.offset)[0]}}


def _to_source(given: Json, there: Sequence[record_pb2.Position]) -> record_pb2.Position:
    partition, offset = given["partition"], given["offset"]
    if offset is not None and not isinstance(offset, dict):
        raise TypeError
    if _is_ours(partition, offset, there):
        told = offset or {}
        resume = json.dumps(told["resume"]) if told.get("resume") else ""
        numbers = json.dumps(told.get("offset"), separators=(",", ":"))
        return record_pb2.Position(partition=partition["partition"], offset=numbers, resume=resume)
    if not isinstance(partition, dict):
        raise TypeError
    return record_pb2.Position(partition=partition_name(partition), offset=BROUGHT, resume=json.dumps({OFFSET: offset}))


def _is_ours(partition: Json, offset: Json | None, there: Sequence[record_pb2.Position]) -> bool:
    """Whether it is of a source of our own: one of Kafka Connect may call a part of its partitions so, too."""
    name = partition["partition"] if list(partition) == ["partition"] else None
    if not isinstance(name, str):
        return False
    return any(name == each.partition for each in there) or isinstance((offset or {}).get("offset"), list)


def _to_queue(given: Json, there: Sequence[record_pb2.Position]) -> record_pb2.Position:
    partition, offset = given["partition"], given["offset"]
    topic, queue, broker = partition[_TOPIC], _whole(partition[_QUEUE]), partition.get(_BROKER)
    if not isinstance(topic, str) or not isinstance(broker, str | None):
        raise TypeError
    if broker is None:
        found = sorted({_parts(each.partition)[1] for each in there if _parts(each.partition)[::2] == (topic, queue)})
        if len(found) != 1:
            which = f"is on {', '.join(found)}" if found else "has no position yet"
            msg = f"queue {queue} of {topic} {which}: name its broker"
            raise ValueError(msg)
        (broker,) = found
    place = "" if offset is None else f"[{_whole(offset[_NEXT])}]"
    return record_pb2.Position(partition=f"{topic}/{broker}/{queue}", offset=place)


def _whole(given: Any) -> int:
    """A number as it is meant: half a message, or the truth, is none."""
    if isinstance(given, bool) or not isinstance(given, int | str):
        raise TypeError
    return int(given)


def _parts(partition: str) -> tuple[str, str, int]:
    topic, broker, queue = partition.rsplit("/", 2)
    return topic, broker, int(queue)


def _object(text: str) -> Json:
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
