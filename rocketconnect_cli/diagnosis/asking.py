"""Asks gateways and metrics by HTTP: each for some seconds, and who does not answer is not asked again."""

import json
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from rocketconnect_cli.api import Access

ANSWER_SECONDS = 5.0
MOST_BYTES = 4 << 20
"""Of one answer: what is behind them is not read."""
_LATE = 2
"""So often somebody may be late before no more is asked of it."""


class Unasked(Exception):
    """There is no answer; the text says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered.

    Attributes:
        status: Of HTTP.
        text: The body, or its first part.
        skew: By how many seconds the clock there is ahead of ours, within one second; None: not told.
    """

    status: int
    text: str
    skew: float | None

    def document(self) -> Any:
        """The JSON of it.

        Raises:
            Unasked: it is none, or refuses.
        """
        try:
            found = json.loads(self.text)
        except (ValueError, RecursionError):
            msg = f"it answered {self.status} with what is no JSON, or is too long"
            raise Unasked(msg) from None
        if self.status >= 400:
            detail = found.get("detail") if isinstance(found, dict) else None
            msg = f"it answered {self.status}: {detail or self.text[:200]}"
            raise Unasked(msg)
        return found


class Asking:
    """One client for all that is asked by HTTP. Not for several threads at once.

    Args:
        access: How the gateway lets somebody in; shown to nobody else.
        deadline: When the time is over, of `time.monotonic`.
    """

    def __init__(self, access: Access, deadline: float) -> None:
        self._deadline = deadline
        self._token = access.token
        verify = True if access.context is None else access.context
        self._client = httpx.Client(timeout=ANSWER_SECONDS, verify=verify, headers={"Accept": "application/json, */*"})
        self._silent: dict[str, str] = {}
        self._late: dict[str, int] = {}

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def get(self, url: str, *, shows_token: bool = False) -> Answer:
        """Return what is answered there, whatever its status.

        Raises:
            Unasked: nobody answers, it takes too long, or the time of all is over.
        """
        place = urlsplit(url).netloc
        if place in self._silent:
            raise Unasked(self._silent[place])
        began = time.monotonic()
        until = min(self._deadline, began + ANSWER_SECONDS)
        if until <= began:
            msg = "the time was over before it was asked; give more with --timeout"
            raise Unasked(msg)
        headers = {"Authorization": f"Bearer {self._token}"} if shows_token and self._token else {}
        try:
            with self._client.stream("GET", url, headers=headers, timeout=until - began) as answer:
                told = time.time()
                parts, size = [], 0
                for chunk in answer.iter_bytes():
                    parts.append(chunk)
                    size += len(chunk)
                    if size > MOST_BYTES or time.monotonic() > until:
                        break
                body = b"".join(parts)[:MOST_BYTES]
                return Answer(answer.status_code, body.decode("utf-8", "replace"), _skew(answer.headers.get("date"), told))
        except httpx.TimeoutException:
            self._late[place] = self._late.get(place, 0) + 1
            msg = f"{place} did not answer within {ANSWER_SECONDS:g} s"
            if self._late[place] >= _LATE:
                self._silent[place] = f"{msg}, {_LATE} times, and was not asked again"
            raise Unasked(msg) from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            self._silent[place] = f"nothing answers at {place} ({error})"
            raise Unasked(self._silent[place]) from None


def _skew(date: str | None, told: float) -> float | None:
    try:
        # The header has whole seconds: in the middle it is half of one later.
        return parsedate_to_datetime(date).timestamp() + 0.5 - told if date else None
    except ValueError:
        return None
