"""OpenTelemetry traces, when the environment asks for them (`OTEL_*`); otherwise nothing is set up and nothing costs."""

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from opentelemetry import propagate, trace
from opentelemetry.trace import SpanKind

from rocketconnect_kit.errors import FailedPrecondition
from rocketconnect_kit.interception import AroundCalls, ServicerContext

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter


def start(service: str) -> Callable[[], None] | None:
    """Set tracing up if `OTEL_TRACES_EXPORTER` or an OTLP endpoint is set; return what flushes and ends it, or None.

    Raises:
        FailedPrecondition: TRACE_EXPORTER_MISSING when the exporter that is asked for is not installed.
    """
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    name = os.environ.get("OTEL_TRACES_EXPORTER") or ("otlp" if endpoint else "none")
    if name == "none" or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": f"rocketconnect-{service}"}))
    provider.add_span_processor(BatchSpanProcessor(_exporter(name)))
    trace.set_tracer_provider(provider)
    return provider.shutdown


class TracingInterceptor(AroundCalls):
    """A span for each call, below the caller's own when it sent one (W3C trace context in the metadata)."""

    @asynccontextmanager
    async def around(self, method: str, context: ServicerContext, *, streaming: bool) -> AsyncIterator[None]:  # noqa: ARG002
        """Trace one call."""
        metadata = context.invocation_metadata() or ()
        parent = propagate.extract({key: value for key, value in metadata if isinstance(value, str)})
        tracer = trace.get_tracer("rocketconnect")
        with tracer.start_as_current_span(method.lstrip("/"), context=parent, kind=SpanKind.SERVER) as span:
            span.set_attribute("rpc.system", "grpc")
            yield


def outgoing_metadata() -> tuple[tuple[str, str], ...]:
    """Return the metadata that carries the current span to another service; empty when nothing is traced."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return tuple(carrier.items())


def _exporter(name: str) -> "SpanExporter":
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)
    for entry in entry_points(group="opentelemetry_traces_exporter", name=name):
        exporter: SpanExporter = entry.load()()
        return exporter
    message = (
        f"the trace exporter {name!r} is not installed; pip install opentelemetry-exporter-{name}, "
        "or set OTEL_TRACES_EXPORTER to console or none"
    )
    raise FailedPrecondition("TRACE_EXPORTER_MISSING", message)
