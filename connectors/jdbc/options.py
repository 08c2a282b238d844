"""How a connector is told of a database and of who it is there."""

from collections.abc import Iterable
from dataclasses import replace

from connectors.databases.tls import TLS, tls_of, tls_problems
from connectors.jdbc.endpoint import Endpoint, parse_url, url_problem
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.permissions.hosts import of_urls

_FIX = (
    "Write postgresql://host:5432/database, mysql://host:3306/database, oceanbase://host:2881/database or "
    "sqlite:////absolute/path; a jdbc: before it is taken."
)

CONNECTION = (
    Option(
        "connection.url",
        "The database: postgresql://host:5432/database, mysql://host:3306/database (MariaDB, too), "
        "oceanbase://host:2881/database or sqlite:////absolute/path. A jdbc: before it is taken.",
        required=True,
        aliases=("jdbcUrl", "jdbc.url"),
        check=url_problem,
        fix=_FIX,
        reaches=of_urls,
        example="postgresql://127.0.0.1:5432/shop",
    ),
    Option(
        "user",
        "The user of the database, in OceanBase with its tenant: user@tenant, or user@tenant#cluster through ODP. SQLite has none.",
        default="",
        references=True,
        aliases=("connection.user", "username"),
        example="shop",
    ),
    Option(
        "password", "The password of the user.", secret=True, aliases=("connection.password",), example="${env:DATABASE_PASSWORD}"
    ),
    *TLS,
)
"""The options of a connection: `connection.url`, `user`, `password`, and TLS."""


def database_of(config: Config, *, writes: bool = False) -> Endpoint:
    """The database, by these options.

    Args:
        config: With the options CONNECTION.
        writes: A sink writes to it.
    """
    return replace(parse_url(config["connection.url"], writes=writes), tls=tls_of(config))


def connection_problems(config: Config) -> Iterable[Problem]:
    """What is wrong with the options TLS."""
    place = database_of(config)
    return () if place.kind == "sqlite" else tls_problems(config, place.host)
