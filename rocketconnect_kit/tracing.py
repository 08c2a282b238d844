"""OpenTelemetry traces, when the environment asks for them (`OTEL_*`); otherwise nothing is set up and nothing costs."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rocketconnect_kit import logs
from rocketconnect_kit.errors import FailedPrecondition
from rocketconnect_kit.serving.interception import AroundCalls, ServicerContext

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter


@dataclass(frozen=True, slots=True)
class Recorded:
    """A span of another process, which is over. Ids in hexadecimal digits, times in nanoseconds since 1970.

    Attributes:
        trace_id: Of its trace.
        span_id: Its own.
        parent_id: Of the span above it; empty: there is none.
        name: What was done.
        kind: The name of an opentelemetry.trace.SpanKind.
        start: When it began.
        end: When it ended.
        attributes: What is known of it.
        error: Why it failed; empty: it did not.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: str
    start: int
    end: int
    attributes: Mapping[str, str | int] = field(default_factory=dict)
    error: str = ""


_exports: "tuple[TracerProvider, SpanProcessor] | None" = None


def start(service: str) -> Callable[[], None] | None:
    """Set tracing up if `OTEL_TRACES_EXPORTER` or an OTLP endpoint is set; return what flushes and ends it, or None.

    Raises:
        FailedPrecondition: TRACE_EXPORTER_MISSING when the exporter that is asked for is not installed.
    """
    global _exports  # noqa: PLW0603 - as OpenTelemetry's own provider: one for the process
    name = _wanted()
    if not name:
        return None
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": f"rocketconnect-{service}"}))
    processor = BatchSpanProcessor(_exporter(name))
    provider.add_span_processor(processor)
    trace.set_tracer_provider(provider)
    _exports = provider, processor
    logs.ask_always(ids)
    return provider.shutdown


def is_wanted() -> bool:
    """Whether the environment asks for traces."""
    return bool(_wanted())


def pass_on(recorded: Recorded) -> None:
    """Export a span of another process with those of this one; nothing when nothing is traced. Never waits."""
    if _exports is None:
        return
    from opentelemetry import trace
    from opentelemetry.sdk.trace import ReadableSpan

    def context(span_id: str) -> trace.SpanContext:
        flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
        return trace.SpanContext(int(recorded.trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=flags)

    provider, processor = _exports
    status = trace.Status(trace.StatusCode.ERROR, recorded.error) if recorded.error else trace.Status()
    span = ReadableSpan(
        recorded.name,
        context=context(recorded.span_id),
        parent=context(recorded.parent_id) if recorded.parent_id else None,
        resource=provider.resource,
        attributes=recorded.attributes,
        kind=trace.SpanKind[recorded.kind],
        status=status,
        start_time=recorded.start,
        end_time=recorded.end,
    )
    processor.on_end(span)


def ids() -> dict[str, str]:
    """The ids of the trace and the span that this thread is in, for logs; empty when there are none."""
    # Whoever asks for no traces has not loaded it.
    if _exports is None:
        return {}
    from opentelemetry import trace

    current = trace.get_current_span().get_span_context()
    if not current.is_valid:
        return {}
    return {"trace_id": trace.format_trace_id(current.trace_id), "span_id": trace.format_span_id(current.span_id)}


_PROTOCOLS = {"grpc": "otlp_proto_grpc", "http/protobuf": "otlp_proto_http"}


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

    installed = f"pip install opentelemetry-exporter-{name}"
    if name == "otlp":
        # As the specification of OpenTelemetry has it.
        protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "grpc"
        if protocol not in _PROTOCOLS:
            message = f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol}: give one of {', '.join(_PROTOCOLS)}"
            raise FailedPrecondition("TRACE_PROTOCOL_UNKNOWN", message)
        name, installed = _PROTOCOLS[protocol], "pip install 'rocketconnect[otel]'"
    for entry in entry_points(group="opentelemetry_traces_exporter", name=name):
        exporter: SpanExporter = entry.load()()
        return exporter
    message = f"the trace exporter {name!r} is not installed; {installed}, or set OTEL_TRACES_EXPORTER to console or none"
    raise FailedPrecondition("TRACE_EXPORTER_MISSING", message)
