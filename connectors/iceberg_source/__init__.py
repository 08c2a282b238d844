"""Rows of an Iceberg table into a topic, as they are added, without Spark."""

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.jdbc.endpoint import parse_url
from connectors.lakes.catalogue_options import (
    JDBC,
    REST,
    answer_problems,
    catalogue_problems,
    is_login_known,
    login_of,
    table_options,
    table_root,
)
from connectors.lakes.reading.options import READING, start
from connectors.lakes.reading.source import LakeSource
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.permissions.roots import Access

if TYPE_CHECKING:
    from connectors.iceberg_source.log import IcebergLog


class IcebergSource(LakeSource):
    """Reads the rows of an Iceberg table, and those that are added, exactly once."""

    name = "iceberg_source"
    aliases = ("IcebergSource",)
    options = (
        Option(
            "warehouse",
            "The absolute path of the directory of the tables, on a file system of this machine. Not with catalog=rest.",
            default="",
            access=Access.READ,
            example="/tmp/warehouse",  # noqa: S108  # a folder that is there on every machine
        ),
        *table_options("", ""),
        start("with what the snapshot of this id brings"),
        *READING,
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        return run_checks(config, _path_problems, catalogue_problems, self._table_problems)

    def _table_problems(self, config: Config) -> Iterable[Problem]:
        if any(_path_problems(config)) or any(catalogue_problems(config)):
            return
        # The catalogue is asked once.
        answers = list(answer_problems(config))
        yield from answers
        if not answers and (config["catalog"] != REST or is_login_known(config)):
            yield from self.table_problems(config, "table")

    def place(self, config: Config) -> tuple[str, Path]:
        """See LakeSource."""
        return "table", table_root(config)

    def origins(self, config: Config) -> Iterable[Origin]:
        """See Source. With rest the table has the same name for all who read it."""
        if config["catalog"] != REST:
            return super().origins(config)
        login = login_of(config)
        return [Origin("table", f"{login.url}/ {login.warehouse}", config["table"])]

    def log(self, config: Config) -> "IcebergLog":
        """See LakeSource."""
        if find_spec("pyiceberg") is None:
            msg = "iceberg_source needs pyiceberg, which is not installed: pip install 'rocketconnect[iceberg-source]'"
            raise PermanentError(msg)
        from connectors.iceberg_source.catalogues import Catalogue, DatabaseCatalogue, DirectoryCatalogue, ServerCatalogue
        from connectors.iceberg_source.log import IcebergLog

        catalogue: Catalogue = DirectoryCatalogue(table_root(config))
        if config["catalog"] == JDBC:
            place, user, password = parse_url(config["catalog.url"]), config["catalog.user"], config["catalog.password"]
            catalogue = DatabaseCatalogue(config["catalog.name"], config["table"], place, user, password)
        elif config["catalog"] == REST:
            catalogue = ServerCatalogue(login_of(config), config["table"])
        return IcebergLog(catalogue)


def _path_problems(config: Config) -> Iterable[Problem]:
    given = config["warehouse"]
    if not given or config["catalog"] == REST:
        return
    if "://" in given:
        reason = "is an address, and only tables in directories of this machine can be read"
        yield Problem("warehouse", given, reason, "Give an absolute path.")
    elif not Path(given).is_absolute():
        yield Problem("warehouse", given, "is a relative path, and a worker has a directory of its own", "Give an absolute path.")
