"""The options of what is asked over HTTP, with the same names everywhere."""

from collections.abc import Iterable

from rocketconnect_sdk.configuration.urls import server_problem
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http.login import Login, Tls
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.hosts import of_urls
from rocketconnect_sdk.permissions.roots import Access

AUTH = (
    Option("user", "The user. Empty: none.", default="", references=True, aliases=("username",)),
    Option("password", "The password of the user.", secret=True),
    Option("token", "A token (Bearer), in place of a user.", secret=True),
    Option("api.key", "An API key (ApiKey), in place of a user.", secret=True),
)
"""Who we are: `user`, `password`, `token`, `api.key`. See login_of."""

TLS = (
    Option(
        "ssl.ca.location",
        "A file with the certificates (PEM) that the server's own must come from. Empty: those that the system trusts.",
        default="",
        access=Access.READ,
    ),
    Option(
        "ssl.certificate.location",
        "A file with our own certificate (PEM), for servers that want one.",
        default="",
        access=Access.READ,
    ),
    Option("ssl.key.location", "A file with its key (PEM). Empty: it is in the same file.", default="", access=Access.READ),
    Option("ssl.key.password", "The password of the key.", secret=True),
)
"""TLS: `ssl.ca.location`, and a certificate of our own. See tls_of."""

REQUEST_TIMEOUT = Option(
    "request.timeout", "How long an answer of the server may take.", Kind.DURATION, "30s", minimum=0.1, maximum=3600
)


def urls_option(doc: str, fix: str, example: str = "") -> Option:
    """The option `url`: servers of one system, of which each can be asked."""
    return Option("url", doc, Kind.LIST, required=True, check=_urls_problem, fix=fix, reaches=of_urls, example=example)


def _urls_problem(urls: tuple[str, ...]) -> str | None:
    if not urls:
        return "names no server"
    return next((problem for problem in map(server_problem, urls) if problem), None)


def login_of(config: Config) -> Login:
    """Who we are, by the options AUTH, and by `api.key.header` where there is one."""
    key_header = config["api.key.header"] if "api.key.header" in config else ""  # noqa: SIM401 - Config has no default of its own
    return Login(
        config["user"], config["password"] or "", config["token"] or "", config["api.key"] or "", key_header=str(key_header)
    )


def tls_of(config: Config) -> Tls:
    """Whom we trust, by the options TLS."""
    names = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.key.password")
    return Tls(*(config[name] or "" for name in names))


def login_problems(config: Config) -> Iterable[Problem]:
    """Options that say in two ways who we are, or half of a way, or that a certificate is there only in part."""
    given = [name for name in ("user", "token", "api.key") if config[name]]
    if len(given) > 1:
        yield Problem(given[1], "", f"says who we are, and so does {given[0]}", f"Remove one of {' and '.join(given)}.")
    if config["password"] and not config["user"]:
        yield Problem("password", "", "is there without a user", "Set user, or remove it.")
    yield from tls_problems(config)


def tls_problems(config: Config, prefix: str = "") -> Iterable[Problem]:
    """Options TLS that are there only in part. `prefix` is what their names begin with."""
    key, certificate = f"{prefix}ssl.key.location", f"{prefix}ssl.certificate.location"
    if config[key] and not config[certificate]:
        yield Problem(key, config[key], "is a key without a certificate", f"Set {certificate}, or remove it.")
