"""Tokens that a server of OAuth 2 gives to a client for its secret, and which end (client credentials, RFC 6749, 4.4)."""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from threading import Lock
from typing import Any
from urllib.parse import quote_plus, urlencode

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.http.answers import RequestRejected, problem_of
from rocketconnect_sdk.http.client import HttpClient
from rocketconnect_sdk.http.login import Login, Tls

_HEADERS = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
_BEFORE = 30.0
"""So many seconds before its end a token is not used any more, or a quarter of its time where that is less."""


class NoToken(RequestRejected):
    """The server gives us no token."""


class Tokens:
    """The token of a client, asked for where there is none, or where it ends. Any number of threads and clients share it.

    Args:
        url: Where tokens are given.
        client: Who we are.
        secret: Of the client.
        scope: What the token is for; empty: what the server says.
        parameters: What else the server wants to know.
        is_basic: We say who we are in a header (Basic), and not in the body.
        tls: Whom we trust.
        seconds: The time of an answer.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        url: str,
        client: str,
        secret: str,
        scope: str = "",
        *,
        parameters: Mapping[str, str] | None = None,
        is_basic: bool = False,
        tls: Tls | None = None,
        seconds: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        form = {"grant_type": "client_credentials", "scope": scope, **(parameters or {})}
        # Each is encoded before, by RFC 6749, 2.3.1.
        self._login = Login(quote_plus(client), quote_plus(secret)) if is_basic else Login()
        if not is_basic:
            form |= {"client_id": client, "client_secret": secret}
        self._form = urlencode({name: text for name, text in form.items() if text}).encode()
        self._secret = secret
        self._tls = tls
        self._seconds = seconds
        self._clock = clock
        self._token = ""
        self._ends = 0.0
        self._is_new = False
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """What is of this process does not travel."""
        return {name: each for name, each in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """See __getstate__."""
        self.__dict__.update(state)
        self._lock = Lock()

    @property
    def headers(self) -> Mapping[str, str]:
        """What says in a request who we are.

        Raises:
            SystemAway: the server does not answer, can't do it now, or answers what is no token.
            NoToken: it gives none.
            PermanentError: what it gives can't be shown.
        """
        with self._lock:
            self._is_new = not self._token or self._clock() >= self._ends
            if self._is_new:
                self._token = self._given()
            return Login(token=self._token).headers

    def renew(self, refused: Mapping[str, str]) -> bool:
        """See Ending."""
        with self._lock:
            if refused == Login(token=self._token).headers:
                if self._is_new:
                    return False
                self._token = ""
            return True

    def hidden(self, text: str) -> str:
        """See Ending."""
        return Login(password=self._secret, token=self._token).hidden(self._login.hidden(text))

    def _given(self) -> str:
        self._token = ""
        with closing(HttpClient([self._url], self._login, self._tls, seconds=self._seconds)) as http:
            answer = http.ask("POST", self._url, self._form, headers=_HEADERS)
        said = self.hidden(answer.said())
        if answer.is_busy:
            raise problem_of(answer, self._url, said, datetime.now(UTC))
        if not answer.is_good:
            raise NoToken(self._url, answer, said)
        try:
            told = answer.json()
            token, kind, seconds = told["access_token"], told.get("token_type", "bearer"), told.get("expires_in")
            seconds = math.inf if seconds is None else float(seconds)
        except (ValueError, TypeError, KeyError, AttributeError):
            token = kind = None
        if not (token and isinstance(token, str) and isinstance(kind, str)):
            # It may be a page of what stands before the server. It is not repeated: it may be a token, in a form of its own.
            msg = f"{self._url} answers {answer.status} with what is no token of OAuth 2"
            raise SystemAway(msg)
        if kind.lower() != "bearer" or not token.isascii() or not token.isprintable() or " " in token:
            msg = f"{self._url} gives a token that can't be shown in a header (Bearer): its type is {kind[:40]}"
            raise PermanentError(msg)
        self._ends = self._clock() + seconds - min(_BEFORE, seconds / 4)
        return token
