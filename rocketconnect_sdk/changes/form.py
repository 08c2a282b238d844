"""The options of sources that capture changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from rocketconnect_sdk.options import Config, Kind, Option

_ENVELOPE = "envelope"

OPTIONS: Sequence[Option] = (
    Option(
        "change.form",
        "What the value of a record is. envelope: what happened (op), the row before and after it, and where it comes from, under "
        "the names that Debezium has for them. row: the row after the change; a deletion is a record without a value.",
        default=_ENVELOPE,
        choices=(_ENVELOPE, "row"),
    ),
    Option(
        "tombstones",
        "Whether the envelope of a deletion is followed by a record of the same key without a value, as compacted topics of Kafka "
        "want it.",
        Kind.BOOL,
        "false",
    ),
)


@dataclass(frozen=True, slots=True)
class ChangeForm:
    """In which form changes are sent.

    Attributes:
        envelope: In an envelope; else the row itself.
        tombstones: A deletion is followed by a record without a value.
    """

    envelope: bool = True
    tombstones: bool = False

    @classmethod
    def of(cls, config: Config) -> Self:
        """As configured by OPTIONS."""
        return cls(config["change.form"] == _ENVELOPE, config["tombstones"])
