"""Steps of the way of a traced record, as hosts tell them to the executor, and the context that goes with its message (W3C)."""

from __future__ import annotations

import re
import secrets
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from rocketmq_remoting.protocol.properties import encode_properties

if TYPE_CHECKING:
    from collections.abc import Iterator

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


_said = threading.local()


@contextmanager
def said_within(trace_id: str) -> Iterator[None]:
    """Lines that this thread says within the block are about a record of this trace; empty: about none that is traced."""
    _said.trace_id = trace_id
    try:
        yield
    finally:
        _said.trace_id = ""


def trace_said() -> str:
    """The trace that what this thread says now is about; empty: none."""
    found: str = getattr(_said, "trace_id", "")
    return found


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
