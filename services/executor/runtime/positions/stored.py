"""A position as the position service keeps it. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rocketconnect_sdk.record import Offset, Position


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored position.

    Attributes:
        offset: Of the next record.
        incarnation: Raised by each deliberate reset.
        resume: What the task, or its source, stored with it. It may be a secret of the source.
        gone: The partition is no more: nothing is to be stored of it.
        reset_group: The consumer group whose reset moves it here; empty: what was read has.
    """

    offset: Offset
    incarnation: int = 0
    resume: Mapping[str, Any] = field(default_factory=dict, repr=False)
    gone: bool = False
    reset_group: str = ""

    @property
    def of_source(self) -> Position:
        """The position of a source partition, as the source knows it."""
        return Position(self.offset, self.resume)

    @property
    def text(self) -> str:
        """What is stored beside the offset, as it is written."""
        return json.dumps(self.resume, separators=(",", ":"), default=dict) if self.resume else ""
