"""Topics and what is in them, from and to messages of the proto. Pure."""

import json
from collections.abc import Mapping

from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.topic.v1 import topic_service_pb2 as pb

from services.executor import wire
from services.executor.contract.answers import Peeked, PeekedRecord
from services.executor.contract.questions import AtOffset, AtPlaces, AtTime
from services.executor.runtime.rocketmq.queue_names import text
from services.executor.topics.steps import Step
from services.executor.topics.traces import Trace

_END_OF_TIME_MS = 253_402_300_800_000
"""The year 10,000, which no timestamp reaches; others write what they like into a trace."""


def start(request: pb.PeekTopicRequest) -> AtOffset | AtTime | AtPlaces | None:
    """Return where a request begins."""
    match request.WhichOneof("start"):
        case "offset":
            return AtOffset(request.offset)
        case "since":
            return AtTime(request.since.ToMilliseconds())
        case "places":
            return AtPlaces(dict(request.places.offsets))
        case _:
            return None


def topic(name: str, ends: Mapping[str, tuple[int, int]], *, internal: bool, trouble: str = "") -> pb.Topic:
    """Return a topic with its queues."""
    queues = [pb.QueueEnds(queue=queue, earliest=earliest, latest=latest) for queue, (earliest, latest) in ends.items()]
    return pb.Topic(name=name, queues=queues, internal=internal, trouble=trouble)


def peeked(value: Peeked) -> pb.PeekTopicResponse:
    """Return what was seen."""
    return pb.PeekTopicResponse(
        problems=[
            connectors.Problem(key=found.key, value=found.value, reason=found.reason, fix=found.fix) for found in value.problems
        ],
        records=map(_record, value.records),
        next=pb.Places(offsets=value.next),
        trouble=value.trouble,
    )


def traced(value: Trace) -> pb.MessageTrace:
    """Return what is known of a message."""
    found = pb.MessageTrace(message_id=value.message_id, keys=value.keys, tags=value.tags, steps=map(_step, value.steps))
    if value.stored is not None:
        message = value.stored
        found.stored.queue, found.stored.offset = text(message.queue), message.queue_offset
        found.stored.store_time.FromMilliseconds(message.store_timestamp_ms)
        found.stored.store_host, found.stored.born_host = message.store_host, message.born_host
        found.stored.bytes = len(message.body)
    return found


def _step(value: Step) -> pb.TraceStep:
    found = pb.TraceStep(
        kind=pb.TraceStepKind.Value(f"TRACE_STEP_KIND_{value.kind}"),
        group=value.group,
        client_host=value.client_host,
        result=value.result,
        retries=value.retries,
        store_host=value.store_host,
        message_type=value.message_type,
    )
    if 0 < value.time_ms < _END_OF_TIME_MS:
        found.time.FromMilliseconds(value.time_ms)
    if value.took_ms is not None:
        found.took.FromMilliseconds(value.took_ms)
    return found


def _record(value: PeekedRecord) -> pb.TopicRecord:
    stored = Timestamp()
    stored.FromMilliseconds(value.stored_ms)
    found = pb.TopicRecord(
        queue=value.queue,
        offset=value.offset,
        row=value.row,
        rows=value.rows,
        store_time=stored,
        bytes=value.bytes,
        problem=value.problem,
        body=value.body,
        properties=value.properties,
    )
    if value.record is not None:
        wire.show(value.record, found.record)
    if value.source is not None:
        uid, epoch, partition, incarnation, offset = value.source
        found.source.connector_uid, found.source.epoch, found.source.partition = uid, epoch, partition
        found.source.incarnation, found.source.offset = incarnation, json.dumps(offset, separators=(",", ":"))
    return found
