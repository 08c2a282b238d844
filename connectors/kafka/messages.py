"""What a message of Kafka has beside its key and its value. Pure."""

import base64
import json
from collections.abc import Sequence

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.partitions.decoding import HEADERS
from rocketconnect_sdk.partitions.options import HeaderForm
from rocketconnect_sdk.writes import Operation

QUEUE = "queue"
"""The name under which an operation has its queue."""
BY_KEY = -1
"""The client chooses the partition, by the key, as Kafka's own producer does."""


def headers_of(operation: Operation, form: HeaderForm) -> list[tuple[str, bytes | None]]:
    """The headers, as a list, as the client takes nothing else.

    Raises:
        RecordError: they have no such form.
    """
    if form is HeaderForm.NONE:
        return []
    found: list[tuple[str, bytes | None]] = []
    for name, text in operation.headers.items():
        if form is HeaderForm.JSON and name == HEADERS:
            found += _pairs(text)
            continue
        try:
            name.encode()
            found.append((name, text.encode()))
        except UnicodeEncodeError as error:
            msg = f"the header {name[:100]!r} is no text that UTF-8 can write: {error.reason}"
            raise RecordError(msg) from None
    return found


def partition_of(operation: Operation, partitions: int, *, by_queue: bool) -> int:
    """The partition; records without a key go to that of their queue, so those of a queue keep their order."""
    if operation.key_value is not None and not by_queue:
        return BY_KEY
    return int(operation.more[QUEUE].rpartition("/")[2]) % partitions


def time_of(operation: Operation) -> int:
    """The time in milliseconds; 0: now."""
    return max(0, operation.time_ms or 0)


def _pairs(text: str) -> Sequence[tuple[str, bytes | None]]:
    try:
        found = [(str(name), None if value is None else base64.b64decode(value, validate=True)) for name, value in json.loads(text)]
        # Half a character is text to JSON, and none to the client.
        "".join(name for name, _ in found).encode()
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"the header {HEADERS} is no JSON list of pairs of a name and a value in base64: {error}"
        raise RecordError(msg) from None
    return found
