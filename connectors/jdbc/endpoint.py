"""Where a database is."""

import os
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from connectors.databases.tls import DatabaseTls
from rocketconnect_sdk.origins.tables import address

_KINDS = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
    "oceanbase": "oceanbase",
    "sqlite": "sqlite",
}
_PORTS = {"postgres": 5432, "mysql": 3306, "oceanbase": 2881, "sqlite": 0}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A database.

    Attributes:
        kind: postgres, mysql, oceanbase or sqlite.
        host: Its server.
        port: Of the server.
        database: Its name; of SQLite the absolute path of its file.
        writes: A sink writes to it.
        tls: How connections to it are encrypted.
    """

    kind: str
    host: str
    port: int
    database: str
    writes: bool = False
    tls: DatabaseTls = field(default_factory=DatabaseTls)

    @property
    def written_as(self) -> str:
        """Whose SQL it takes: postgres, mysql or sqlite."""
        return "mysql" if self.kind == "oceanbase" else self.kind

    def __str__(self) -> str:
        """For people."""
        return self.database if self.kind == "sqlite" else f"{self.host}:{self.port}/{self.database}"


def parse_url(url: str, *, writes: bool = False) -> Endpoint:
    """The place that a URL names, in SQLAlchemy's form or that of JDBC.

    Raises:
        ValueError: it is none, or has what belongs into other options.
    """
    parts = urlsplit(url.removeprefix("jdbc:"))
    kind = _KINDS.get(parts.scheme.partition("+")[0])
    if kind is None:
        msg = "names none of the databases postgresql, mysql, mariadb, oceanbase and sqlite"
        raise ValueError(msg)
    if parts.username or parts.password:
        msg = "has a user or a password in it: these have options of their own"
        raise ValueError(msg)
    if parts.query or parts.fragment:
        msg = "has parameters behind a ?, and there are none: for TLS set ssl.mode and ssl.ca.location"
        raise ValueError(msg)
    path = unquote(parts.path)
    # SQLAlchemy's sqlite:////path has an absolute path behind the third slash, and jdbc:sqlite:/path right behind the colon.
    database = "/" + path.lstrip("/") if kind == "sqlite" else path.strip("/")
    if len(database) <= (kind == "sqlite"):
        msg = "names no database"
        raise ValueError(msg)
    if kind != "sqlite" and not parts.hostname:
        msg = "names no host"
        raise ValueError(msg)
    return Endpoint(kind, parts.hostname or "", parts.port or _PORTS[kind], database, writes)


def place_of(url: str) -> str:
    """The database of a URL as it stands in an origin: the same however a URL names it. Raises as parse_url does."""
    place = parse_url(url)
    if place.kind == "sqlite":
        return f"sqlite://{os.path.realpath(place.database)} "
    return f"{place.kind}://{address(place.host, place.port)}/{place.database}/"


def url_problem(url: str) -> str | None:
    """What is wrong with a URL."""
    try:
        parse_url(url)
    except ValueError as error:
        return str(error)
    return None
