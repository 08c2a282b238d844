"""Topics into an Iceberg table, with Spark."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors.iceberg_sink.needs import ICEBERG
from connectors.iceberg_sink.partitions import DOC, parse_partitions, partitions_problem
from connectors.lakes.catalogue_options import (
    JDBC,
    REST,
    TABLE_FIX,
    answer_problems,
    catalogue_problems,
    login_of,
    rest_table,
    table_options,
    table_problem,
    table_root,
)
from connectors.lakes.compaction import COMPACTION, compaction_of
from connectors.lakes.options import (
    CHANGES,
    COLUMNS,
    FLUSH,
    FOR_EACH,
    INSERT,
    evolution,
    evolution_problems,
    mode_problems,
    partition_problems,
    policy_of,
)
from connectors.lakes.sink import LakeSink
from rocketconnect_sdk.columns.declared import given_columns
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem, SystemAway
from rocketconnect_sdk.evolution import Takes
from rocketconnect_sdk.files.checks import directory_targets, place_problems
from rocketconnect_sdk.options import Config, Option, run_checks
from rocketconnect_sdk.permissions.roots import Access
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import Guarantee
from rocketconnect_sdk.targets.owned import Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from connectors.iceberg_sink.catalogs import Catalog
    from connectors.iceberg_sink.task import IcebergTask


class IcebergSink(LakeSink):
    """Appends to an Iceberg table, or keeps it as changes say, exactly once."""

    name = "iceberg_sink"
    aliases = ("IcebergSink",)
    guarantee = Guarantee.EXACTLY_ONCE
    needs = ICEBERG
    columns = ("value", "key", "header:unchanged")
    options = (
        Option(
            "warehouse",
            "The absolute path of the directory of the tables, on a file system of this machine and of all of Spark's workers. The "
            "directory that it is in must exist. Not with catalog=rest.",
            default="",
            access=Access.WRITE,
            example="/tmp/warehouse",  # noqa: S108  # a folder that is there on every machine
        ),
        *table_options(
            f"One that is not there is made. {FOR_EACH}",
            "Its tables of the catalogue are made, if they are not there.",
        ),
        COLUMNS,
        evolution("the table gets new columns, and wider types where Iceberg widens them"),
        Option(
            "partition.by",
            f"The partitions of a table that is made: {DOC}. One that is there keeps its own.",
            default="",
            check=partitions_problem,
            fix=f"Write {DOC}.",
        ),
        *CHANGES,
        *FLUSH,
        *COMPACTION,
    )

    def check_table(self, config: Config) -> Iterable[Problem]:
        """See LakeSink."""
        checks = (_name_problems, _place_problems, catalogue_problems, evolution_problems, _partition_problems, mode_problems)
        return run_checks(config, *checks, answer_problems, self.there_problems)

    def has_table(self, config: Config) -> bool:
        """See LakeSink."""
        from connectors.iceberg_sink.catalogs import is_table

        if config["catalog"] == REST:
            return _told(config) is not None
        return is_table(table_root(config))

    def table_columns(self, config: Config) -> Schema | None:
        """See LakeSink."""
        from connectors.iceberg_sink.metadata import columns_of, table_columns

        if config["catalog"] == REST:
            told = _told(config)
            return None if told is None else columns_of(told.get("metadata"))
        return table_columns(table_root(config))

    def place(self, config: Config) -> tuple[str, str]:
        """See LakeSink."""
        return "table", config["table"]

    def takes(self) -> Takes:
        """See LakeSink."""
        from connectors.iceberg_sink.columns import TABLE

        return TABLE

    def table_targets(self, config: Config, topics: Iterable[str]) -> Iterable[Target]:
        """See LakeSink."""
        if config["catalog"] == REST:
            login = login_of(config)
            place = f"{login.url} {login.warehouse} {config['table']}"
            yield from (Target("table", f"topic {topic} in {place}") for topic in topics)
            return
        yield from directory_targets("table", str(table_root(config)), topics)

    def open_table(self, config: Config, context: TaskContext) -> "IcebergTask":
        """See LakeSink."""
        from connectors.file_sink.columns import Columns
        from connectors.iceberg_sink.catalogs import DatabaseCatalog, DirectoryCatalog
        from connectors.iceberg_sink.rest import RestCatalog
        from connectors.iceberg_sink.task import IcebergTask
        from connectors.iceberg_sink.upserts import UpsertTask
        from connectors.lakes.upserts import Upserts, keyed_of

        root = table_root(config)
        catalog: Callable[[SparkSession], Catalog] = partial(DirectoryCatalog, root, Path(config["warehouse"]), config["table"])
        if config["catalog"] == JDBC:
            catalog = partial(
                DatabaseCatalog,
                root,
                Path(config["warehouse"]),
                config["table"],
                name=config["catalog.name"],
                url=config["catalog.url"],
                user=config["catalog.user"],
                password=config["catalog.password"],
            )
        elif config["catalog"] == REST:
            catalog = partial(RestCatalog, login_of(config), config["table"])
        evolving = Columns(root, policy_of(config), self.takes(), context.log)
        partitions = parse_partitions(config["partition.by"])
        columns = given_columns(config["columns"])
        given = (root, context, columns, evolving, partitions, self.flush_policy(config), compaction_of(config), catalog)
        if config["insert.mode"] == INSERT:
            return IcebergTask(*given)
        return UpsertTask(Upserts(root, columns, evolving, keyed_of(config)), *given)


def _told(config: Config) -> Mapping[str, Any] | None:
    """What the catalogue of rest says of the table; None: there is none, or the catalogue says nothing."""
    try:
        return rest_table(config)
    except (SystemAway, PermanentError):
        return None


def _name_problems(config: Config) -> Iterable[Problem]:
    if problem := table_problem(config["table"]):
        yield Problem("table", config["table"], problem, TABLE_FIX)


def _place_problems(config: Config) -> Iterable[Problem]:
    from connectors.iceberg_sink.catalogs import is_table

    given = config["warehouse"]
    if not given or config["catalog"] == REST:
        return
    if "://" in given:
        reason = "is an address, and only tables in directories of this machine can be written"
        yield Problem("warehouse", given, reason, "Give an absolute path.")
        return
    wrong = [replace(problem, key="warehouse") for problem in place_problems(given)]
    yield from wrong
    path = table_root(config)
    if wrong or not Path(given).exists():
        return
    if not Path(given).is_dir():
        yield Problem("warehouse", given, "is a file", "Name a directory or a new name.")
    elif path.exists() and not path.is_dir():
        yield Problem("table", config["table"], f"is a file: {path}", "Name another table.")
    elif path.exists() and not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        yield Problem("table", config["table"], f"cannot be read and written: {path}", "Give the worker's user the right.")
    elif path.exists() and not is_table(path) and any(entry.name != "metadata" for entry in path.iterdir()):
        reason = f"is a directory that has files in it and is no Iceberg table: {path}"
        yield Problem("table", config["table"], reason, "Name another table, or one that is there.")


def _partition_problems(config: Config) -> Iterable[Problem]:
    return partition_problems(config, (each.column for each in parse_partitions(config["partition.by"])))
