"""Spans of OTLP as rows."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

from connectors.telemetry.attributes import json_of
from connectors.telemetry.columns import JSON, LONG, SHARED, TIME, Item, Signal, hexadecimal
from connectors.telemetry.numbers import nanoseconds
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, Schema, Type, struct

_KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
_CODES = ("unset", "ok", "error")
_EVENT = struct([("time", TIME), ("name", STRING), ("attributes", JSON), ("dropped_attributes", LONG)])
_LINK = struct(
    [
        ("trace_id", OPTIONAL_STRING),
        ("span_id", OPTIONAL_STRING),
        ("trace_state", OPTIONAL_STRING),
        ("flags", LONG),
        ("attributes", JSON),
        ("dropped_attributes", LONG),
    ]
)
_SCHEMA = struct(
    [
        *SHARED,
        ("trace_id", OPTIONAL_STRING),
        ("span_id", OPTIONAL_STRING),
        ("parent_span_id", OPTIONAL_STRING),
        ("trace_state", OPTIONAL_STRING),
        ("flags", LONG),
        ("name", STRING),
        ("kind", STRING),
        ("start_time", TIME),
        ("end_time", TIME),
        ("duration_ns", Schema(Type.INT64, optional=True)),
        ("attributes", JSON),
        ("dropped_attributes", LONG),
        ("events", Schema(Type.ARRAY, items=_EVENT)),
        ("dropped_events", LONG),
        ("links", Schema(Type.ARRAY, items=_LINK)),
        ("dropped_links", LONG),
        ("status_code", STRING),
        ("status_message", OPTIONAL_STRING),
    ],
    name="span",
)


def _items(span: Any) -> Iterator[Item]:
    yield Item(partial(_row, span), span.ByteSize(), span.start_time_unix_nano)


def _row(span: Any) -> dict[str, object]:
    start, end = nanoseconds(span.start_time_unix_nano, "start_time"), nanoseconds(span.end_time_unix_nano, "end_time")
    return {
        "trace_id": hexadecimal(span.trace_id),
        "span_id": hexadecimal(span.span_id),
        "parent_span_id": hexadecimal(span.parent_span_id),
        "trace_state": span.trace_state or None,
        "flags": span.flags,
        "name": span.name,
        "kind": named(_KINDS, span.kind),
        "start_time": start,
        "end_time": end,
        "duration_ns": None if start is None or end is None else end - start,
        "attributes": json_of(span.attributes),
        "dropped_attributes": span.dropped_attributes_count,
        "events": [
            {
                "time": nanoseconds(event.time_unix_nano, "the time of an event"),
                "name": event.name,
                "attributes": json_of(event.attributes),
                "dropped_attributes": event.dropped_attributes_count,
            }
            for event in span.events
        ],
        "dropped_events": span.dropped_events_count,
        "links": [
            {
                "trace_id": hexadecimal(link.trace_id),
                "span_id": hexadecimal(link.span_id),
                "trace_state": link.trace_state or None,
                "flags": link.flags,
                "attributes": json_of(link.attributes),
                "dropped_attributes": link.dropped_attributes_count,
            }
            for link in span.links
        ],
        "dropped_links": span.dropped_links_count,
        "status_code": named(_CODES, span.status.code),
        "status_message": span.status.message or None,
    }


def named(names: tuple[str, ...], number: int) -> str:
    """The name of a number; of one that is not known here the number itself."""
    return names[number] if 0 <= number < len(names) else str(number)


SPANS = Signal(
    "span",
    _SCHEMA,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
    "rejected_spans",
    ("resource_spans", "scope_spans", "spans"),
    _items,
)
