"""Topics into a Delta Lake table, with Spark."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.delta_sink.needs import DELTA
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
    place_of_table_problems,
    policy_of,
)
from connectors.lakes.sink import LakeSink
from rocketconnect_sdk.columns.declared import given_columns
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
    from connectors.delta_sink.task import DeltaTask


class DeltaSink(LakeSink):
    """Appends to a Delta Lake table, or keeps it as changes say, exactly once."""

    name = "delta_sink"
    aliases = ("DeltaSink",)
    guarantee = Guarantee.EXACTLY_ONCE
    needs = DELTA
    columns = ("value", "key", "header:unchanged")
    options = (
        Option(
            "path",
            "The absolute path of the directory of the table, on a file system of this machine and of all of Spark's workers. The "
            f"directory that it is in must exist. A table that is not there is made. {FOR_EACH}",
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
        *COMPACTION,
    )

    def check_table(self, config: Config) -> Iterable[Problem]:
        """See LakeSink."""
        return run_checks(config, _path_problems, evolution_problems, _partition_problems, mode_problems, self.there_problems)

    def has_table(self, config: Config) -> bool:
        """See LakeSink."""
        from connectors.delta_sink.table import is_table

        return is_table(Path(config["path"]))

    def table_columns(self, config: Config) -> Schema | None:
        """See LakeSink."""
        from connectors.delta_sink.log import table_columns

        return table_columns(Path(config["path"]))

    def place(self, config: Config) -> tuple[str, str]:
        """See LakeSink."""
        return "path", config["path"]

    def takes(self) -> Takes:
        """See LakeSink."""
        from connectors.file_sink.columns import DIRECTORY

        # A column that takes no null keeps that: Delta checks it.
        return replace(DIRECTORY, nulls=False)

    def table_targets(self, config: Config, topics: Iterable[str]) -> Iterable[Target]:
        """See LakeSink."""
        yield from directory_targets("path", config["path"], topics)

    def open_table(self, config: Config, context: TaskContext) -> "DeltaTask":
        """See LakeSink."""
        from connectors.delta_sink.task import DeltaTask
        from connectors.delta_sink.upserts import UpsertTask
        from connectors.file_sink.columns import Columns
        from connectors.lakes.upserts import keyed_of

        root = Path(config["path"])
        columns = given_columns(config["columns"])
        evolving = Columns(root, policy_of(config), self.takes(), context.log)
        given = (root, context, columns, evolving, config["partition.by"], self.flush_policy(config), compaction_of(config))
        return DeltaTask(*given) if config["insert.mode"] == INSERT else UpsertTask(*given, keyed_of(config))


def _path_problems(config: Config) -> Iterable[Problem]:
    from connectors.delta_sink.positions import HIDDEN
    from connectors.delta_sink.table import is_table

    return place_of_table_problems(config["path"], "Delta table", is_table, HIDDEN)


def _partition_problems(config: Config) -> Iterable[Problem]:
    return partition_problems(config, config["partition.by"])
