"""What the SDK of OpenTelemetry sends arrives."""

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.connectors.telemetry.receiving import receiving

SHOP = Resource({"service.name": "shop", "host.cores": 4})


def test_spans_points_and_log_records_of_the_sdk_are_rows() -> None:
    paths = "/v1/traces=spans,/v1/metrics=points,/v1/logs=logs"
    with receiving(value_format="otlp", paths=paths, token="${env:SECRET}") as here:
        url, headers = f"http://127.0.0.1:{here.port}/v1", {"authorization": "Bearer geheim"}
        tracing = TracerProvider(resource=SHOP, shutdown_on_exit=False)
        tracing.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{url}/traces", headers=headers)))
        with tracing.get_tracer("lib", "1").start_as_current_span("outer", attributes={"n": 1}) as outer:
            outer.add_event("seen")
            with tracing.get_tracer("lib", "1").start_as_current_span("inner"):
                pass
        exporter = OTLPMetricExporter(f"{url}/metrics", headers=headers, compression=Compression.Gzip)
        reader = PeriodicExportingMetricReader(exporter, export_interval_millis=1e9)
        measuring = MeterProvider([reader], SHOP, shutdown_on_exit=False)
        measuring.get_meter("lib").create_counter("sold", "1").add(3, {"what": "tea"})
        measuring.get_meter("lib").create_histogram("seconds").record(0.25)
        writing = LoggerProvider(SHOP, shutdown_on_exit=False)
        writing.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(f"{url}/logs", headers=headers)))
        record = LogRecord(timestamp=1, body="no tea", severity_number=SeverityNumber.ERROR, attributes={"tries": [1, 2]})
        writing.get_logger("lib").emit(record)
        for each in (tracing, measuring, writing):
            each.shutdown()
    by_topic = {topic: [row for at, _, row, _ in here.records if at == topic] for topic in ("spans", "points", "logs")}
    assert len(here.rows) == sum(map(len, by_topic.values())) == 5
    inner, outer_row = by_topic["spans"]
    assert (inner["name"], inner["parent_span_id"], inner["trace_id"]) == ("inner", outer_row["span_id"], outer_row["trace_id"])
    assert (outer_row["attributes"], outer_row["events"][0]["name"], outer_row["kind"]) == ('{"n":1}', "seen", "internal")
    assert outer_row["start_time"] <= inner["start_time"] <= inner["end_time"] <= outer_row["end_time"]
    sold, seconds = by_topic["points"]
    assert (sold["name"], sold["value_int"], sold["attributes"], sold["monotonic"]) == ("sold", 3, '{"what":"tea"}', True)
    assert (seconds["count"], seconds["sum"], sum(seconds["bucket_counts"])) == (1, 0.25, 1)
    (log,) = by_topic["logs"]
    assert (log["time"], log["body"], log["severity_number"], log["service_name"]) == (1, "no tea", 17, "shop")
    assert log["attributes"] == '{"tries":[1,2]}'
