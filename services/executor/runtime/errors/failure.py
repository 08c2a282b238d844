"""What becomes of a record that cannot go on: one place decides for all stages (invariant 5), and makes the dead letter.

Dead letters have the properties that RocketMQ Connect gives them, by the same names, and some more.
"""

import hashlib
import json
import re
from dataclasses import dataclass, replace

from rocketconnect_sdk.columns.misfit import misfit
from rocketconnect_sdk.converters.text import leaf_text
from rocketconnect_sdk.record import Offset, Rejected
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.stages import Stage

SEPARATORS = re.compile("[\x00-\x02]")
_TRACE_CHARACTERS = 8_000
_CAUSES = 5
ADVICE = (
    "Correct the record or the configuration, or let bad records go with errors.tolerance=all "
    "(and keep them with errors.deadletterqueue.topic.name)"
)


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
        advice: Of a record of a source, how it is corrected, as whole sentences; empty: as any record is.
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
    return json.dumps(value, ensure_ascii=False, default=_leaf).encode(errors="replace")


def _leaf(value: object) -> str:
    try:
        return leaf_text(value)
    except TypeError:
        return repr(value)


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
