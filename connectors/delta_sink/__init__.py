"""Topics into a Delta Lake table, with Spark."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.delta_sink.needs import DELTA
from rocketconnect_sdk.columns.declared import DOC, columns_problem, parse_columns
from rocketconnect_sdk.configuration.flush_options import FLUSH_BYTES, FLUSH_ROWS, flush_interval
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import POLICY, Policy, policy_problems
from rocketconnect_sdk.files.checks import directory_targets, place_problems
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.permissions.roots import Access
from rocketconnect_sdk.sink import DataFrameSink, FlushPolicy, Guarantee, Target

if TYPE_CHECKING:
    from connectors.delta_sink.task import DeltaTask


class DeltaSink(DataFrameSink):
    """Appends to a Delta Lake table, exactly once."""

    name = "delta_sink"
    aliases = ("DeltaSink",)
    guarantee = Guarantee.EXACTLY_ONCE
    needs = DELTA
    options = (
        Option(
            "path",
            "The absolute path of the directory of the table, on a file system of this machine. The directory that it is in must "
            "exist. A table that is not there is made.",
            required=True,
            access=Access.WRITE,
        ),
        Option(
            "columns",
            "Makes rows of JSON objects that have no schema; fields that are no columns are left out. "
            f"Values with a schema need no columns. {DOC}",
            default="",
            check=columns_problem,
            fix=f"Write {DOC}",
        ),
        replace(
            POLICY,
            doc=f"{POLICY.doc} Default: evolve: the table gets new columns, but no other types. Not with columns, which are all "
            "there are.",
        ),
        Option(
            "partition.by",
            "The columns by which a table is partitioned that is made. One that is there keeps its own.",
            Kind.LIST,
            "",
        ),
        FLUSH_ROWS,
        FLUSH_BYTES,
        flush_interval("10s", "Each is a commit of the table, with a file at least."),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        return run_checks(config, _path_problems, _evolution_problems, _partition_problems)

    def targets(self, config: Config) -> Iterable[Target]:
        """To a table several connectors may append, each other topics. See Sink."""
        yield from directory_targets("path", config["path"], config["topics"])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "DeltaTask":
        """See DataFrameSink."""
        from connectors.delta_sink.task import DeltaTask
        from connectors.file_sink.columns import DIRECTORY, Columns

        del task
        root = Path(config["path"])
        columns = parse_columns(config["columns"]) if config["columns"] else None
        # A column that takes no null keeps that: Delta checks it.
        takes = replace(DIRECTORY, nulls=False)
        evolving = Columns(root, Policy(config[POLICY.key] or Policy.EVOLVE), takes, context.log)
        flush = FlushPolicy(config["flush.rows"], config["flush.bytes"], config["flush.interval"])
        return DeltaTask(root, context, columns, evolving, config["partition.by"], flush)


def _path_problems(config: Config) -> Iterable[Problem]:
    from connectors.delta_sink.positions import HIDDEN
    from connectors.delta_sink.table import is_table

    given = config["path"]
    if "://" in given:
        reason = "is an address, and only tables in directories of this machine can be written"
        yield Problem("path", given, reason, "Give an absolute path.")
        return
    wrong = [replace(problem, key="path") for problem in place_problems(given)]
    yield from wrong
    path = Path(given)
    if wrong or not path.exists():
        return
    if not path.is_dir():
        yield Problem("path", given, "is a file", "Name a directory or a new name.")
    elif not os.access(path, os.R_OK | os.X_OK):
        yield Problem("path", given, "cannot be read", "Give the worker's user the right.")
    elif not is_table(path) and any(entry.name != HIDDEN for entry in path.iterdir()):
        fix = "Name an empty directory, a new name, or the directory of a Delta table."
        yield Problem("path", given, "is a directory that has files in it and is no Delta table", fix)


def _evolution_problems(config: Config) -> Iterable[Problem]:
    if config["columns"]:
        return policy_problems(config, (), "the option columns says all columns that there are")
    return policy_problems(config, tuple(Policy), "")


def _partition_problems(config: Config) -> Iterable[Problem]:
    if not config["columns"]:
        return
    names = [field.name for field in parse_columns(config["columns"]).fields]
    for name in config["partition.by"]:
        if name not in names:
            fix = f"Name some of {', '.join(names)}, or add it to columns."
            yield Problem("partition.by", name, "is none of the columns", fix)
