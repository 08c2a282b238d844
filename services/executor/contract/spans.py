"""Steps of the way of a traced record, as hosts tell them to the executor, and the context that goes with its message (W3C)."""

from __future__ import annotations

import re
import secrets
from typing import Literal, NamedTuple

import msgspec

from rocketmq_remoting.protocol.properties import encode_properties

PROPERTY = "traceparent"
"""The property of a message, as W3C Trace Context names the header of HTTP."""
MARK = f"{PROPERTY}\x01".encode()
"""What encoded properties have in them that have this one."""

_FORM = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1


class Context(NamedTuple):
    """Which span of which trace, in hexadecimal digits."""

    trace_id: str
    span_id: str

    @classmethod
    def begin(cls) -> Context:
        """The first span of a new trace."""
        return cls(secrets.token_hex(16), secrets.token_hex(8))

    def child(self) -> Context:
        """A span below it."""
        return Context(self.trace_id, secrets.token_hex(8))

    @property
    def encoded(self) -> bytes:
        """The property of a message whose way goes on below it."""
        return encode_properties({PROPERTY: f"00-{self.trace_id}-{self.span_id}-{_SAMPLED:02x}"})


def read(text: str) -> Context | None:
    """The context that somebody wrote; None: it is none, or of a trace that nobody records."""
    found = _FORM.fullmatch(text)
    # A later version may say more behind what this one says.
    if found is None or (found[5] and found[1] == "00") or not int(found[4], 16) & _SAMPLED:
        return None
    return Context(found[2], found[3])


class Span(msgspec.Struct, frozen=True):
    """A step. Times are in nanoseconds since 1970.

    Attributes:
        context: It.
        parent: The span above it; empty: there is none.
        name: What is done, the same for all records.
        kind: As OpenTelemetry has it.
        start: When it began.
        end: When it ended.
        attributes: What is known of it.
        error: Why it failed; empty: it did not.
    """

    context: Context
    parent: str
    name: str
    kind: Literal["INTERNAL", "PRODUCER", "CONSUMER"]
    start: int
    end: int
    attributes: dict[str, str | int] = {}
    error: str = ""
