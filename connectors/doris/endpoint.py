"""Where tables are, and how names and texts stand in statements. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rocketconnect_sdk.http.login import Tls


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A database of a cluster.

    Attributes:
        url: Of a frontend: http://host:8030.
        port: Of the same frontend, for statements.
        database: Its database.
        backends: The URLs of backends that take loads and their ends; empty: the one to which the frontend redirects.
    """

    url: str
    port: int
    database: str
    backends: Sequence[str] = ()

    def __str__(self) -> str:
        """For people."""
        return f"{self.url}/{self.database}"

    @property
    def host(self) -> str:
        """Of the frontend."""
        return urlsplit(self.url).hostname or ""

    def parts(self, name: str) -> tuple[str, str]:
        """The database and the name of a table; before a point is another database."""
        database, point, table = name.rpartition(".")
        return (database if point else self.database), table

    def table(self, name: str) -> str:
        """A table as it stands in a statement."""
        return ".".join(map(quoted, self.parts(name)))


@dataclass(frozen=True, slots=True)
class Login:
    """Who we are there, and whom we trust. Picklable.

    Attributes:
        user: The user.
        password: What belongs to it.
        tls: Whom we trust.
        seconds: So long an answer may take.
    """

    user: str
    password: str = field(repr=False)
    tls: Tls = field(default_factory=Tls)
    seconds: float = 60.0


def quoted(name: str) -> str:
    """A name as it stands in a statement; a point is part of it."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text as it stands in a statement."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
