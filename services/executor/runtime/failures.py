"""What becomes of a record that cannot go on: one place decides for all stages (invariant 5), and makes the dead letter.

Dead letters have the properties that RocketMQ Connect gives them, by the same names, and some more.
"""

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from rocketconnect_sdk.dead_letters import PREFIX, STAGES, own_properties
from rocketconnect_sdk.misfit import misfit
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import NO_HEADERS, Offset, Rejected
from rocketconnect_sdk.schema import Schema
from services.executor.host.secrets import hide

_PROPERTIES_LIMIT = 32_767
_FREE_FOR_OTHERS = 4_096  # RCPOS, and what a broker adds
_FREE_FOR_REASON = 8_192  # however much of its own a message carries
_SEPARATORS = re.compile("[\x00-\x02]")
_TRACE_CHARACTERS = 8_000
_CAUSES = 5
_ADVICE = (
    "Correct the record or the configuration, or let bad records go with errors.tolerance=all "
    "(and keep them with errors.deadletterqueue.topic.name)"
)


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
        by: The class of what failed at it: a converter, a connector's reader or writer.
        trace: Where in the code it failed, the innermost call first; empty: nothing was raised.
        advice: What to do about it, as whole sentences; empty: what holds for any record.
    """

    stage: Stage
    error: str
    message: str
    original: bytes
    length: int
    sha256: str
    by: str
    trace: str = ""
    advice: str = ""

    @classmethod
    def of_value(cls, stage: Stage, error: Exception, value: object, by: object, schema: Schema | None = None) -> "Failure":
        """Of a value that a stage could not handle; `by`: what could not, an object or a class. With a schema it says where."""
        original = as_bytes(value)
        place = "" if schema is None else misfit(schema, value)
        reason = f"{place} ({error})" if place else str(error)
        digest = hashlib.sha256(original).hexdigest()
        name = type(error).__name__
        return cls(stage, name, reason, original, len(original), digest, _class_name(by), _trace(error))

    def of_bytes(self, original: bytes) -> "Failure":
        """The same, of a message with these bytes."""
        return replace(self, original=original, length=len(original), sha256=hashlib.sha256(original).hexdigest())

    @classmethod
    def of_rejected(cls, value: Rejected, by: object) -> "Failure":
        """Of a value that a source could not read; `by`: the source's task."""
        kept = (value.original, value.length, value.sha256)
        return cls(Stage.POLL, value.error, value.reason, *kept, _class_name(by), advice=value.advice)


def _class_name(by: object) -> str:
    kind = by if isinstance(by, type) else type(by)
    return f"{kind.__module__}.{kind.__qualname__}"


def _trace(error: BaseException) -> str:
    """As `traceback` has it, but without the lines of code: a topic may be full of bad messages, and reading files takes long."""
    lines: list[str] = []
    cause: BaseException | None = error
    for _ in range(_CAUSES):
        if cause is None:
            break
        lines.append(f"{'caused by ' if lines else ''}{_class_name(cause)}: {cause}")
        frames = []
        at = cause.__traceback__
        while at is not None:
            code = at.tb_frame.f_code
            frames.append(f'  File "{code.co_filename}", line {at.tb_lineno}, in {code.co_qualname}')
            at = at.tb_next
        lines += reversed(frames)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return "\n".join(lines)[:_TRACE_CHARACTERS]


def as_bytes(value: object) -> bytes:
    """A value as people would write it, for dead letters."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        # Names of files have bytes that are no text as surrogates; anything else that UTF-8 can't hold is written out.
        try:
            return value.encode(errors="surrogateescape")
        except UnicodeEncodeError:
            return value.encode(errors="backslashreplace")
    return json.dumps(value, ensure_ascii=False, default=repr).encode(errors="replace")


def written(offset: Offset) -> str:
    """An offset of a source partition, as people and the properties of dead letters have it."""
    return ".".join(map(str, offset))


def place_of(partition: str, offset: Offset) -> str:
    """For people: where a record of a source stands."""
    return f"source partition {partition}, record before offset {written(offset)}"


def beyond(partition: str, offset: Offset) -> str:
    """A position as `rocketconnect position set` takes it."""
    numbers = ",".join(map(str, offset))
    return f"{partition}={numbers if len(offset) == 1 else f'[{numbers}]'}"


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
        connector: The name of the connector, for what people are told to do.
    """

    tolerant: bool
    dead_letter_topic: str
    properties: bool
    log: bool
    log_values: bool
    connector: str = "NAME"

    @classmethod
    def of(cls, config: Config, connector: str) -> "ErrorPolicy":
        """The policy of the configuration of a connector."""
        return cls(
            config["errors.tolerance"] == "all",
            config["errors.deadletterqueue.topic.name"] or "",
            config["errors.deadletterqueue.context.properties.enable"],
            config["errors.log.enable"],
            config["errors.log.include.messages"],
            connector,
        )

    @classmethod
    def of_nobody(cls) -> "ErrorPolicy":
        """Where records are only looked at: bad ones stop nothing and are kept nowhere, and who looks tells of them."""
        return cls(tolerant=True, dead_letter_topic="", properties=False, log=False, log_values=False)

    def describe(self, failure: Failure, place: str) -> str:
        """A log line about a record that is left out."""
        goes = f"it goes to the topic {self.dead_letter_topic}" if self.dead_letter_topic else "it is dropped"
        shown = f": {failure.original[:200]!r}" if self.log_values else ""
        return f"{place}: {failure.stage.value}: {failure.error}: {failure.message}; {goes}{shown}"

    def check(self, failure: Failure, place: str, skipping: str = "") -> None:
        """Passes when the record may be left out.

        Args:
            failure: Why it cannot go on.
            place: Where it stands, for people.
            skipping: What `position set` is to be told to leave out this record alone, see `beyond`; empty: it can't.

        Raises:
            RecordFailed: it may not; the text says what to do.
        """
        if self.tolerant:
            return
        msg = f"{place}: {failure.stage.value}: {failure.error}: {failure.message}. {failure.advice or _ADVICE}"
        if skipping:
            command = f"rocketconnect position set {self.connector} {shlex.quote(skipping)} --restart"
            msg += f". To leave out this record alone: `{command}`"
        raise RecordFailed(msg)


def dead_letter(
    failure: Failure,
    origin: Mapping[str, str],
    *,
    with_properties: bool,
    body_limit: int,
    original: Mapping[str, str] = NO_HEADERS,
) -> tuple[bytes, dict[str, str]]:
    """Body and properties of the message that keeps a bad record.

    Args:
        failure: Why.
        origin: Where it comes from: connector, task, source partition and offset, or topic, queue and offset.
        with_properties: Say why in properties.
        body_limit: At most so many bytes of the original; a longer one is kept in its first part, with length and hash.
        original: The properties of the bad message, or of the message that the record would have become: its key, its tags and what
            people gave it stay with it. When they leave too little room for the reason, the largest are left out, and named.
    """
    body = failure.original[:body_limit]
    cut = len(body) < failure.length
    kept, left_out = _fitting(own_properties(original))
    if not with_properties and not cut:
        return body, kept
    said = {
        **origin,
        "stage": STAGES[failure.stage.value],
        "class.name": failure.by,
        "exception.class.name": failure.error,
        "length": str(failure.length),
        "sha256": failure.sha256,
    }
    if cut:
        said["cut"] = f"the first {len(body)} of {failure.length} bytes"
    if left_out:
        said["properties.left.out"] = ", ".join(left_out)[:1_000]
    # Invariant 6: no secret in a message. The longest last: they get the room that the others leave.
    said["exception.message"] = hide(failure.message)
    said["exception.stacktrace"] = hide(failure.trace)
    properties: dict[str, str] = {}
    left = _PROPERTIES_LIMIT - _FREE_FOR_OTHERS - sum(_size(name, value) for name, value in kept.items())
    for name, value in said.items():
        clean = _SEPARATORS.sub(" ", value)
        name_length = len(PREFIX) + len(name) + 2
        encoded = clean.encode(errors="replace")[: max(0, left - name_length)]
        if encoded:
            properties[PREFIX + name] = encoded.decode(errors="ignore")
            left -= name_length + len(encoded)
    return body, {**kept, **properties}


def _fitting(properties: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Those that leave room for the reason, and the names of the others."""
    left = _PROPERTIES_LIMIT - _FREE_FOR_OTHERS - _FREE_FOR_REASON
    kept = set()
    for name, value in sorted(properties.items(), key=lambda each: _size(*each)):
        left -= _size(name, value)
        if left < 0:
            break
        kept.add(name)
    fitting = {name: value for name, value in properties.items() if name in kept}
    return fitting, [name for name in properties if name not in kept]


def _size(name: str, value: str) -> int:
    """As it stands in a message, in bytes."""
    return len(name.encode(errors="replace")) + len(value.encode(errors="replace")) + 2
