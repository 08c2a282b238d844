"""The options that say which table of Iceberg is meant, and where its newest state is kept."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from connectors.jdbc.place import parse_url, url_problem
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.permissions.hosts import of_urls

JDBC = "jdbc"
_HADOOP = "hadoop"
_TABLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,199}(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,199})+")
_URL = "postgresql://HOST:5432/DATABASE"
_PLACES = ("catalog.url", "catalog.user", "catalog.password")


def _table_problem(text: str) -> str | None:
    return None if _TABLE.fullmatch(text) else "is not the name of a table with its namespace"


def _url_problem(url: str) -> str | None:
    if not url or (found := url_problem(url)) is None:
        return None if not url or parse_url(url).kind == "postgres" else "names no PostgreSQL"
    return found


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
            check=_table_problem,
            fix="Write NAMESPACE.TABLE, of letters, digits, _ and -.",
        ),
        Option(
            "catalog",
            "Where it is kept which state of the table is the newest. hadoop: in the directory of the table. jdbc: in a "
            "PostgreSQL.",
            default=_HADOOP,
            choices=(_HADOOP, JDBC),
        ),
        Option(
            "catalog.url",
            f"With jdbc, the database: {_URL}. {of_database}".rstrip(),
            default="",
            check=_url_problem,
            fix=f"Write {_URL}.",
            reaches=of_urls,
        ),
        Option("catalog.user", "The user of that database.", default="", references=True),
        Option("catalog.password", "The password of that user.", secret=True),
        Option(
            "catalog.name", "With jdbc, the name of the catalogue: who reads the table gives the same.", default="rocketconnect"
        ),
    )


def table_root(config: Config) -> Path:
    """The directory of the table."""
    return Path(config["warehouse"], *config["table"].split("."))


def catalogue_problems(config: Config) -> Iterable[Problem]:
    """What is wrong with the options of the catalogue."""
    if config["catalog"] == JDBC:
        if not config["catalog.url"]:
            reason = "is missing, and catalog=jdbc needs the database of the catalogue"
            yield Problem("catalog.url", "", reason, f"Set it to {_URL}.")
        return
    for key in (key for key in _PLACES if config[key]):
        given = "" if key == "catalog.password" else config.raw[key]
        yield Problem(key, given, "means nothing with catalog=hadoop, which is in the warehouse", "Set catalog=jdbc, or remove it.")
