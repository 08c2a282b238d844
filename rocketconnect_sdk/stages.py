"""The stages that a record goes through: a task is an arrangement of them, and each of them can refuse a record.

docs/architecture.md ("Stages") says where each is.
"""

from enum import StrEnum


class Stage(StrEnum):
    """Where a record is, and where it can fail."""

    POLL = "poll"
    """A source reads it."""
    TRANSFORM = "transform"
    """Transforms change it, drop it, choose its topic."""
    CONVERT = "convert"
    """Its key and value become bytes, or bytes become them."""
    SEND = "send"
    """RocketMQ stores it."""
    WRITE = "write"
    """A sink makes it durable."""


SOURCE = (Stage.POLL, Stage.TRANSFORM, Stage.CONVERT, Stage.SEND)
"""From a system to a topic."""
SINK = (Stage.CONVERT, Stage.TRANSFORM, Stage.WRITE)
"""From a topic to a system."""
DIRECT = (Stage.POLL, Stage.TRANSFORM, Stage.WRITE)
"""From a system to a system, without a topic."""
