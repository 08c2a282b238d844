"""Data points of OTLP's metrics as rows: one table for all kinds."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest, ExportMetricsServiceResponse

from connectors.telemetry.attributes import json_of
from connectors.telemetry.columns import (
    JSON,
    LONG,
    OPTIONAL_DOUBLE,
    OPTIONAL_INT,
    OPTIONAL_LONG,
    SHARED,
    TIME,
    Item,
    Signal,
    hexadecimal,
)
from connectors.telemetry.numbers import NOT_FINITE, Numbers, Unfit, nanoseconds, whole
from connectors.telemetry.spans import named
from rocketconnect_sdk.schema import OPTIONAL_STRING, STRING, Schema, Type, struct

_TEMPORALITIES = ("unspecified", "delta", "cumulative")
_COUNTS = Schema(Type.ARRAY, optional=True, items=LONG)
_QUANTILE = struct([("quantile", OPTIONAL_DOUBLE), ("value", OPTIONAL_DOUBLE)])
_EXEMPLAR = struct(
    [
        ("time", TIME),
        ("value", OPTIONAL_DOUBLE),
        ("value_int", OPTIONAL_LONG),
        ("trace_id", OPTIONAL_STRING),
        ("span_id", OPTIONAL_STRING),
        ("attributes", JSON),
    ]
)
_SCHEMA = struct(
    [
        *SHARED,
        ("name", STRING),
        ("description", OPTIONAL_STRING),
        ("unit", OPTIONAL_STRING),
        ("metadata", JSON),
        ("kind", STRING),
        ("temporality", OPTIONAL_STRING),
        ("monotonic", Schema(Type.BOOLEAN, optional=True)),
        ("attributes", JSON),
        ("start_time", TIME),
        ("time", TIME),
        ("flags", LONG),
        ("value", OPTIONAL_DOUBLE),
        ("value_int", OPTIONAL_LONG),
        ("count", OPTIONAL_LONG),
        ("sum", OPTIONAL_DOUBLE),
        ("min", OPTIONAL_DOUBLE),
        ("max", OPTIONAL_DOUBLE),
        ("bounds", Schema(Type.ARRAY, optional=True, items=OPTIONAL_DOUBLE)),
        ("bucket_counts", _COUNTS),
        ("scale", OPTIONAL_INT),
        ("zero_threshold", OPTIONAL_DOUBLE),
        ("zero_count", OPTIONAL_LONG),
        ("positive_offset", OPTIONAL_INT),
        ("positive_counts", _COUNTS),
        ("negative_offset", OPTIONAL_INT),
        ("negative_counts", _COUNTS),
        ("quantiles", Schema(Type.ARRAY, optional=True, items=_QUANTILE)),
        ("exemplars", Schema(Type.ARRAY, items=_EXEMPLAR)),
        ("not_finite", NOT_FINITE),
    ],
    name="data_point",
)
_OF_KINDS = dict.fromkeys(field.name for field in _SCHEMA.fields[len(SHARED) + 11 : -2])
"""The columns that only some kinds have, all null."""


def _items(metric: Any) -> Iterator[Item]:
    kind = metric.WhichOneof("data")
    if kind is None:
        yield Item(partial(_refuse, metric), metric.ByteSize(), 0)
        return
    data = getattr(metric, kind)
    size = metric.ByteSize() - data.ByteSize()
    for point in data.data_points:
        yield Item(partial(_row, metric, kind, data, point), size + point.ByteSize(), point.time_unix_nano)


def _refuse(metric: Any) -> dict[str, object]:
    msg = f"the metric {metric.name[:100]!r} has no data of a kind that is known here"
    raise Unfit(msg)


def _row(metric: Any, kind: str, data: Any, point: Any) -> dict[str, object]:
    numbers = Numbers()
    made = {
        "name": metric.name,
        "description": metric.description or None,
        "unit": metric.unit or None,
        "metadata": json_of(metric.metadata),
        "kind": kind,
        "temporality": None if kind in ("gauge", "summary") else named(_TEMPORALITIES, data.aggregation_temporality),
        "monotonic": data.is_monotonic if kind == "sum" else None,
        "attributes": json_of(point.attributes),
        "start_time": nanoseconds(point.start_time_unix_nano, "start_time"),
        "time": nanoseconds(point.time_unix_nano, "time"),
        "flags": point.flags,
        **_OF_KINDS,
        **_READERS[kind](point, numbers),
        "exemplars": [] if kind == "summary" else [_exemplar(number, each, numbers) for number, each in enumerate(point.exemplars)],
    }
    return {**made, "not_finite": numbers.not_finite}


def _number(point: Any, numbers: Numbers, place: str = "value") -> dict[str, object]:
    match point.WhichOneof("value"):
        case "as_int":
            return {"value": float(point.as_int), "value_int": point.as_int}
        case "as_double":
            return {"value": numbers.of(place, point.as_double), "value_int": None}
    return {"value": None, "value_int": None}


def _spread(point: Any, numbers: Numbers) -> dict[str, object]:
    """What both kinds of histograms have."""
    there = {name: numbers.of(name, getattr(point, name)) for name in ("sum", "min", "max") if point.HasField(name)}
    return {"count": whole(point.count, "count"), **there}


def _histogram(point: Any, numbers: Numbers) -> dict[str, object]:
    return {
        **_spread(point, numbers),
        "bounds": numbers.list_of("bounds", point.explicit_bounds),
        "bucket_counts": _counts(point.bucket_counts),
    }


def _exponential(point: Any, numbers: Numbers) -> dict[str, object]:
    return {
        **_spread(point, numbers),
        "scale": point.scale,
        "zero_threshold": numbers.of("zero_threshold", point.zero_threshold),
        "zero_count": whole(point.zero_count, "zero_count"),
        "positive_offset": point.positive.offset,
        "positive_counts": _counts(point.positive.bucket_counts),
        "negative_offset": point.negative.offset,
        "negative_counts": _counts(point.negative.bucket_counts),
    }


def _summary(point: Any, numbers: Numbers) -> dict[str, object]:
    quantiles = [
        {
            "quantile": numbers.of(f"quantiles.{number}.quantile", each.quantile),
            "value": numbers.of(f"quantiles.{number}.value", each.value),
        }
        for number, each in enumerate(point.quantile_values)
    ]
    return {"count": whole(point.count, "count"), "sum": numbers.of("sum", point.sum), "quantiles": quantiles}


_READERS = {"gauge": _number, "sum": _number, "histogram": _histogram, "exponential_histogram": _exponential, "summary": _summary}


def _counts(counts: Any) -> list[int]:
    return [whole(each, "the count of a bucket") for each in counts]


def _exemplar(number: int, exemplar: Any, numbers: Numbers) -> dict[str, object]:
    return {
        "time": nanoseconds(exemplar.time_unix_nano, "the time of an exemplar"),
        **_number(exemplar, numbers, f"exemplars.{number}.value"),
        "trace_id": hexadecimal(exemplar.trace_id),
        "span_id": hexadecimal(exemplar.span_id),
        "attributes": json_of(exemplar.filtered_attributes),
    }


POINTS = Signal(
    "data point",
    _SCHEMA,
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
    "rejected_data_points",
    ("resource_metrics", "scope_metrics", "metrics"),
    _items,
)
