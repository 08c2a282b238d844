"""Topics into a Delta Lake table, with Spark."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.delta_sink.needs import DELTA
from rocketconnect_sdk.columns.declared import DOC, columns_problem, given_columns, no_rows_problem, parse_columns
from rocketconnect_sdk.configuration.change_options import DELETE_ENABLED, TRUNCATE_ENABLED
from rocketconnect_sdk.configuration.flush_options import FLUSH_BYTES, FLUSH_ROWS, flush_interval
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import POLICY, Policy, policy_problems
from rocketconnect_sdk.files.checks import directory_targets, place_problems
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.permissions.roots import Access
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import DataFrameSink, FlushPolicy, Guarantee
from rocketconnect_sdk.targets.owned import Target

if TYPE_CHECKING:
    from connectors.delta_sink.task import DeltaTask

_INSERT = "insert"
_KEY = "record_key"


class DeltaSink(DataFrameSink):
    """Appends to a Delta Lake table, or keeps it as changes say, exactly once."""

    name = "delta_sink"
    aliases = ("DeltaSink",)
    guarantee = Guarantee.EXACTLY_ONCE
    needs = DELTA
    columns = ("value", "key", "header:unchanged")
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
        Option(
            "insert.mode",
            "insert: each record is a new row. upsert: it replaces the row of its key, or is a new one; change envelopes do what "
            "they say.",
            default=_INSERT,
            choices=(_INSERT, "upsert"),
        ),
        Option(
            "pk.mode",
            "Where the key of a row is, with upsert. record_value: in the value. record_key: in the key of the record, a JSON "
            "object or, where the key has one column, a plain value; a record without a value then deletes the row of its key.",
            default="record_value",
            choices=("record_value", _KEY),
        ),
        Option("pk.fields", "The columns of the key, with upsert. No two rows of the table have the same.", Kind.LIST, ""),
        DELETE_ENABLED,
        TRUNCATE_ENABLED,
        FLUSH_ROWS,
        FLUSH_BYTES,
        flush_interval("10s", "Each is a commit of the table, with a file at least."),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        return run_checks(config, _path_problems, _evolution_problems, _partition_problems, _mode_problems)

    def without_rows(self, config: Config) -> Iterable[Problem]:
        """A table of one column that holds each value whole is hardly meant. See Sink."""
        from connectors.delta_sink.table import is_table

        # JSON that changes rows has the columns of the table that is there.
        if not config["columns"] and (config["insert.mode"] == _INSERT or not is_table(Path(config["path"]))):
            yield no_rows_problem("the table")

    def check_rows(self, config: Config, rows: Mapping[str, Schema]) -> Iterable[Problem]:
        """One table for all topics. See Sink."""
        from connectors.file_sink.mixing import topics_problems

        return () if config["columns"] else topics_problems(config, rows, "table")

    def flush_policy(self, config: Config) -> FlushPolicy:
        """See Sink."""
        return FlushPolicy(config["flush.rows"], config["flush.bytes"], config["flush.interval"])

    def takes_rows(self, config: Config) -> bool:
        """Always. See Sink."""
        del config
        return True

    def targets(self, config: Config) -> Iterable[Target]:
        """To a table several connectors may append, each other topics. See Sink."""
        yield from directory_targets("path", config["path"], config["topics"])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "DeltaTask":
        """See DataFrameSink."""
        from connectors.delta_sink.task import DeltaTask
        from connectors.delta_sink.upserts import Keyed, UpsertTask
        from connectors.file_sink.columns import DIRECTORY, Columns

        del task
        root = Path(config["path"])
        columns = given_columns(config["columns"])
        # A column that takes no null keeps that: Delta checks it.
        takes = replace(DIRECTORY, nulls=False)
        evolving = Columns(root, Policy(config[POLICY.key] or Policy.EVOLVE), takes, context.log)
        flush = self.flush_policy(config)
        if config["insert.mode"] == _INSERT:
            return DeltaTask(root, context, columns, evolving, config["partition.by"], flush)
        by_key = config["pk.mode"] == _KEY
        keyed = Keyed(tuple(config["pk.fields"]), by_key, config["delete.enabled"], config["truncate.enabled"])
        return UpsertTask(root, context, columns, evolving, config["partition.by"], flush, keyed)


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


def _mode_problems(config: Config) -> Iterable[Problem]:
    key = config["pk.fields"]
    if config["insert.mode"] == _INSERT:
        given = {
            "pk.fields": ",".join(key),
            "delete.enabled": config["delete.enabled"],
            "truncate.enabled": config["truncate.enabled"],
        }
        for name in (name for name, value in given.items() if value):
            fix = "Set insert.mode=upsert, or remove it."
            yield Problem(name, config.raw[name], "means nothing where each record is a new row", fix)
        return
    if not key:
        yield Problem(
            "pk.fields", "", "is missing, and insert.mode=upsert needs the key of each row", "Name the columns of the key."
        )
    for name in dict.fromkeys(name for name in key if key.count(name) > 1):
        yield Problem("pk.fields", name, "is there more than once", "Name each column once.")
    if config["columns"]:
        names = [field.name for field in parse_columns(config["columns"]).fields]
        for name in (name for name in dict.fromkeys(key) if name not in names):
            fix = f"Name some of {', '.join(names)}, or add it to columns."
            yield Problem("pk.fields", name, "is none of the columns", fix)
