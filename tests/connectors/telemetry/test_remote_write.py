"""What Prometheus writes elsewhere becomes rows."""

import math
import struct
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from connectors.telemetry.prometheus import write_v1_pb2 as v1
from connectors.telemetry.prometheus import write_v2_pb2 as v2
from tests.connectors.telemetry.receiving import Received, receiving

PROTOBUF = "application/x-protobuf"
SECOND = f"{PROTOBUF};proto=io.prometheus.write.v2.Request"
AT_MS = 1_700_000_000_123
AT = datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC)
STALE, NORMAL = (struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in (0x7FF0000000000002, 0x7FF8000000000001))


def packed(message: Any) -> bytes:
    return bytes(pa.compress(message.SerializeToString(), codec="snappy", asbytes=True))


def series(made: v1.WriteRequest, **labels: str) -> v1.TimeSeries:
    return made.timeseries.add(labels=[v1.Label(name=name, value=value) for name, value in labels.items()])


def send(here: Received, message: Any, kind: str = PROTOBUF) -> tuple[int, bytes, Any]:
    return here.post(packed(message), "/write", kind, Content_Encoding="snappy", X_Prometheus_Remote_Write_Version="0.1.0")


def shown(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value not in (None, False)}


def test_samples_are_rows_and_what_is_no_number_is_told_apart() -> None:
    made = v1.WriteRequest()
    one = series(made, __name__="up", job="a", instance="ü:1")
    for number, value in enumerate([1.5, STALE, NORMAL, math.inf, -math.inf]):
        one.samples.add(value=value, timestamp=AT_MS + number)
    with receiving(value_format="prometheus", status="204", key="${value.labels.job}") as here:
        assert send(here, made)[:2] == (204, b"")
        assert here.post(packed(made), "/write", PROTOBUF)[0] == 204, "the first senders did not say how they pack"
    rows = here.rows[:5]
    assert shown(rows[0]) == {"kind": "sample", "metric": "up", "labels": {"job": "a", "instance": "ü:1"}, "time": AT, "value": 1.5}
    assert [(row["value"], row["stale"], row["not_finite"]) for row in rows[1:]] == [
        (None, True, {"value": "stale"}),
        (None, False, {"value": "NaN"}),
        (None, False, {"value": "Infinity"}),
        (None, False, {"value": "-Infinity"}),
    ]
    assert [row["time"] for row in rows] == [AT + timedelta(milliseconds=number) for number in range(5)]
    assert {key for _, key, *_ in here.records} == {"a"}


def test_histograms_exemplars_and_metadata_are_rows_of_the_same_table() -> None:
    made = v1.WriteRequest()
    one = series(made, __name__="seconds")
    spans = [v1.BucketSpan(offset=-2, length=2), v1.BucketSpan(offset=3, length=1)]
    one.histograms.add(
        count_int=7, sum=2.5, schema=3, zero_threshold=0.001, zero_count_int=1, positive_spans=spans, positive_deltas=[2, -1, 2],
        reset_hint=1, timestamp=AT_MS,
    )  # fmt: skip
    one.histograms.add(count_float=0.5, sum=STALE, zero_count_float=0.25, negative_spans=spans[1:], negative_counts=[0.25])
    one.exemplars.add(labels=[v1.Label(name="trace_id", value="abc")], value=0.75, timestamp=AT_MS)
    made.metadata.add(type=3, metric_family_name="seconds", help="of it", unit="s")
    with receiving(value_format="prometheus") as here:
        assert send(here, made)[0] == 200
    whole, floats, exemplar, metadata = here.rows
    assert whole["histogram"] == {
        "schema": 3,
        "count": 7.0,
        "sum": 2.5,
        "zero_threshold": 0.001,
        "zero_count": 1.0,
        "positive": [{"index": -2, "count": 2.0}, {"index": -1, "count": 1.0}, {"index": 3, "count": 3.0}],
        "negative": [],
        "custom_bounds": [],
        "has_floats": False,
        "reset_hint": "yes",
    }
    assert (floats["stale"], floats["histogram"]["sum"], floats["not_finite"]) == (True, None, {"histogram.sum": "stale"})
    assert (floats["histogram"]["count"], floats["histogram"]["negative"]) == (0.5, [{"index": 3, "count": 0.25}])
    exemplar_row = {"kind": "exemplar", "metric": "seconds", "labels": {}, "time": AT, "value": 0.75}
    assert shown(exemplar) == {**exemplar_row, "exemplar_labels": {"trace_id": "abc"}}
    said = {"type": "histogram", "help": "of it", "unit": "s"}
    assert shown(metadata) == {"kind": "metadata", "metric": "seconds", "labels": {}, **said}


def test_the_second_version_is_read_and_told_what_was_written() -> None:
    made = v2.Request(symbols=["", "__name__", "up", "job", "a", "trace_id", "abc", "of it"])
    one = made.timeseries.add(labels_refs=[1, 2, 3, 4], metadata=v2.Metadata(type=1, help_ref=7))
    one.samples.add(value=1, timestamp=AT_MS, start_timestamp=AT_MS - 1)
    one.exemplars.add(labels_refs=[5, 6], value=2, timestamp=AT_MS)
    with receiving(value_format="prometheus") as here:
        status, _, headers = send(here, made, SECOND)
        assert status == 200
        assert [headers[f"x-prometheus-remote-write-{what}-written"] for what in ("samples", "histograms", "exemplars")] == [
            "1",
            "0",
            "1",
        ]
        made.timeseries.add(labels_refs=[1, 99]).samples.add(value=1)
        made.timeseries.add(labels_refs=[1]).samples.add(value=1)
        status, text, headers = send(here, made, SECOND)
        assert (status, headers["x-prometheus-remote-write-samples-written"]) == (400, "1")
        assert text == b"2 things are not taken: a series refers to symbols that are not there"
    assert shown(here.rows[0]) == {
        "kind": "sample",
        "metric": "up",
        "labels": {"job": "a"},
        "time": AT,
        "value": 1.0,
        "start_time": AT - timedelta(milliseconds=1),
        "type": "counter",
        "help": "of it",
    }
    assert (here.rows[1]["exemplar_labels"], len(here.rows)) == ({"trace_id": "abc"}, 4)


def test_what_can_be_no_row_is_told_and_never_comes_again() -> None:
    made = v1.WriteRequest()
    series(made, __name__="good").samples.add(value=1, timestamp=AT_MS)
    series(made, __name__="far").samples.add(value=1, timestamp=1 << 62)
    twice = series(made, __name__="twice")
    twice.labels.add(name="__name__", value="again")
    twice.samples.add(value=1)
    bent = series(made, __name__="bent").histograms
    bent.add(positive_spans=[v1.BucketSpan(length=1 << 31)], positive_deltas=[1])
    bent.add(positive_deltas=[1])
    bent.add(count_int=(1 << 53) + 1)
    with receiving(value_format="prometheus") as here:
        status, text, _ = send(here, made)
    assert status == 400
    assert text.decode() == (
        "5 things are not taken: the time 4611686018427387904 ms is in none of the years 1 to 9999; "
        "the label '__name__' is there twice; a histogram has more positive buckets in its spans than counts"
    )
    assert [row["metric"] for row in here.rows] == ["good"]


def test_who_sends_what_is_no_remote_write_hears_so() -> None:
    with receiving(value_format="prometheus", body_bytes="1KB") as here:
        assert here.post(b"", "/", "text/plain")[0] == 415
        assert here.post(b"", "/", f"{PROTOBUF};proto=prometheus.Other")[0] == 415
        assert here.post(b"", "/", PROTOBUF, Content_Encoding="zstd")[0] == 415
        for body in (b"", b"\x05abc", b"\xff\x01", b"\x05" + bytes(20)):
            assert here.post(body, "/", PROTOBUF, Content_Encoding="snappy")[1].startswith(b"the body is no block of Snappy"), body
        assert here.post(b"\xff\xff\xff\xff\x0f", "/", PROTOBUF, Content_Encoding="snappy")[0] == 413
        bad = pa.compress(b"\xff\xff", codec="snappy", asbytes=True)
        assert here.post(bad, "/", PROTOBUF, Content_Encoding="snappy")[0] == 400
    assert not here.rows
