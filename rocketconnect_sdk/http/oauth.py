"""Tokens that a server of OAuth 2 gives to a client for what it is (client credentials, RFC 6749 section 4.4)."""

import time
from collections.abc import Callable, Iterable
from urllib.parse import quote_plus, urlencode, urlsplit

from rocketconnect_sdk.configuration.references import login_is_known
from rocketconnect_sdk.errors import PermanentError, Problem, SystemAway
from rocketconnect_sdk.http.client import HttpClient
from rocketconnect_sdk.http.login import Login
from rocketconnect_sdk.http.options import tls_of
from rocketconnect_sdk.http.unsaid import Unsaid
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.hosts import of_urls

_HIDDEN = "***"
_BEFORE = 30.0
"""A token is asked for so many seconds before the one that there is ends, or sooner where that is short."""


def _token_url_problem(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        fits = not url or (parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0))
    except ValueError:
        fits = False
    if not fits or "@" in parts.netloc or parts.query or parts.fragment:
        return "is no URL of http or https, without a user, parameters and #"
    return None


def _pairs_problem(pairs: tuple[str, ...]) -> str | None:
    return next((f"{pair!r} is no NAME=TEXT" for pair in pairs if not pair.partition("=")[0] or "=" not in pair), None)


OAUTH = (
    Option(
        "oauth.token.url",
        "Where tokens of OAuth 2 are given to clients: https://HOST/oauth/token. Empty: no OAuth.",
        default="",
        check=_token_url_problem,
        fix="Write https://HOST/PATH.",
        reaches=of_urls,
    ),
    Option("oauth.client.id", "The client that asks for tokens.", default="", references=True),
    Option("oauth.client.secret", "Its secret.", secret=True),
    Option("oauth.scope", "What the tokens are to allow, separated by spaces. Empty: what the server gives.", default=""),
    Option(
        "oauth.parameters",
        "What else the server wants to know, each NAME=TEXT, separated by commas: audience=https://api.example.com.",
        Kind.LIST,
        default="",
        check=_pairs_problem,
        fix="Write NAME=TEXT.",
    ),
    Option(
        "oauth.client.auth",
        "How the client says who it is. basic: in a header. body: in the body of the request.",
        default="basic",
        choices=("basic", "body"),
    ),
)
"""Who we are by OAuth 2. See ClientCredentials."""


def oauth_problems(config: Config) -> Iterable[Problem]:
    """Options of OAuth that are there only in part, or beside others that say who we are."""
    given = [name for name in ("oauth.client.id", "oauth.client.secret", "oauth.scope", "oauth.parameters") if config[name]]
    if not config["oauth.token.url"]:
        if given:
            yield Problem("oauth.token.url", "", f"is empty, and {', '.join(given)} means nothing without it", "Set it.")
        return
    for name in ("oauth.client.id", "oauth.client.secret"):
        if not config[name]:
            yield Problem(name, "", "is empty, and no token is given without it", "Set it, or remove oauth.token.url.")
    for name in ("user", "token", "api.key"):
        if config[name]:
            yield Problem(name, "", "says who we are, and so does oauth.token.url", f"Remove {name} or oauth.token.url.")


def oauth_is_known(config: Config) -> bool:
    """Whether the options say who we are: what is still a reference is looked up where the connector runs."""
    return login_is_known(config, ("oauth.client.id", "oauth.client.secret"))


class ClientCredentials:
    """Has a token that is good now. One thread calls it.

    Args:
        config: With the options OAUTH and TLS.
        seconds: How long an answer may take.
        clock: Seconds that only grow.
    """

    def __init__(self, config: Config, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        parts = urlsplit(config["oauth.token.url"])
        self._path = parts.path or "/"
        client, secret = config["oauth.client.id"], config["oauth.client.secret"] or ""
        self._asked = {"grant_type": "client_credentials"}
        if config["oauth.scope"]:
            self._asked["scope"] = config["oauth.scope"]
        for pair in config["oauth.parameters"]:
            name, _, text = pair.partition("=")
            self._asked[name.strip()] = text.strip()
        login = Login(password=secret)
        headers = {"Accept": "application/json"}
        if config["oauth.client.auth"] == "basic":
            # Each is encoded before, by RFC 6749, 2.3.1.
            login = Login(quote_plus(client), quote_plus(secret))
        else:
            self._asked |= {"client_id": client, "client_secret": secret}
            login = Unsaid(password=secret)
        self._client = HttpClient([f"{parts.scheme}://{parts.netloc}"], login, tls_of(config), seconds=seconds, headers=headers)
        self._clock = clock
        self._token = ""
        self._until: float | None = None

    def token(self) -> str:
        """The token, which is asked for where there is none that is good for some seconds more.

        Raises:
            SystemAway: the server gives none for now.
            NotLetIn, Refused: it gives none to us.
        """
        if not self._token or (self._until is not None and self._clock() >= self._until):
            self._ask()
        return self._token

    def forget(self) -> None:
        """The token is not taken any more: another one is asked for."""
        self._token = ""

    def hidden(self, text: str) -> str:
        """A text of somebody else without the token."""
        return text.replace(self._token, _HIDDEN) if self._token else text

    def close(self) -> None:
        """Ends its connections. It may be used again."""
        self._client.close()

    def _ask(self) -> None:
        self._token = ""
        body = urlencode(self._asked).encode()
        answer = self._client.asked("POST", self._path, body, headers={"Content-Type": "application/x-www-form-urlencoded"})
        try:
            told = answer.json()
            token, kind, seconds = told["access_token"], told.get("token_type", "bearer"), told.get("expires_in")
            seconds = None if seconds is None else float(seconds)
        except (ValueError, TypeError, KeyError, AttributeError):
            token, kind, seconds = "", "", None
        if not isinstance(token, str) or not token or not isinstance(kind, str):
            msg = f"{self._client.place} answers {answer.status} with what is no token of OAuth 2"
            raise SystemAway(msg)
        if kind.lower() != "bearer" or not token.isascii() or not token.isprintable() or " " in token:
            msg = f"{self._client.place} gives a token that can't be shown in a header (Bearer): its type is {kind[:40]}"
            raise PermanentError(msg)
        self._token = token
        self._until = None if seconds is None else self._clock() + max(0.0, seconds - min(_BEFORE, seconds / 4))
