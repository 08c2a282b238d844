"""Where it is kept which state of a table is the newest."""

import os
import re
from abc import ABC, abstractmethod
from pathlib import Path

from connectors.databases import sessions
from connectors.jdbc.endpoint import Endpoint
from connectors.lakes.rest_catalogue import RestCatalogue, RestLogin
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.permissions.connections import libpq
from rocketconnect_sdk.permissions.roots import reading

_STATE = re.compile(r"v([0-9]+)(?:\.gz)?\.metadata\.json(?:\.gz)?")
_WAIT_SECONDS = 10


class Catalogue(ABC):
    """Of one table."""

    @abstractmethod
    def newest(self) -> str:
        """Where the file of the newest state is. Raises SystemAway: there is none, or it can't be asked; PermanentError."""


class DirectoryCatalogue(Catalogue):
    """Iceberg's Hadoop catalogue: the newest state is the file with the highest number.

    Args:
        root: The directory of the table.
    """

    def __init__(self, root: Path) -> None:
        self._folder = root / "metadata"

    def newest(self) -> str:
        """See Catalogue."""
        try:
            names = reading().names(self._folder)
        except OSError as error:
            msg = f"{self._folder.parent}: there is no Iceberg table: {error.strerror}"
            raise SystemAway(msg) from error
        numbers = {int(found[1]): name for name in names if (found := _STATE.fullmatch(name))}
        if numbers:
            return str(self._folder / numbers[max(numbers)])
        if any(name.endswith(".metadata.json") for name in names):
            msg = f"{self._folder.parent}: the newest state of the table is not said in its directory: it is in another catalogue"
            raise PermanentError(msg)
        msg = f"{self._folder.parent}: there is no Iceberg table"
        raise SystemAway(msg)


class DatabaseCatalogue(Catalogue):
    """Iceberg's JDBC catalogue in a PostgreSQL.

    Args:
        name: Of the catalogue.
        table: The names of its namespaces, and its own, with points between them.
        place: The database.
        user: Of the database.
        password: Of the user; None: none.
    """

    def __init__(self, name: str, table: str, place: Endpoint, user: str, password: str | None) -> None:
        self._name = name
        self._namespace, _, self._table = table.rpartition(".")
        self._place = place
        self._user = user
        self._password = password

    def newest(self) -> str:
        """See Catalogue."""
        import psycopg

        asked = "SELECT metadata_location FROM iceberg_tables WHERE catalog_name = %s AND table_namespace = %s AND table_name = %s"
        place = self._place
        try:
            with psycopg.connect(
                **libpq(place.host, place.port),  # type: ignore[arg-type]  # psycopg takes any parameter of libpq
                port=place.port,
                dbname=place.database,
                user=self._user or None,
                password=self._password,
                connect_timeout=_WAIT_SECONDS,
                options="-c statement_timeout=60s",
                **sessions.LIBPQ,  # type: ignore[arg-type]  # as above
            ) as database:
                row = database.execute(asked, (self._name, self._namespace, self._table)).fetchone()
        except psycopg.errors.UndefinedTable:
            row = None
        except (psycopg.Error, OSError) as error:
            msg = f"{place}: the catalogue does not answer: {str(error).splitlines()[0]}"
            raise SystemAway(msg) from None
        if row is None:
            msg = f"{place}: the catalogue {self._name} has no table {self._namespace}.{self._table}"
            raise SystemAway(msg)
        return str(row[0])


class ServerCatalogue(Catalogue):
    """Iceberg's REST catalogue.

    Args:
        login: Where it is, and who we are there.
        table: The names of its namespaces, and its own, with points between them.
    """

    def __init__(self, login: RestLogin, table: str) -> None:
        self._login = login
        self._table = table
        self._catalogue = RestCatalogue(login)

    def newest(self) -> str:
        """See Catalogue."""
        found = self._catalogue.table(self._table)
        if found is None:
            msg = f"{self._login}: the catalogue has no table {self._table}"
            raise SystemAway(msg)
        return str(found["metadata-location"])


def read_state(path: Path) -> bytes:
    """What a file of a state says. Raises OSError."""
    with os.fdopen(reading().open(path, os.O_RDONLY), "rb") as file:
        data = file.read()
    if ".gz" in path.suffixes:
        import gzip

        return gzip.decompress(data)
    return data
