"""How a connector is told of a metastore and of a table."""

import re

from connectors.hive.metastore import PORT, Metastore, addresses_problem, parse_addresses
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.permissions.hosts import of_urls

CHECK_SECONDS = 3.0
"""A check waits no longer for a metastore."""
_TABLE = re.compile(r"[A-Za-z0-9_]{1,128}(\.[A-Za-z0-9_]{1,128})?")

METASTORE = Option(
    "metastore",
    f"The metastore, from Hive 2.3 on: thrift://HOST:{PORT}. Of several, separated by commas, any that answers is asked.",
    required=True,
    check=addresses_problem,
    fix=f"Write thrift://HOST:{PORT}.",
    reaches=lambda addresses: of_urls(addresses.split(",")),
    example="thrift://127.0.0.1:9083",
)


def table_option(more: str) -> Option:
    """The option that names the table.

    Args:
        more: What is said of it besides.
    """
    return Option(
        "table",
        f"The table, behind its database and a point; without one it is in the database default.{more}",
        required=True,
        check=_table_problem,
        fix="Write DATABASE.TABLE, of letters, digits and _.",
        example="shop.orders",
    )


def table_of(config: Config) -> tuple[str, str]:
    """The database and the name of the table."""
    database, _, name = config["table"].lower().rpartition(".")
    return database or "default", name


def metastore_of(config: Config, seconds: float = 60.0) -> Metastore:
    """The metastore; asks nobody.

    Args:
        config: The configuration.
        seconds: The time that an answer may take.
    """
    return Metastore(tuple(parse_addresses(config["metastore"])), seconds)


def _table_problem(name: str) -> str | None:
    return None if _TABLE.fullmatch(name) else "is no name of a table"
