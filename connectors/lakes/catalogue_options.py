"""The options that say which table of Iceberg is meant, and where its newest state is kept."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from connectors.jdbc.endpoint import parse_url
from connectors.jdbc.endpoint import url_problem as jdbc_problem
from connectors.lakes.options import TOPIC
from connectors.lakes.rest_catalogue import SCOPE, CatalogueRefused, RestCatalogue, RestLogin
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.configuration.references import REFERENCE
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.permissions.hosts import of_urls

JDBC = "jdbc"
REST = "rest"
_HADOOP = "hadoop"
_TABLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,199}(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,199})+")
_DATABASE = "postgresql://HOST:5432/DATABASE"
_SERVER = "https://HOST/PATH"
_LOGIN = ("catalog.url", "catalog.user", "catalog.password")
_REST_ALONE = ("catalog.warehouse", "catalog.token", "catalog.scope", "catalog.oauth2.url")
_LOGIN_OF_REST = ("catalog.user", "catalog.password", "catalog.token")
_SECRETS = ("catalog.password", "catalog.token")
_CHECK_SECONDS = 5.0
"""A check waits no longer for an answer of a catalogue."""


TABLE_FIX = "Write NAMESPACE.TABLE, of letters, digits, _ and -."


def table_problem(text: str) -> str | None:
    """What is wrong with the name of a table; None: nothing."""
    return None if _TABLE.fullmatch(text) else "is not the name of a table with its namespace"


def _tables_problem(text: str) -> str | None:
    """The same, where the topic may be in it."""
    return table_problem(text.replace(TOPIC, "topic"))


def _url_problem(url: str) -> str | None:
    if not url or _is_http(url):
        return _server_problem(url)
    if (found := jdbc_problem(url)) is None:
        return None if parse_url(url).kind == "postgres" else "names no PostgreSQL"
    return found


def _is_http(url: str) -> bool:
    return url.startswith(("http://", "https://"))


def _server_problem(url: str) -> str | None:
    if not url:
        return None
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        fits = False
    if not fits or parts.query or parts.fragment:
        return "is no URL of a server"
    return "has a user or a password in it, and these have options of their own" if "@" in parts.netloc else None


def table_options(of_table: str, of_database: str) -> Sequence[Option]:
    """The options.

    Args:
        of_table: What is said of a table that is not there; empty: nothing.
        of_database: What is said of the tables of a catalogue that are not there; empty: nothing.
    """
    return (
        Option(
            "table",
            f"The table behind its namespace: shop.orders is in the directory shop/orders of the warehouse. {of_table}".rstrip(),
            required=True,
            check=_tables_problem if of_table else table_problem,
            fix=TABLE_FIX,
            example="shop.orders",
        ),
        Option(
            "catalog",
            "Where it is kept which state of the table is the newest. hadoop: in the directory of the table. jdbc: in a "
            "PostgreSQL. rest: in a server that speaks Iceberg's REST protocol, as Polaris, Lakekeeper, Nessie and Gravitino do.",
            default=_HADOOP,
            choices=(_HADOOP, JDBC, REST),
        ),
        Option(
            "catalog.url",
            f"With jdbc, the database: {_DATABASE}. {of_database}".rstrip()
            + f" With rest, the address of the catalogue, beneath which v1/config is: {_SERVER}.",
            default="",
            check=_url_problem,
            fix=f"With jdbc write {_DATABASE}, with rest {_SERVER}.",
            reaches=of_urls,
        ),
        Option(
            "catalog.user",
            "The user of that database. With rest, the client of OAuth2 that gets a token.",
            default="",
            references=True,
        ),
        Option("catalog.password", "The password of that user, the secret of that client.", secret=True),
        Option(
            "catalog.name", "With jdbc, the name of the catalogue: who reads the table gives the same.", default="rocketconnect"
        ),
        Option(
            "catalog.warehouse",
            "With rest, the warehouse, as the catalogue names it. With Polaris it is the name of a catalogue. Empty: the catalogue "
            "has one alone.",
            default="",
        ),
        Option("catalog.token", "With rest, a token that is there already, in place of catalog.user.", secret=True),
        Option(
            "catalog.scope",
            f"With rest, the scope of the token that is asked for. Default: {SCOPE}. With Polaris: PRINCIPAL_ROLE:ALL.",
            default="",
        ),
        Option(
            "catalog.oauth2.url",
            "With rest, where that token is asked for. Default: v1/oauth/tokens of the catalogue.",
            default="",
            check=_server_problem,
            fix="Write https://HOST/PATH.",
            reaches=of_urls,
        ),
    )


def table_root(config: Config) -> Path:
    """The directory of the table; with rest, where the catalogue says which it is, its name, for people."""
    names = config["table"].split(".")
    return Path(config["table"]) if config["catalog"] == REST else Path(config["warehouse"], *names)


def login_of(config: Config) -> RestLogin:
    """The catalogue of rest, and who we are there."""
    return RestLogin(
        config["catalog.url"].rstrip("/"),
        config["catalog.warehouse"],
        config["catalog.user"],
        config["catalog.password"] or "",
        config["catalog.token"] or "",
        config["catalog.scope"] or SCOPE,
        config["catalog.oauth2.url"],
    )


def is_login_known(config: Config) -> bool:
    """Whether it is said who we are at a catalogue of rest: what is still a reference is looked up where the connector runs."""
    return not any(REFERENCE.search(config[key] or "") for key in _LOGIN_OF_REST)


def rest_table(config: Config) -> Mapping[str, Any] | None:
    """What the catalogue of rest says of the table, soon; None: there is none, or a secret is still a reference.

    Raises: what RestCatalogue.table() does.
    """
    if not is_login_known(config):
        return None
    return RestCatalogue(login_of(config), _CHECK_SECONDS).table(config["table"])


def catalogue_problems(config: Config) -> Iterable[Problem]:
    """What is wrong with the options of the catalogue, each by itself and together."""
    kind = config["catalog"]
    if kind != REST:
        if not config["warehouse"]:
            reason = f"is missing, and catalog={kind} needs the directory of the tables"
            yield Problem("warehouse", "", reason, "Give an absolute path, or set catalog=rest.")
        reason = f"means nothing with catalog={kind}"
        yield from _meaningless(config, _REST_ALONE, reason, "Set catalog=rest, or remove it.")
    if kind == _HADOOP:
        reason = "means nothing with catalog=hadoop, which is in the warehouse"
        yield from _meaningless(config, _LOGIN, reason, "Set catalog=jdbc or catalog=rest, or remove it.")
        return
    url, server = config["catalog.url"], _DATABASE if kind == JDBC else _SERVER
    if not url:
        what = "the database of the catalogue" if kind == JDBC else "the address of the catalogue"
        yield Problem("catalog.url", "", f"is missing, and catalog={kind} needs {what}", f"Set it to {server}.")
    elif _is_http(url) != (kind == REST):
        what = "names no PostgreSQL" if kind == JDBC else "is no address of a server that speaks HTTP"
        yield Problem("catalog.url", url, what, f"Write {server}, or set catalog={JDBC if kind == REST else REST}.")
    if kind == REST:
        yield from _rest_problems(config)


def _rest_problems(config: Config) -> Iterator[Problem]:
    reason = "means nothing with catalog=rest, where the catalogue says in which directory a table is"
    yield from _meaningless(config, ("warehouse",), reason, "Remove it; catalog.warehouse names one of the catalogue.")
    if bool(config["catalog.user"]) != bool(config["catalog.password"]):
        missing, given = ("catalog.user", "password") if config["catalog.password"] else ("catalog.password", "user")
        yield Problem(missing, "", f"is missing beside catalog.{given}: a client of OAuth2 has both", "Set both, or none.")
    if config["catalog.token"]:
        reason = "means nothing beside catalog.token, which is a token already"
        keys = ("catalog.user", "catalog.password", "catalog.scope", "catalog.oauth2.url")
        yield from _meaningless(config, keys, reason, "Remove it, or catalog.token.")
    elif not config["catalog.user"]:
        reason = "means nothing without catalog.user: no token is asked for"
        yield from _meaningless(config, ("catalog.scope", "catalog.oauth2.url"), reason, "Set catalog.user, or remove it.")


def _meaningless(config: Config, keys: Iterable[str], reason: str, fix: str) -> Iterator[Problem]:
    for key in (key for key in keys if config[key]):
        yield Problem(key, "" if key in _SECRETS else config.raw[key], reason, fix)


@preflight(away=("catalog.url", "Start the catalogue, or correct the address."))
def answer_problems(config: Config) -> Iterable[Problem]:
    """What a catalogue of rest says against it, where its options are right."""
    if config["catalog"] != REST or any(catalogue_problems(config)):
        return
    try:
        told = rest_table(config) or {}
        location = str(told.get("metadata", {}).get("location", ""))
        if not location.startswith(("/", "file:")) and told:
            reason = f"is in {location}, and only tables in directories of this machine are read and written"
            yield Problem("table", config["table"], reason, "Name a table whose location is a directory.")
    except CatalogueRefused as error:
        secret = error.key in _SECRETS
        yield Problem(error.key, "" if secret else config.raw.get(error.key, ""), error.reason, error.fix)
