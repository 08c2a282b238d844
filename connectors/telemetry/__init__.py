"""Telemetry over HTTP as rows: OTLP and the remote write of Prometheus."""
