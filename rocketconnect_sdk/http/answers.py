"""What an answer over HTTP says, and what follows from it. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin

from rocketconnect_sdk.errors import PermanentError, SystemAway

_SHOWN = 300
_LONGEST_WAIT = 300.0
"""Seconds. A server that asks for more is asked earlier: it may be another one that stood before it."""
_BUSY = (408, 425, 429)
_UNKNOWN, _FORBIDDEN, _SERVER_ERRORS = 401, 403, 500


class RequestRejected(PermanentError):
    """The server does not do it.

    Attributes:
        status: Of HTTP.
        said: Its reason, for people.
        answer: The whole.
    """

    def __init__(self, place: str, answer: "Answer", said: str, fix: str = "") -> None:
        super().__init__(f"{place} answers {answer.status}: {said}{f'. {fix}' if fix else ''}")
        self.status = answer.status
        self.said = said
        self.answer = answer


class NotLetIn(RequestRejected):
    """It does not know who we are (401), or does not allow it (403)."""

    option = "user"


class NotTrusted(SystemAway):
    """Its certificate is none that is trusted. That of a server is replaced, so it may be right later."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        status: Of HTTP.
        body: The body.
        headers: By their names in lower case.
        url: What was asked.
    """

    status: int
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = field(default="", repr=False)

    @property
    def is_good(self) -> bool:
        """Whether it was done."""
        return 200 <= self.status < 300

    @property
    def is_busy(self) -> bool:
        """Whether the same may be done later."""
        return self.status in _BUSY or self.status >= _SERVER_ERRORS

    @property
    def target(self) -> str:
        """The URL that it leads to; empty: to none."""
        try:
            return urljoin(self.url, self.headers.get("location", "")) if "location" in self.headers else ""
        except ValueError:
            return ""

    def json(self) -> Any:
        """The body as JSON. Raises ValueError: it is none."""
        try:
            return json.loads(self.body)
        except RecursionError:
            msg = "it is nested too deep"
            raise ValueError(msg) from None

    def wait(self, now: datetime) -> float | None:
        """After how many seconds it is worth while to ask again, where the server says so: Retry-After, a number or a date."""
        text = self.headers.get("retry-after", "")
        if text.isascii() and text.isdigit() and len(text) < 10:
            seconds = float(text)
        else:
            try:
                until = parsedate_to_datetime(text)
            except (ValueError, TypeError, IndexError):
                return None
            seconds = ((until if until.tzinfo else until.replace(tzinfo=UTC)) - now).total_seconds()
        return min(seconds, _LONGEST_WAIT) if seconds > 0 else None

    def said(self) -> str:
        """Its reason in a few words: a message of JSON in the forms that are usual, else the beginning of its text."""
        try:
            text = _reason(self.json())
        except ValueError:
            text = self.body[: 4 * _SHOWN].decode("utf-8", "replace")
        return " ".join(text.split())[:_SHOWN] or (f"it is at {self.target}" if self.target else "no reason given")


def problem_of(answer: Answer, place: str, said: str, now: datetime) -> Exception:
    """The error that an answer is which is not good.

    Args:
        answer: The answer.
        place: Names the server, for people.
        said: Its reason.
        now: The time.
    """
    if answer.is_busy:
        return SystemAway(f"{place} answers {answer.status}: {said}", wait=answer.wait(now))
    if answer.status == _UNKNOWN:
        return NotLetIn(place, answer, said, "Give the user and the password, the token or the API key that the server knows")
    if answer.status == _FORBIDDEN:
        return NotLetIn(place, answer, said, "Give who we are there the right to do this")
    if 300 <= answer.status < 400:
        # Who follows shows passwords to whoever the server names.
        return RequestRejected(place, answer, said, "Redirects are not followed: give the URL that it leads to")
    return RequestRejected(place, answer, said)


def _reason(body: Any) -> str:
    if not isinstance(body, Mapping):
        return str(body)
    error = body.get("error", body)
    if isinstance(error, Mapping):
        for name in ("reason", "message", "detail", "title", "type"):
            if isinstance(error.get(name), str) and error[name]:
                return str(error[name])
        return json.dumps(body)
    more = body.get("error_description", body.get("message", ""))
    return f"{error}: {more}" if more else str(error)
