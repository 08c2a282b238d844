"""A collector of traces by OTLP over gRPC, in this process."""

import threading
from collections.abc import Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as rpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector(rpc.TraceServiceServicer):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.address = ""
        self.spans: list[Span] = []
        self.services: set[str] = set()
        self.headers: list[Mapping[str, str]] = []
        self._arrived = threading.Condition()

    def Export(self, request: pb.ExportTraceServiceRequest, context: grpc.ServicerContext) -> pb.ExportTraceServiceResponse:
        with self._arrived:
            self.headers.append({key: str(value) for key, value in context.invocation_metadata() or ()})
            for of_one in request.resource_spans:
                said = {each.key: each.value.string_value for each in of_one.resource.attributes}
                self.services.add(said["service.name"])
                self.spans += [span for scope in of_one.scope_spans for span in scope.spans]
            self._arrived.notify_all()
        return pb.ExportTraceServiceResponse()

    def wait_for(self, *names: str, seconds: float = 180.0) -> dict[str, Span]:
        """The last span of each of these names, when there is one."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: set(names) <= {span.name for span in self.spans}, seconds), [
                span.name for span in self.spans
            ]
            return {span.name: span for span in self.spans}


def said_of(span: Span) -> dict[str, Any]:
    """Its attributes."""
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """One that runs."""
    collector = Collector()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    rpc.add_TraceServiceServicer_to_server(collector, server)  # type: ignore[no-untyped-call]
    collector.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield collector
    finally:
        server.stop(None).wait()
