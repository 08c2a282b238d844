"""Tokens of OAuth2, which a server gives to a client for its secret and which end."""

import time
from collections.abc import Mapping
from contextlib import closing
from urllib.parse import urlencode

from rocketconnect_sdk.http.answers import Refused
from rocketconnect_sdk.http.client import HttpClient
from rocketconnect_sdk.http.login import Login, Tls

_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
_BEFORE = 0.1
"""Of its time: so long before its end a token is not used any more."""


class NoToken(Refused):
    """The server gives us no token."""


class Tokens:
    """The token of a client, asked for where there is none, or where it ends (the grant client_credentials). For one thread.

    Args:
        url: Where tokens are given.
        client: Who we are.
        secret: Of the client.
        scope: What the token is for; empty: what the server says.
        tls: Whom we trust.
        seconds: The time of an answer.
    """

    def __init__(
        self, url: str, client: str, secret: str, scope: str = "", *, tls: Tls | None = None, seconds: float = 30.0
    ) -> None:
        self._url = url
        form = {"grant_type": "client_credentials", "client_id": client, "client_secret": secret, "scope": scope}
        self._form = urlencode({name: text for name, text in form.items() if text}).encode()
        self._secret = secret
        self._tls = tls
        self._seconds = seconds
        self._token = ""
        self._ends = 0.0
        self._is_new = False

    @property
    def headers(self) -> Mapping[str, str]:
        """What says in a request who we are.

        Raises:
            SystemAway: the server does not answer, or can't do it now.
            NoToken: it gives none.
        """
        self._is_new = not self._token or time.monotonic() >= self._ends
        if self._is_new:
            self._token = self._given()
        return Login(token=self._token).headers

    def renew(self) -> bool:
        """See Ending."""
        if self._is_new:
            return False
        self._token = ""
        return True

    def hidden(self, text: str) -> str:
        """See Ending."""
        return Login(password=self._secret, token=self._token).hidden(text)

    def _given(self) -> str:
        with closing(HttpClient([self._url], Login(), self._tls, seconds=self._seconds)) as http:
            answer = http.ask("POST", self._url, self._form, headers=_FORM)
            if answer.is_busy:
                raise http.problem(answer)
        try:
            found = answer.json() if answer.is_good else {}
            token, seconds = str(found["access_token"]), float(found.get("expires_in") or "inf")
        except (ValueError, KeyError, TypeError, AttributeError):
            # What is no token may be one all the same, in a form of its own.
            said = "what is no token" if answer.is_good else self.hidden(answer.said())
            raise NoToken(self._url, answer, said) from None
        self._ends = time.monotonic() + seconds * (1 - _BEFORE)
        return token
