"""Where tables are, and how names and texts stand in statements. Pure."""

from dataclasses import dataclass

Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A database of a server.

    Attributes:
        url: Of the server: http://host:8123.
        database: Its database.
    """

    url: str
    database: str

    def __str__(self) -> str:
        """For people."""
        return f"{self.url}/{self.database}"

    def table(self, name: str) -> str:
        """A table as it stands in a statement; before a point is another database."""
        database, point, table = name.rpartition(".")
        return f"{quoted(database if point else self.database)}.{quoted(table)}"

    def parts(self, name: str) -> tuple[str, str]:
        """The database and the name of a table."""
        database, point, table = name.rpartition(".")
        return (database if point else self.database), table


def quoted(name: str) -> str:
    """A name as it stands in a statement; a point is part of it."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def literal(text: str) -> str:
    """A text as it stands in a statement."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
