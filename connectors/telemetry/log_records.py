"""Log records of OTLP as rows."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse

from connectors.telemetry.attributes import json_of, json_of_value
from connectors.telemetry.columns import JSON, LONG, OPTIONAL_INT, SHARED, TIME, Item, Signal, hexadecimal
from connectors.telemetry.numbers import nanoseconds
from rocketconnect_sdk.schema import OPTIONAL_STRING, struct

_SCHEMA = struct(
    [
        *SHARED,
        ("time", TIME),
        ("observed_time", TIME),
        ("severity_number", OPTIONAL_INT),
        ("severity_text", OPTIONAL_STRING),
        ("event_name", OPTIONAL_STRING),
        ("body", OPTIONAL_STRING),
        ("body_json", JSON),
        ("attributes", JSON),
        ("dropped_attributes", LONG),
        ("flags", LONG),
        ("trace_id", OPTIONAL_STRING),
        ("span_id", OPTIONAL_STRING),
    ],
    name="log_record",
)


def _items(record: Any) -> Iterator[Item]:
    yield Item(partial(_row, record), record.ByteSize(), record.time_unix_nano or record.observed_time_unix_nano)


def _row(record: Any) -> dict[str, object]:
    kind = record.body.WhichOneof("value")
    return {
        "time": nanoseconds(record.time_unix_nano, "time"),
        "observed_time": nanoseconds(record.observed_time_unix_nano, "observed_time"),
        "severity_number": record.severity_number or None,
        "severity_text": record.severity_text or None,
        "event_name": record.event_name or None,
        "body": record.body.string_value if kind == "string_value" else None,
        "body_json": json_of_value(record.body) if kind not in (None, "string_value") else None,
        "attributes": json_of(record.attributes),
        "dropped_attributes": record.dropped_attributes_count,
        "flags": record.flags,
        "trace_id": hexadecimal(record.trace_id),
        "span_id": hexadecimal(record.span_id),
    }


LOG_RECORDS = Signal(
    "log record",
    _SCHEMA,
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
    "rejected_log_records",
    ("resource_logs", "scope_logs", "log_records"),
    _items,
)
