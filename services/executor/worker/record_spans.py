"""The steps of traced records, exported by the executor: hosts, which run plugins, know nothing of a collector or its secrets."""

from rocketconnect_kit import tracing
from services.executor.contract.spans import Span


def export(span: Span) -> None:
    """Export a step that a host has told."""
    recorded = tracing.Recorded(
        span.context.trace_id,
        span.context.span_id,
        span.parent,
        span.name,
        span.kind,
        span.start,
        span.end,
        span.attributes,
        span.error,
    )
    tracing.pass_on(recorded)
