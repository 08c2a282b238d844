"""What becomes of a record that cannot go on: one place decides for all stages (invariant 5), and makes the dead letter. Pure."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import Rejected

PREFIX = "__connect.errors."
"""Of the properties of a dead letter: the prefix that RocketMQ Connect uses."""

_PROPERTIES_LIMIT = 32_767
_FREE_FOR_OTHERS = 4_096  # RCPOS, and what a broker adds
_SEPARATORS = re.compile("[\x00-\x02]")


class Stage(Enum):
    """Where a record failed."""

    POLL = "poll"
    TRANSFORM = "transform"
    CONVERT = "convert"
    SEND = "send"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a record cannot go on.

    Attributes:
        stage: Where.
        error: The class of the error.
        message: For people: what is wrong and what can be done.
        original: The original bytes, or their first part.
        length: The length of the whole.
        sha256: The hash of the whole, in hexadecimal digits.
    """

    stage: Stage
    error: str
    message: str
    original: bytes
    length: int
    sha256: str

    @classmethod
    def of_value(cls, stage: Stage, error: Exception, value: object) -> "Failure":
        """Of a value that a stage could not handle."""
        original = as_bytes(value)
        return cls(stage, type(error).__name__, str(error), original, len(original), hashlib.sha256(original).hexdigest())

    def of_bytes(self, original: bytes) -> "Failure":
        """The same, of a message with these bytes."""
        return replace(self, original=original, length=len(original), sha256=hashlib.sha256(original).hexdigest())

    @classmethod
    def of_rejected(cls, value: Rejected) -> "Failure":
        """Of a value that a source could not read."""
        return cls(Stage.POLL, value.error, value.reason, value.original, value.length, value.sha256)


def as_bytes(value: object) -> bytes:
    """A value as people would write it, for dead letters."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return value.encode(errors="surrogateescape")
    return json.dumps(value, ensure_ascii=False, default=repr).encode(errors="replace")


class RecordFailed(Exception):
    """errors.tolerance=none: the task is FAILED at this record, and nothing behind it moves."""


@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """What the configuration says of bad records.

    Attributes:
        tolerant: errors.tolerance=all: the task goes on.
        dead_letter_topic: Where bad records go then; empty: they are counted and dropped.
        properties: Dead letters carry the reason as properties.
        log: Each bad record is logged.
        log_values: With its first bytes.
    """

    tolerant: bool
    dead_letter_topic: str
    properties: bool
    log: bool
    log_values: bool

    @classmethod
    def of(cls, config: Config) -> "ErrorPolicy":
        """The policy of a configuration."""
        return cls(
            config["errors.tolerance"] == "all",
            config["errors.deadletterqueue.topic.name"] or "",
            config["errors.deadletterqueue.context.properties.enable"],
            config["errors.log.enable"],
            config["errors.log.include.messages"],
        )

    def describe(self, failure: Failure, place: str) -> str:
        """A log line."""
        shown = f": {failure.original[:200]!r}" if self.log_values else ""
        return f"{place}: {failure.stage.value}: {failure.error}: {failure.message}{shown}"

    def check(self, failure: Failure, place: str) -> None:
        """Passes when the record may be left out.

        Raises:
            RecordFailed: it may not.
        """
        if not self.tolerant:
            msg = (
                f"{place}: {failure.stage.value}: {failure.error}: {failure.message}. Correct the record or the configuration, or "
                "let bad records go with errors.tolerance=all (and keep them with errors.deadletterqueue.topic.name)"
            )
            raise RecordFailed(msg)


def dead_letter(
    failure: Failure, origin: Mapping[str, str], *, with_properties: bool, body_limit: int
) -> tuple[bytes, dict[str, str]]:
    """Body and properties of the message that keeps a bad record.

    Args:
        failure: Why.
        origin: Where it comes from: connector, task, source partition and offset, or topic, queue and offset.
        with_properties: Say why in properties.
        body_limit: At most so many bytes of the original; a longer one is kept in its first part, with length and hash.
    """
    body = failure.original[:body_limit]
    cut = len(body) < failure.length
    if not with_properties and not cut:
        return body, {}
    said = {
        **origin,
        "stage": failure.stage.value,
        "exception.class.name": failure.error,
        "length": str(failure.length),
        "sha256": failure.sha256,
        "exception.message": failure.message,
    }
    if cut:
        said["cut"] = f"the first {len(body)} of {failure.length} bytes"
    properties: dict[str, str] = {}
    left = _PROPERTIES_LIMIT - _FREE_FOR_OTHERS
    for name, value in said.items():
        clean = _SEPARATORS.sub(" ", value)
        name_length = len(PREFIX) + len(name) + 2
        encoded = clean.encode(errors="replace")[: max(0, left - name_length)]
        if encoded:
            properties[PREFIX + name] = encoded.decode(errors="ignore")
            left -= name_length + len(encoded)
    return body, {name: value for name, value in properties.items() if value}
