"""Iceberg's own REST catalogue for tests, out of its jars: a Java process of its own, over a file of SQLite."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyspark
from pyiceberg.catalog.rest import RestCatalog

from rocketconnect_kit.java.jars import JarSet, jars_of
from tests import free_ports
from tests.server_process import JavaServer, takes_connections

VERSION = "1.10.1"
"""The newest one whose tests are to be had as a jar."""
SERVER = JarSet(
    f"Iceberg's REST catalogue {VERSION}",
    Path(__file__).with_name(f"iceberg-rest-{VERSION}.jars"),
    "23 MB",
    "ROCKETCONNECT_ICEBERG_REST_JARS",
    (),
)
WAREHOUSE: Final = "lake"
CLIENT: Final = "loader"
SECRET: Final = "LAKE_SECRET"
TOKEN: Final = "LAKE_TOKEN"
GUEST: Final = "GUEST_TOKEN"
"""A token that is known, and may do nothing."""
_PREFIX = "ws/1"


def reference(secret: str) -> str:
    """How a connector is told a secret, which is the name of what it is in."""
    return f"${{env:{secret}}}"


class RestServer(JavaServer):
    """A catalogue.

    Attributes:
        port: Where it listens.
    """

    title = "the catalogue"
    prefix = "rocketconnect-iceberg-rest-"
    source = Path(__file__).parent / "java" / "RestCatalog.java"

    def __init__(self) -> None:
        super().__init__()
        self.port = free_ports.choose()

    @property
    def url(self) -> str:
        """As connectors name it."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def warehouse(self) -> Path:
        """The directory that its tables are in."""
        return self.folder / "warehouse"

    @property
    def options(self) -> dict[str, str]:
        """Those of a connector; it may get them as they are, or with its references resolved."""
        return {
            "catalog": "rest",
            "catalog.url": self.url,
            "catalog.warehouse": WAREHOUSE,
            "catalog.user": CLIENT,
            "catalog.password": reference(SECRET),
        }

    def client(self) -> RestCatalog:
        """Of pyiceberg; to be closed."""
        return RestCatalog("theirs", uri=self.url, warehouse=WAREHOUSE, token=TOKEN)

    def command(self) -> Sequence[str]:
        """See Server."""
        told = [str(self.port), str(self.folder), WAREHOUSE, _PREFIX, CLIENT, SECRET, TOKEN, GUEST]
        jars = f"{jars_of(SERVER)}/*:{Path(pyspark.__file__).with_name('jars')}/*"
        return self.java(jars, [], [self.source.stem, *told])

    def answers(self) -> bool:
        """Whether it takes connections."""
        return takes_connections(self.port)

    def lose_an_answer(self, status: int) -> None:
        """The next commit is done, and answered with this status of an error."""
        (self.folder / "lost").write_text(str(status))

    def end_tokens(self) -> None:
        """Those that clients were given until now are unknown; may be called once."""
        (self.folder / "ended").touch(exist_ok=False)
