"""Topics into a table of Hudi, with Spark's Java."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.hudi_sink.needs import HUDI
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
    place_of_table_problems,
    policy_of,
)
from connectors.lakes.sink import LakeSink
from rocketconnect_sdk.columns.declared import given_columns, parse_columns
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import Takes
from rocketconnect_sdk.files.checks import directory_targets
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.permissions.roots import Access
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import Guarantee
from rocketconnect_sdk.targets.owned import Target

if TYPE_CHECKING:
    from connectors.hudi_sink.task import HudiTask

_SETTING = re.compile(
    r"hoodie\.(cleaner|clean|keep|archive|parquet|copyonwrite|bloom|memory|commits)\.(?!policy\.failed)[\w.-]+=[^\s,=]+"
)
_SETTINGS_FIX = "Write hoodie.cleaner.commits.retained=20, or others of hoodie.clean, cleaner, keep, archive, parquet, bloom."


def _settings_problem(text: str) -> str | None:
    wrong = [each for each in (part.strip() for part in text.split(",")) if each and not _SETTING.fullmatch(each)]
    return f"has {wrong[0]}, which is no setting of how Hudi cleans, archives or lays out files" if wrong else None


class HudiSink(LakeSink):
    """Appends to a table of Hudi, or keeps it as changes say, exactly once."""

    name = "hudi_sink"
    aliases = ("HudiSink",)
    guarantee = Guarantee.EXACTLY_ONCE
    needs = HUDI
    columns = ("value", "key", "header:unchanged")
    options = (
        Option(
            "path",
            "The absolute path of the directory of the table, on a file system of this machine. The directory that it is in must "
            f"exist. A table that is not there is made, as COPY_ON_WRITE. {FOR_EACH}",
            required=True,
            access=Access.WRITE,
            example="/tmp/orders",  # noqa: S108  # a folder that is there on every machine
        ),
        COLUMNS,
        evolution("the table gets new columns, but no other types"),
        Option(
            "partition.by",
            "The columns by which a table is partitioned that is made. One that is there keeps its own.",
            Kind.LIST,
            "",
        ),
        *CHANGES,
        *FLUSH,
        Option(
            "hudi.settings",
            "Settings of how Hudi cleans, archives and lays out files, NAME=VALUE, separated by commas: "
            "hoodie.cleaner.commits.retained=20.",
            default="",
            check=_settings_problem,
            fix=_SETTINGS_FIX,
        ),
    )

    def check_table(self, config: Config) -> Iterable[Problem]:
        """See LakeSink."""
        checks = (_path_problems, evolution_problems, _partition_problems, mode_problems, _name_problems, self.there_problems)
        return run_checks(config, *checks)

    def has_table(self, config: Config) -> bool:
        """See LakeSink."""
        from connectors.hudi_sink.timeline import is_table

        return is_table(Path(config["path"]))

    def table_columns(self, config: Config) -> Schema | None:
        """See LakeSink."""
        from connectors.hudi_sink.timeline import table_columns

        return table_columns(Path(config["path"]))

    def place(self, config: Config) -> tuple[str, str]:
        """See LakeSink."""
        return "path", config["path"]

    def takes(self) -> Takes:
        """See LakeSink."""
        from connectors.hudi_sink.columns import TABLE

        return TABLE

    def table_targets(self, config: Config, topics: Iterable[str]) -> Iterable[Target]:
        """See LakeSink."""
        yield from directory_targets("path", config["path"], topics)

    def open_table(self, config: Config, context: TaskContext) -> "HudiTask":
        """See LakeSink."""
        from connectors.hudi_sink.columns import HudiColumns
        from connectors.hudi_sink.task import HudiTask
        from connectors.hudi_sink.upserts import UpsertTask
        from connectors.lakes.upserts import keyed_of

        root = Path(config["path"])
        columns = given_columns(config["columns"])
        evolving = HudiColumns(root, policy_of(config), self.takes(), context.log)
        flush = self.flush_policy(config)
        pairs = (part.strip().partition("=") for part in config["hudi.settings"].split(",") if part.strip())
        settings = {name: value for name, _, value in pairs}
        given = (root, context, columns, evolving, config["partition.by"], flush, settings)
        return HudiTask(*given) if config["insert.mode"] == INSERT else UpsertTask(*given, keyed_of(config))


def _path_problems(config: Config) -> Iterable[Problem]:
    from connectors.hudi_sink.timeline import HIDDEN, is_table

    return place_of_table_problems(config["path"], "table of Hudi", is_table, HIDDEN)


def _partition_problems(config: Config) -> Iterable[Problem]:
    return partition_problems(config, config["partition.by"])


def _name_problems(config: Config) -> Iterable[Problem]:
    """What is wrong with the names of columns: Hudi has its columns as Avro does."""
    from connectors.hudi_sink.columns import name_problem

    if not config["columns"]:
        return
    for field in parse_columns(config["columns"]).fields:
        if problem := name_problem(field.name):
            fix = "Rename it with a transform, or give the field another name where it is made."
            yield Problem("columns", field.name, problem, fix)
