"""What an answer of a registry says. Pure."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rocketconnect_sdk.http import Answer
from rocketconnect_sdk.registry.model import Reference, RegisteredSchema

_SHOWN = 300


class NoAnswer(Exception):
    """It is no answer of a registry that works: another one may give one, or the same one later.

    Attributes:
        wait: After how many seconds, where it says so.
    """

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class RegistryRejected(Exception):
    """The registry does not do it, and says why.

    Attributes:
        status: Of HTTP.
        code: The registry's own, such as 40403.
        reason: Its words.
    """

    def __init__(self, status: int, code: int, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.status = status
        self.code = code
        self.reason = reason


def content(answer: Answer, now: datetime) -> Any:
    """The JSON of an answer.

    Raises:
        NoAnswer: see there.
        RegistryRejected: see there.
    """
    if answer.is_busy:
        msg = f"answers {answer.status}{_said(answer)}"
        raise NoAnswer(msg, answer.wait(now))
    if answer.status in (401, 403):
        raise RegistryRejected(answer.status, answer.status, _said(answer).removeprefix(": ") or "no reason given")
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        kind = answer.headers.get("content-type") or "something"
        msg = (
            f"answers {answer.status} with {kind} that is no JSON, as no schema registry does: "
            "look at the URL, and at what stands before the registry"
        )
        raise NoAnswer(msg) from None
    if 200 <= answer.status < 300:
        return body
    code = body.get("error_code") if isinstance(body, dict) else None
    if not isinstance(code, int):
        msg = f"answers {answer.status} without a registry's error code: look at the URL (of Apicurio it ends in /apis/ccompat/v7)"
        raise NoAnswer(msg)
    raise RegistryRejected(answer.status, code, str(body.get("message"))[:_SHOWN])


def number(body: Any, key: str, *, most: int) -> int:
    """A number of an answer. Raises NoAnswer where there is none."""
    value = body.get(key) if isinstance(body, dict) else None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        msg = f"answers with no {key}, as no schema registry does"
        raise NoAnswer(msg)
    return value


def text(body: Any, key: str) -> str:
    """A text of an answer. Raises NoAnswer where there is none."""
    value = body.get(key) if isinstance(body, dict) else None
    if not isinstance(value, str):
        msg = f"answers with no {key}, as no schema registry does"
        raise NoAnswer(msg)
    return value


def schema(body: Any) -> RegisteredSchema:
    """The schema of an answer. Raises NoAnswer where there is none."""
    words = text(body, "schema")
    listed = body.get("references") or []
    if not isinstance(listed, list):
        msg = "answers with references that are no list, as no schema registry does"
        raise NoAnswer(msg)
    references = tuple(Reference(text(one, "name"), text(one, "subject"), number(one, "version", most=2**31 - 1)) for one in listed)
    # Avro is what a registry does not name: it was there before the others.
    return RegisteredSchema(str(body.get("schemaType") or "AVRO"), words, references)


def asked(wanted: RegisteredSchema) -> Mapping[str, object]:
    """A schema as it is sent."""
    form: dict[str, object] = {"schema": wanted.text}
    if wanted.kind != "AVRO":
        form["schemaType"] = wanted.kind
    if wanted.references:
        form["references"] = [{"name": one.name, "subject": one.subject, "version": one.version} for one in wanted.references]
    return form


def _said(answer: Answer) -> str:
    """The message of an error, if it has the form of a registry's."""
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        return ""
    said = body.get("message") if isinstance(body, dict) else None
    return f": {said[:_SHOWN]}" if isinstance(said, str) and said else ""
