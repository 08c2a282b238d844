"""Collections, and which of them are captured. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rocketconnect_sdk.configuration.patterns import compiled, matches_any
from rocketconnect_sdk.options import Config

_OWN = frozenset({"admin", "config", "local"})
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


class Name(NamedTuple):
    """Of a collection. As text what filters and people write."""

    database: str
    collection: str

    def __str__(self) -> str:
        """The whole name."""
        return f"{self.database}.{self.collection}"

    @classmethod
    def of(cls, namespace: str) -> "Name":
        """Of a namespace as the oplog has it: a collection may have points in its name."""
        database, _, collection = namespace.partition(".")
        return cls(database, collection)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which collections are captured.

    Attributes:
        databases: Their databases; none: all but the server's own.
        include: Their whole names; none: all of these databases.
        exclude: Those that are not.
        database: The only database that can have one; empty: there may be several.
        known: What was said of collections so far.
    """

    databases: Sequence["re.Pattern[str]"]
    include: Sequence["re.Pattern[str]"]
    exclude: Sequence["re.Pattern[str]"]
    database: str = ""
    known: dict[Name, bool] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, config: Config) -> "Filter":
        """As configured."""
        databases, include, exclude = (
            list(map(compiled, config[key])) for key in ("database.include", "collection.include", "collection.exclude")
        )
        given = config["database.include"]
        return cls(databases, include, exclude, given[0] if len(given) == 1 and _PLAIN.fullmatch(given[0]) else "")

    def takes_database(self, database: str) -> bool:
        """Whether collections of a database may be captured."""
        return bool(database) and database not in _OWN and (not self.databases or matches_any(self.databases, database))

    def takes(self, name: Name) -> bool:
        """Whether a collection is captured; those of the server itself never are."""
        if name not in self.known:
            self.known[name] = self._takes(name)
        return self.known[name]

    def _takes(self, name: Name) -> bool:
        text = str(name)
        return (
            self.takes_database(name.database)
            and bool(name.collection)
            and not name.collection.startswith("system.")
            and (not self.include or matches_any(self.include, text))
            and not matches_any(self.exclude, text)
        )
