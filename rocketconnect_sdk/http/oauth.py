"""The options of who we are by OAuth 2."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from rocketconnect_sdk.configuration.references import login_is_known
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http.options import tls_of
from rocketconnect_sdk.http.tokens import Tokens
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.hosts import of_urls


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
"""Who we are by OAuth 2. See tokens_of."""


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


def tokens_of(config: Config, seconds: float) -> Tokens | None:
    """Who gives the tokens, by the options OAUTH and TLS; None: there is no OAuth.

    Args:
        config: Of a connector.
        seconds: How long an answer may take.
    """
    if not config["oauth.token.url"]:
        return None
    pairs = (pair.partition("=") for pair in config["oauth.parameters"])
    return Tokens(
        config["oauth.token.url"],
        config["oauth.client.id"],
        config["oauth.client.secret"] or "",
        config["oauth.scope"],
        parameters={name.strip(): text.strip() for name, _, text in pairs},
        is_basic=config["oauth.client.auth"] == "basic",
        tls=tls_of(config),
        seconds=seconds,
    )
