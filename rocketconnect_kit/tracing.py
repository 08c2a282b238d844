"""OpenTelemetry traces, when the environment asks for them (`OTEL_*`); otherwise nothing is set up and nothing costs."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from rocketconnect_kit.errors import FailedPrecondition
from rocketconnect_kit.serving.interception import AroundCalls, ServicerContext

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter


def start(service: str) -> Callable[[], None] | None:
    """Set tracing up if `OTEL_TRACES_EXPORTER` or an OTLP endpoint is set; return what flushes and ends it, or None.

    Raises:
        FailedPrecondition: TRACE_EXPORTER_MISSING when the exporter that is asked for is not installed.
    """
    name = _wanted()
    if not name:
        return None
    from opentelemetry import trace
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
        metadata = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
        with span(method.lstrip("/"), metadata, **{"rpc.system": "grpc"}):
            yield


@contextmanager
def span(name: str, headers: Mapping[str, str], **attributes: str) -> Iterator[None]:
    """A span of a server, below the one that the headers name, while the block runs; nothing when nothing is traced."""
    if not _wanted():
        yield
        return
    from opentelemetry import propagate, trace

    tracer = trace.get_tracer("rocketconnect")
    parent = propagate.extract(headers)
    with tracer.start_as_current_span(name, context=parent, kind=trace.SpanKind.SERVER, attributes=attributes):
        yield


def outgoing_metadata() -> tuple[tuple[str, str], ...]:
    """Return the metadata that carries the current span to another service; empty when nothing is traced."""
    if not _wanted():
        return ()
    from opentelemetry import propagate

    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return tuple(carrier.items())


def _wanted() -> str:
    """The name of the exporter that the environment asks for; empty when there is none, and OpenTelemetry is not loaded."""
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return ""
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    name = os.environ.get("OTEL_TRACES_EXPORTER") or ("otlp" if endpoint else "")
    return "" if name == "none" else name


def _exporter(name: str) -> "SpanExporter":
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)
    from importlib.metadata import entry_points

    for entry in entry_points(group="opentelemetry_traces_exporter", name=name):
        exporter: SpanExporter = entry.load()()
        return exporter
    message = (
        f"the trace exporter {name!r} is not installed; pip install opentelemetry-exporter-{name}, "
        "or set OTEL_TRACES_EXPORTER to console or none"
    )
    raise FailedPrecondition("TRACE_EXPORTER_MISSING", message)
