"""An instance that sends spans of calls and records, to be measured beside one that does not, and where they arrive."""

import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as rpc

from bench.measuring.instance import Instance, environment, instance

RECORDS_PER_SECOND = "1"
"""What docs/traces.md begins with."""


class Collector(rpc.TraceServiceServicer):
    """Counts the spans that it is sent."""

    def __init__(self) -> None:
        self._spans, self._lock = 0, threading.Lock()

    @property
    def spans(self) -> int:
        """How many came until now."""
        with self._lock:
            return self._spans

    def Export(  # noqa: N802 - named by the proto
        self, request: pb.ExportTraceServiceRequest, _: grpc.ServicerContext
    ) -> pb.ExportTraceServiceResponse:
        """Take some."""
        with self._lock:
            self._spans += sum(len(scope.spans) for resource in request.resource_spans for scope in resource.scope_spans)
        return pb.ExportTraceServiceResponse()


@contextmanager
def traced() -> Iterator[tuple[Instance, Collector]]:
    """An instance that sends traces, and where they arrive: in this process, whose processor seconds count for nobody."""
    collector, server = Collector(), grpc.server(futures.ThreadPoolExecutor(2))
    rpc.add_TraceServiceServicer_to_server(collector, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    told = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        "ROCKETCONNECT_TRACE_RECORDS": RECORDS_PER_SECOND,
    }
    try:
        with environment(told), instance() as it:
            yield it, collector
    finally:
        server.stop(None).wait()
