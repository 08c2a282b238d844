"""What a message of RabbitMQ becomes. Pure."""

from collections.abc import Callable, Mapping
from typing import Any

from rocketconnect_sdk.queues import Received
from rocketconnect_sdk.queues.texts import as_text
from rocketconnect_sdk.queues.values import rejected, too_large

_PROPERTIES = (
    "app_id",
    "content_encoding",
    "content_type",
    "correlation_id",
    "expiration",
    "message_id",
    "priority",
    "reply_to",
    "timestamp",
    "type",
    "user_id",
)
_PREFIX = "rabbitmq."
_OF_HEADERS = "header."
_KEYS = ("routing.key", "message.id", "correlation.id")
_YEAR_10000 = 253_402_300_800
STREAM_OFFSET = "x-stream-offset"
"""The header that messages of streams have."""
KEYS = "routing.key, message.id, correlation.id or header.NAME"
"""What a key may be."""


def key_problem(text: str) -> str | None:
    """What is wrong with the choice of a key; None: nothing."""
    if not text or text in _KEYS or (text.startswith(_OF_HEADERS) and text != _OF_HEADERS):
        return None
    return f"is none of {KEYS}"


def key_of(choice: str, headers: Mapping[str, str]) -> str | None:
    """The key of a message with these headers; None: it has none."""
    name = choice.removeprefix(_OF_HEADERS) if choice.startswith(_OF_HEADERS) else f"{_PREFIX}{choice}"
    return headers.get(name) or None if choice else None


def headers_of(queue: str, method: Any, properties: Any) -> dict[str, str]:
    """The headers of a message: its own as they are, and what RabbitMQ says of it.

    Args:
        queue: That it came from.
        method: Of its delivery, as the client has it.
        properties: As the client has them.
    """
    given = ((as_text(name), value) for name, value in (properties.headers or {}).items() if value is not None)
    # What RabbitMQ says of it, such as who has sent it, is not for who sends it to say.
    found = {f"{_OF_HEADERS}{name}" if name.startswith(_PREFIX) else name: as_text(value) for name, value in given}
    found[f"{_PREFIX}queue"] = queue
    found[f"{_PREFIX}exchange"] = as_text(method.exchange)
    found[f"{_PREFIX}routing.key"] = as_text(method.routing_key)
    for name in _PROPERTIES:
        if (value := getattr(properties, name)) is not None:
            found[f"{_PREFIX}{name.replace('_', '.')}"] = as_text(value)
    return found


def received(
    queue: str, method: Any, properties: Any, body: bytes, *, value: Callable[[bytes], object], key: str, most_bytes: int
) -> Received:
    """A message as the topic gets it.

    Args:
        queue: That it came from.
        method: Of its delivery, as the client has it.
        properties: As the client has them.
        body: Of the message.
        value: Makes the value of the body; ValueError says what is wrong with that.
        key: What the key is; see key_problem.
        most_bytes: The size of the largest body.
    """
    made: object
    if len(body) > most_bytes:
        made = rejected(body, *too_large(len(body), most_bytes))
    else:
        try:
            made = value(body)
        except ValueError as error:
            made = rejected(body, "InvalidPayload", f"the message of {queue} {error}")
    headers = headers_of(queue, method, properties)
    return Received(
        method.delivery_tag,
        made,
        key_of(key, headers),
        _time_ms(properties.timestamp),
        headers,
        redelivered=method.redelivered,
        size=len(body),
    )


def _time_ms(seconds: int | None) -> int | None:
    """The time of a message; None: it has none, or one beyond the calendar, such as of publishers that write milliseconds."""
    return int(seconds) * 1000 if seconds is not None and seconds < _YEAR_10000 else None
