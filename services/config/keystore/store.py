"""Sealed secrets in SQL: SQLite or PostgreSQL, every write on disk when its method returns. Never sees what is sealed."""

from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from rocketconnect_kit.errors import NotFound
from rocketconnect_kit.store.database import reading, upsert, writing
from services.config import tables

_secrets = tables.secrets


@dataclass(frozen=True, slots=True)
class Stored:
    """A secret in the store.

    Attributes:
        name: Its name.
        sealed: See rocketconnect_kit.sealing.
        update_time: Microseconds since 1970.
    """

    name: str
    sealed: str
    update_time: int


class SecretStore:
    """The durable store of sealed secrets. Methods block, and may be called from several threads and replicas.

    Args:
        engine: A migrated database.
        now: Microseconds since 1970.
    """

    def __init__(self, engine: sa.Engine, now: Callable[[], int]) -> None:
        self._engine = engine
        self._now = now

    def put(self, sealed: dict[str, str]) -> int:
        """Store sealed texts by name, all or none, in place of those that are there; return the time."""
        now = self._now()
        rows = [{"name": name, "sealed": text, "update_time": now} for name, text in sorted(sealed.items())]
        with writing(self._engine) as connection:
            upsert(connection, _secrets, rows)
        return now

    def add(self, sealed: dict[str, str]) -> None:
        """Store sealed texts under those of the names that are not there, all or none."""
        with reading(self._engine) as connection:
            there = set(connection.execute(sa.select(_secrets.c.name).where(_secrets.c.name.in_(sealed))).scalars())
        if new := {name: text for name, text in sealed.items() if name not in there}:
            self.put(new)

    def replace(self, name: str, old: str, new: str) -> None:
        """Store a text in the place of another one; nothing, when that is not there any more."""
        with writing(self._engine) as connection:
            connection.execute(_secrets.update().where(_secrets.c.name == name, _secrets.c.sealed == old).values(sealed=new))

    def get(self, name: str) -> Stored:
        """Return one.

        Raises:
            NotFound: SECRET_NOT_FOUND.
        """
        with reading(self._engine) as connection:
            row = connection.execute(sa.select(_secrets).where(_secrets.c.name == name)).one_or_none()
        if row is None:
            raise _missing(name)
        return Stored(row.name, row.sealed, row.update_time)

    def page(self, after: str, count: int) -> list[Stored]:
        """Return so many, by name, from behind a name on."""
        query = sa.select(_secrets).where(_secrets.c.name > after).order_by(_secrets.c.name).limit(count)
        with reading(self._engine) as connection:
            return [Stored(row.name, row.sealed, row.update_time) for row in connection.execute(query)]

    def delete(self, name: str) -> None:
        """Remove one.

        Raises:
            NotFound: SECRET_NOT_FOUND.
        """
        with writing(self._engine) as connection:
            if not connection.execute(_secrets.delete().where(_secrets.c.name == name)).rowcount:
                raise _missing(name)


def _missing(name: str) -> NotFound:
    return NotFound("SECRET_NOT_FOUND", f"there is no secret {name!r} in the keystore", name=name)
