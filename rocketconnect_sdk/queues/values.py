"""What the body of a message becomes as the value of a record. Pure."""

from collections.abc import Callable, Mapping
from hashlib import sha256

from rocketconnect_sdk.options import Option
from rocketconnect_sdk.record import Rejected
from rocketconnect_sdk.wording.counts import counted

FIRST_PART = 4096
"""So much of a message that is refused is kept."""


def as_text(body: bytes) -> str:
    """A body as text. Raises ValueError."""
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        msg = f"is no UTF-8 at byte {error.start}: set value.format=bytes"
        raise ValueError(msg) from None


def as_json(body: bytes) -> object:
    """A body as what its JSON says. Raises ValueError."""
    from rocketconnect_sdk.converters.json.reading import NotJson, value_of

    try:
        return value_of(body)
    except NotJson as error:
        msg = f"is no JSON: {error}"
        raise ValueError(msg) from None


VALUES: Mapping[str, Callable[[bytes], object]] = {"text": as_text, "bytes": bytes, "json": as_json}
"""By the texts of value.format: makes the value of a body; ValueError says what is wrong with that."""

VALUE_FORMAT = Option("value.format", "What a payload is.", default="text", choices=tuple(VALUES))


def rejected(body: bytes, error: str, reason: str, length: int = 0, digest: str = "") -> Rejected:
    """What stands for a message that can't be read.

    Args:
        body: Of the message, or its first part.
        error: See Rejected.
        reason: See Rejected.
        length: Of the whole, where that is not here.
        digest: Of the whole, where that is not here.
    """
    return Rejected(error, reason, body[:FIRST_PART], length or len(body), digest or sha256(body).hexdigest())


def too_large(length: int, most_bytes: int) -> tuple[str, str]:
    """The error and the reason of a message with more bytes than a record may have."""
    return "RecordTooLarge", f"it has {counted(length, 'byte')}, and a message {most_bytes:,}"
