"""How a connector is told of a server of Redis and of who it is there."""

from urllib.parse import urlsplit

from rocketconnect_sdk.options import Kind, Option
from rocketconnect_sdk.permissions.hosts import of_urls
from rocketconnect_sdk.permissions.roots import Access

PORT = 6379
CHECK_SECONDS = 3.0
"""A check waits no longer for a server."""


def url_problem(url: str) -> str | None:
    """What is wrong with the URL of a server; None: nothing."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("redis", "rediss") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return "is no URL of a Redis"
    database = parts.path.strip("/")
    if not fits or parts.query or parts.fragment or not (database or "0").isdecimal():
        return "is no URL of a Redis"
    return "has a user or a password in it, and these have options of their own" if "@" in parts.netloc else None


def place_of(url: str) -> str:
    """The database of a URL, written in one way."""
    parts = urlsplit(url)
    return f"redis://{parts.hostname}:{parts.port or PORT}/{int(parts.path.strip('/') or 0)}"


SERVER = (
    Option(
        "url",
        "The server, and its database: redis://HOST:6379/0, with TLS rediss://HOST:6379/0.",
        required=True,
        check=url_problem,
        fix="Write redis://HOST:6379/0 or rediss://HOST:6379/0; a user in `user`, a password in `password`.",
        reaches=of_urls,
        example="redis://127.0.0.1:6379/0",
    ),
    Option("user", "The user. Empty: that of servers without users.", default="", references=True, aliases=("username",)),
    Option("password", "The password of the user.", secret=True, aliases=("redisPassword",)),
    Option(
        "ssl.ca.location",
        "A file with the certificates (PEM) that the server's own must come from. Empty: those that the system trusts.",
        default="",
        access=Access.READ,
    ),
    Option("request.timeout", "How long an answer of the server may take.", Kind.DURATION, "30s", minimum=0.1, maximum=3600),
)
"""The options of a server: `url`, `user`, `password`, `ssl.ca.location`, `request.timeout`."""
