"""Telemetry in OTLP becomes rows, and its senders are answered in their own form."""

import gzip
import json
import math
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest, ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList

from connectors.http.webhook_source import WebhookSource
from rocketconnect_sdk.options import parse
from tests.connectors.telemetry.receiving import receiving

PROTOBUF, JSON = "application/x-protobuf", "application/json"
PATHS = "/v1/traces=spans,/v1/metrics=points,/v1/logs=logs,/a/v1/logs=others"
START = 1_700_000_000_123_456_789
TRACE, SPAN, PARENT = bytes(range(16)), b"\x01" * 8, b"\xfe" * 8


def of(key: str, **value: Any) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(**value))


def spans(*names: str) -> ExportTraceServiceRequest:
    made = ExportTraceServiceRequest()
    of_resource = made.resource_spans.add(schema_url="https://r")
    of_resource.resource.attributes.append(of("service.name", string_value="shop"))
    of_scope = of_resource.scope_spans.add()
    of_scope.scope.name, of_scope.scope.version = "lib", "1.2"
    for name in names:
        of_scope.spans.add(name=name, trace_id=TRACE, span_id=SPAN, start_time_unix_nano=START, end_time_unix_nano=START + 5)
    return made


def only_span(made: ExportTraceServiceRequest) -> Any:
    return made.resource_spans[0].scope_spans[0].spans[0]


def points() -> tuple[ExportMetricsServiceRequest, Any]:
    made = ExportMetricsServiceRequest()
    return made, made.resource_metrics.add().scope_metrics.add().metrics


def test_a_span_is_a_row_with_all_that_it_has() -> None:
    made = spans("GET /")
    span = only_span(made)
    span.parent_span_id, span.kind, span.trace_state, span.flags = PARENT, 2, "a=b", 257
    deep = KeyValueList(values=[of("in", array_value=ArrayValue(values=[AnyValue(int_value=1 << 62), AnyValue()]))])
    span.attributes.extend(
        [
            of("text", string_value="ü"),
            of("whole", int_value=-(1 << 63)),
            of("is", bool_value=True),
            of("number", double_value=0.5),
            of("none", double_value=math.nan),
            of("bytes", bytes_value=b"\x00\xff"),
            of("deep", kvlist_value=deep),
        ]
    )
    event = span.events.add(time_unix_nano=START + 1, name="exception", dropped_attributes_count=2)
    event.attributes.append(of("exception.type", string_value="E"))
    span.links.add(trace_id=TRACE, span_id=PARENT, trace_state="c=d")
    span.status.code, span.status.message = 2, "failed"
    with receiving(value_format="otlp", paths=PATHS, key="${value.trace_id}") as made_here:
        status, body, headers = made_here.post(made.SerializeToString(), "/v1/traces", PROTOBUF)
        assert (status, body, headers["content-type"]) == (200, b"", PROTOBUF)
    (row,) = made_here.rows
    attributes = json.loads(row.pop("attributes"))
    assert attributes == {
        "text": "ü",
        "whole": -(1 << 63),
        "is": True,
        "number": 0.5,
        "none": "NaN",
        "bytes": "AP8=",
        "deep": {"in": [1 << 62, None]},
    }
    assert row == {
        "service_name": "shop",
        "resource": '{"service.name":"shop"}',
        "resource_dropped_attributes": 0,
        "resource_schema_url": "https://r",
        "scope_name": "lib",
        "scope_version": "1.2",
        "scope_attributes": None,
        "scope_dropped_attributes": 0,
        "scope_schema_url": None,
        "trace_id": "000102030405060708090a0b0c0d0e0f",
        "span_id": "0101010101010101",
        "parent_span_id": "fefefefefefefefe",
        "trace_state": "a=b",
        "flags": 257,
        "name": "GET /",
        "kind": "server",
        "start_time": START,
        "end_time": START + 5,
        "duration_ns": 5,
        "dropped_attributes": 0,
        "events": [
            {"time": START + 1, "name": "exception", "attributes": '{"exception.type":"E"}', "dropped_attributes": 2},
        ],
        "dropped_events": 0,
        "links": [
            {
                "trace_id": TRACE.hex(),
                "span_id": PARENT.hex(),
                "trace_state": "c=d",
                "flags": 0,
                "attributes": None,
                "dropped_attributes": 0,
            }
        ],
        "dropped_links": 0,
        "status_code": "error",
        "status_message": "failed",
    }
    ((topic, key, _, told),) = made_here.records
    assert (topic, key, told["http.path"]) == ("spans", TRACE.hex(), "/v1/traces")


def test_every_kind_of_metric_is_in_one_table() -> None:
    made, metrics = points()
    gauge = metrics.add(name="temperature", description="of it", unit="Cel").gauge
    gauge.data_points.add(as_double=-1.5, time_unix_nano=START)
    gauge.data_points.add(as_int=(1 << 53) + 1, time_unix_nano=START)
    gauge.data_points.add(as_double=math.inf, time_unix_nano=START)
    gauge.data_points.add(time_unix_nano=START, flags=1)
    total = metrics.add(name="requests").sum
    total.aggregation_temporality, total.is_monotonic = 2, True
    point = total.data_points.add(as_int=7, start_time_unix_nano=START - 9, time_unix_nano=START)
    exemplar = point.exemplars.add(as_double=math.nan, time_unix_nano=START - 1, span_id=SPAN, trace_id=TRACE)
    exemplar.filtered_attributes.append(of("user", string_value="u"))
    histogram = metrics.add(name="seconds").histogram
    histogram.aggregation_temporality = 1
    histogram.data_points.add(count=3, sum=4.5, min=0.5, bucket_counts=[1, 2], explicit_bounds=[1.0], time_unix_nano=START)
    growing = metrics.add(name="sizes").exponential_histogram.data_points.add(count=6, scale=-2, zero_count=1, zero_threshold=0.1)
    growing.positive.offset, growing.negative.offset = -3, 4
    growing.positive.bucket_counts.extend([1, 0, 2])
    growing.negative.bucket_counts.extend([2])
    summary = metrics.add(name="old").summary.data_points.add(count=0, sum=0)
    summary.quantile_values.add(quantile=0.5, value=math.nan)
    with receiving(value_format="otlp", paths=PATHS) as here:
        packed = gzip.compress(made.SerializeToString())
        assert here.post(packed, "/v1/metrics", PROTOBUF, Content_Encoding="gzip")[:2] == (200, b"")
    shown = [{name: value for name, value in row.items() if value not in (None, [], 0, "")} for row in here.rows]
    meta = {"name": "temperature", "description": "of it", "unit": "Cel", "kind": "gauge", "time": START}
    assert shown[:4] == [
        {**meta, "value": -1.5},
        {**meta, "value": float(1 << 53), "value_int": (1 << 53) + 1},
        {**meta, "not_finite": {"value": "Infinity"}},
        {**meta, "flags": 1},
    ]
    of_exemplar = {
        "time": START - 1,
        "value": None,
        "value_int": None,
        "trace_id": TRACE.hex(),
        "span_id": SPAN.hex(),
        "attributes": '{"user":"u"}',
    }
    assert shown[4:] == [
        {
            "name": "requests",
            "kind": "sum",
            "temporality": "cumulative",
            "monotonic": True,
            "start_time": START - 9,
            "time": START,
            "value": 7.0,
            "value_int": 7,
            "exemplars": [of_exemplar],
            "not_finite": {"exemplars.0.value": "NaN"},
        },
        {
            "name": "seconds",
            "kind": "histogram",
            "temporality": "delta",
            "time": START,
            "count": 3,
            "sum": 4.5,
            "min": 0.5,
            "bounds": [1.0],
            "bucket_counts": [1, 2],
        },
        {
            "name": "sizes",
            "kind": "exponential_histogram",
            "temporality": "unspecified",
            "count": 6,
            "scale": -2,
            "zero_count": 1,
            "zero_threshold": 0.1,
            "positive_offset": -3,
            "positive_counts": [1, 0, 2],
            "negative_offset": 4,
            "negative_counts": [2],
        },
        {
            "name": "old",
            "kind": "summary",
            "quantiles": [{"quantile": 0.5, "value": None}],
            "not_finite": {"quantiles.0.value": "NaN"},
        },
    ]
    assert here.rows[5]["max"] is None, "nobody has said one"
    assert here.rows[7]["sum"] == 0.0


def test_bodies_of_log_records_are_texts_or_json() -> None:
    made = ExportLogsServiceRequest()
    records = made.resource_logs.add().scope_logs.add().log_records
    records.add(time_unix_nano=START, severity_number=17, severity_text="ERROR", body=AnyValue(string_value='{"a": 1}'))
    records.add(observed_time_unix_nano=START + 1, body=AnyValue(int_value=5), trace_id=TRACE, event_name="e")
    records.add()
    with receiving(value_format="otlp", paths=PATHS) as here:
        assert here.post(made.SerializeToString(), "/a/v1/logs", PROTOBUF)[0] == 200
    first, second, third = here.rows
    assert (first["time"], first["severity_number"], first["body"], first["body_json"]) == (START, 17, '{"a": 1}', None)
    assert (second["time"], second["observed_time"], second["body"], second["body_json"]) == (None, START + 1, None, "5")
    assert (second["trace_id"], second["event_name"], third["body"], third["body_json"]) == (TRACE.hex(), "e", None, None)
    assert {topic for topic, *_ in here.records} == {"others"}


def test_json_is_read_as_protobuf_is_and_answered_in_json() -> None:
    made = spans("one")
    span = only_span(made)
    span.parent_span_id, span.kind = PARENT, 3
    span.links.add(trace_id=TRACE, span_id=PARENT)
    span.attributes.append(of("traceId", string_value="not hex"))
    said = MessageToDict(made, use_integers_for_enums=True)
    written = said["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    for at in (written, *written["links"]):
        at |= {"traceId": TRACE.hex().upper(), "spanId": (SPAN if at is written else PARENT).hex()}
    written |= {"parentSpanId": PARENT.hex(), "someday": {"new": 1}, "startTimeUnixNano": START}
    with receiving(value_format="otlp", paths=PATHS) as here:
        assert here.post(made.SerializeToString(), "/v1/traces", PROTOBUF)[0] == 200
        answer = here.post(json.dumps(said).encode(), "/v1/traces", f"{JSON}; charset=utf-8")
        assert (answer[0], answer[1], answer[2]["content-type"]) == (200, b"{}", JSON)
        for body in (b"[]", b"{", b'"a"', b'{"resourceSpans": 5}', b"[" * 10_000):
            status, text, _ = here.post(body, "/v1/traces", JSON)
            assert (status, json.loads(text)["code"]) == (400, 3), body
        written["spanId"] = "xyz"
        status, text, _ = here.post(json.dumps(said).encode(), "/v1/traces", JSON)
        assert status == 400
        assert "spanId is 'xyz', and no even number of hexadecimal digits" in json.loads(text)["message"]
    assert here.rows[0] == here.rows[1]


def test_what_can_be_no_row_is_told_and_the_rest_is_taken() -> None:
    made = spans("good", "late", "twice", "huge")
    _, late, twice, huge = made.resource_spans[0].scope_spans[0].spans
    late.end_time_unix_nano = 1 << 63
    twice.attributes.extend([of("a", int_value=1), of("a", int_value=2)])
    huge.status.message = "x" * (5 << 20)
    with receiving(value_format="otlp", paths=PATHS, body_bytes="20MiB") as here:
        status, body, _ = here.post(made.SerializeToString(), "/v1/traces", PROTOBUF)
        told = ExportTraceServiceResponse.FromString(body).partial_success
        assert (status, told.rejected_spans) == (200, 3)
        assert told.error_message.startswith("3 spans are not taken: end_time is 9223372036854775808, which is beyond 64 bits")
        assert "the attribute 'a' is there twice; it has 5,242," in told.error_message
        unknown, metrics = points()
        metrics.add(name="m")
        status, body, _ = here.post(unknown.SerializeToString(), "/v1/metrics", PROTOBUF)
        told_of_points = ExportMetricsServiceResponse.FromString(body).partial_success
        assert (status, told_of_points.rejected_data_points) == (200, 1)
        assert told_of_points.error_message == "1 data point is not taken: the metric 'm' has no data of a kind that is known here"
    assert [row["name"] for row in here.rows] == ["good"]


def test_who_sends_what_is_no_otlp_hears_so_in_its_form() -> None:
    with receiving(value_format="otlp", body_bytes="10KB", token="${env:SECRET}") as here:
        known = {"Authorization": "Bearer geheim"}
        status, body, _ = here.post(b"\xff\xff", "/v1/traces", PROTOBUF, **known)
        assert (status, Status.FromString(body).code) == (400, 3)
        assert "ExportTraceServiceRequest" in Status.FromString(body).message
        assert here.post(b"", "/v1/spans", PROTOBUF, **known)[0] == 404
        assert here.post(b"", "/v1/traces", "text/plain", **known)[0] == 415
        status, body, headers = here.post(b"", "/v1/traces", PROTOBUF)
        assert (status, Status.FromString(body).code, headers["www-authenticate"]) == (401, 16, "Bearer")
        assert here.post(b"x" * 20_000, "/v1/traces", PROTOBUF, **known)[0] == 413
        assert here.post(b"", "/v1/traces", PROTOBUF, **known)[:2] == (200, b""), "nothing is something, too"
    assert not here.rows


def test_who_comes_too_often_is_told_when_to_come_again() -> None:
    with receiving(value_format="otlp", answer_timeout="100ms") as here:
        here.pause()
        status, text, headers = here.post(spans("a").SerializeToString(), "/v1/traces", PROTOBUF)
        assert (status, headers["retry-after"], Status.FromString(text).code) == (503, "1", 14)
        said = {"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "a"}]}]}]}
        status, text, headers = here.post(json.dumps(said).encode(), "/v1/traces", JSON)
        assert (status, headers["retry-after"], json.loads(text)["code"]) == (503, "1", 14)


def test_the_check_says_what_belongs_together() -> None:
    source = WebhookSource()

    def problems(**given: str) -> list[tuple[str, bool]]:
        config = parse(source.options, {"listen": "127.0.0.1:4318", **{key.replace("_", "."): text for key, text in given.items()}})
        return [(problem.key, problem.is_warning) for problem in source.check(config)]

    assert problems(value_format="otlp", paths=PATHS) == []
    assert problems(value_format="otlp") == [("paths", True)]
    assert problems(value_format="otlp", paths=PATHS, status="202", records="lines") == [("records", False), ("status", False)]
    assert problems(value_format="prometheus", status="204") == []
