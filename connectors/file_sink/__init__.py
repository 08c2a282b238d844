"""Topics into files, with Spark: lines in one file, or a directory of Parquet or ORC files."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rocketconnect_sdk.columns.declared import columns_option, columns_problem, given_columns, no_rows_problem, parse_columns
from rocketconnect_sdk.columns.sinks import DataFrameSink, DataFrameSinkTask
from rocketconnect_sdk.configuration.csv_options import WRITTEN_DELIMITER, delimiter_of
from rocketconnect_sdk.configuration.flush_options import FLUSH_BYTES, FLUSH_ROWS, flush_interval
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import POLICY, Policy, policy_problems
from rocketconnect_sdk.files import AppendedFile, Owner
from rocketconnect_sdk.files.checks import directory_targets, file_targets, kind_problems, place_problems
from rocketconnect_sdk.files.endings import ending_problems, is_gzip_name
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.permissions.roots import Access
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, Guarantee
from rocketconnect_sdk.source import Plan
from rocketconnect_sdk.targets.owned import Target

if TYPE_CHECKING:
    from connectors.file_sink.dataset import DatasetTask
    from connectors.file_sink.single import SingleFileTask

_TABLES = ("parquet", "orc")
_TABLE_INTERVAL = 60.0
_MEANT = {
    "csv": "if its lines are to be rows",
    "jsonlines": "if each of its lines is to be JSON",
    "parquet": "if it is to be a directory of Parquet files",
    "orc": "if it is to be a directory of ORC files",
}


class FileSink(DataFrameSink):
    """Writes text lines, CSV or JSON lines to one file, or Parquet or ORC files to a directory, exactly once."""

    name = "file_sink"
    aliases = ("FileSink", "FileSinkConnector", "org.apache.rocketmq.connect.file.FileSinkConnector")
    guarantee = Guarantee.EXACTLY_ONCE
    options = (
        Option(
            "filename",
            "The absolute path of the file; of parquet and orc, of the directory. The directory that it is in must exist.",
            required=True,
            access=Access.WRITE,
            example="/tmp/orders.txt",  # noqa: S108  # a folder that is there on every machine
        ),
        Option(
            "format",
            "text (text and bytes as they are, else JSON), csv and jsonlines: one file. parquet and orc: a directory of files.",
            default="text",
            choices=("text", "csv", "jsonlines", *_TABLES),
        ),
        columns_option(
            "Makes rows of JSON objects that have no schema (csv, parquet, orc); fields that are no columns are left out, and an "
            "object that has none of the columns is a bad record. "
            "Values with a schema need no columns."
        ),
        replace(
            POLICY,
            doc=f"{POLICY.doc} Default: evolve for parquet and orc, whose directories get new columns, but no other types; fail "
            "for csv, whose first line stays. Not with columns, which are all there are.",
        ),
        Option("csv.header", "A CSV file begins with the names of its columns.", Kind.BOOL, "true"),
        WRITTEN_DELIMITER,
        FLUSH_ROWS,
        FLUSH_BYTES,
        flush_interval(None, "Default: 60s for parquet and orc, whose files should not be tiny; 0s for the others."),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        return run_checks(config, *_CHECKS)

    def without_rows(self, config: Config) -> Iterable[Problem]:
        """A table of one column that holds each value whole is hardly meant. See Sink."""
        if config["format"] in (*_TABLES, "csv") and not config["columns"]:
            yield no_rows_problem(f"format={config['format']}")

    def takes_rows(self, config: Config) -> bool:
        """Of tables. See Sink."""
        return config["format"] in (*_TABLES, "csv")

    def flush_policy(self, config: Config) -> FlushPolicy:
        """See Sink."""
        return _flush(config, _TABLE_INTERVAL if config["format"] in _TABLES else 0.0)

    def check_rows(self, config: Config, rows: Mapping[str, Schema]) -> Iterable[Problem]:
        """One directory or CSV file is one table. See Sink."""
        if config["columns"] or config["format"] not in (*_TABLES, "csv"):
            return ()
        from connectors.file_sink.mixing import directory_problems, file_problems

        return (
            directory_problems(config, rows) if config["format"] in _TABLES else file_problems(config, rows, delimiter_of(config))
        )

    def targets(self, config: Config) -> Iterable[Target]:
        """One file. To a directory several connectors may write, each with manifests of its own, and other topics. See Sink."""
        if config["format"] in _TABLES:
            yield from directory_targets("filename", config["filename"], config["topics"])
        else:
            yield from file_targets(config["filename"])

    def plan(self, config: Config, max_tasks: int) -> Plan:
        """One file has one writer, so that its order means something: then there is one task, whatever max.tasks says."""
        return Plan([{} for _ in range(max_tasks if config["format"] in _TABLES else 1)])

    def deleted(self, config: Config, connector_uid: str) -> None:
        """Of a directory: gives its last files their names, and removes what counts for nothing. See Sink."""
        if config["format"] in _TABLES:
            _dataset(config, Owner(connector_uid, 0, 0, 0), TaskContext(connector_uid=connector_uid)).end()

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> DataFrameSinkTask:
        """See DataFrameSink."""
        del task
        owner = Owner(context.connector_uid, context.generation, context.task, context.epoch, context.connector)
        make = _dataset if config["format"] in _TABLES else _single
        return make(config, owner, context)


def _place_problems(config: Config) -> Iterable[Problem]:
    return place_problems(config["filename"])


def _kind_problems(config: Config) -> Iterable[Problem]:
    return kind_problems(config["filename"], directory=config["format"] in _TABLES)


def _csv_problems(config: Config) -> Iterable[Problem]:
    form = config["format"]
    for key in ("csv.header", "csv.delimiter"):
        if form != "csv" and key in config.raw:
            yield Problem(key, config.raw[key], f"means nothing with format={form}", "Remove it, or set format=csv.")


def _columns_problems(config: Config) -> Iterable[Problem]:
    form = config["format"]
    if form in ("text", "jsonlines") and config.raw.get("columns"):
        yield Problem("columns", config.raw["columns"][:200], f"means nothing with format={form}", "Remove it.")


def _header_problems(config: Config) -> Iterable[Problem]:
    if config["format"] != "csv":
        return
    from connectors.file_sink.header import delimiter_problem, header_problem

    columns = given_columns(config["columns"])
    names = None if columns is None else [field.name for field in columns.fields]
    # A first line that is none says nothing of a delimiter; what the sink has noted does.
    if there := delimiter_problem(Path(config["filename"]), delimiter_of(config), names, has_header=config["csv.header"]):
        why, other = there
        written = "\\t" if other == "\t" else other
        fix = f"Set csv.delimiter to `{written}`, or write into another file, or move this one away first."
        yield Problem("csv.delimiter", config["csv.delimiter"], why, fix)
        return
    if names is None or not config["csv.header"]:
        return
    if reason := header_problem(Path(config["filename"]), delimiter_of(config), names):
        fix = "The first line of a CSV file stays: write other columns into another file, or move this one away first."
        yield Problem("columns", config["columns"][:200], reason, fix)


def _type_problems(config: Config) -> Iterable[Problem]:
    if config["format"] not in _TABLES or not config["columns"]:
        return
    from connectors.file_sink.columns import case_problems

    yield from case_problems(config)
    from connectors.file_sink.there import type_problems

    for name, wanted, there, path in type_problems(Path(config["filename"]), config["format"], parse_columns(config["columns"])):
        reason = f"makes the column {name} {wanted}, and {path} has it as {there}: nobody reads a directory with both"
        kept = "Write" if columns_problem(f"{name}:{there}") else f"Write {name}:{there}, or write"
        fix = f"{kept} into another directory, or move the files away first."
        yield Problem("columns", config["columns"][:200], reason, fix)


def _evolution_problems(config: Config) -> Iterable[Problem]:
    form = config["format"]
    if form not in (*_TABLES, "csv"):
        return policy_problems(config, (), f"each line of format={form} has the fields of its record")
    if config["columns"]:
        return policy_problems(config, (), "the option columns says all columns that there are")
    if form == "csv":
        return policy_problems(config, (Policy.FAIL, Policy.IGNORE, Policy.DEAD_LETTER), "the first line of a CSV file stays")
    return policy_problems(config, tuple(Policy), "")


def _name_problems(config: Config) -> Iterable[Problem]:
    yield from ending_problems(config["filename"], config["format"], config.raw.get("format", ""), _MEANT, "")
    if is_gzip_name(config["filename"]):
        reason = "the name ends in .gz, and what is written is no gzip"
        yield Problem("filename", config["filename"], reason, "Leave .gz out of the name.", is_warning=True)


_CHECKS = (
    _place_problems,
    _kind_problems,
    _csv_problems,
    _columns_problems,
    _header_problems,
    _type_problems,
    _evolution_problems,
    _name_problems,
)


def _dataset(config: Config, owner: Owner, context: TaskContext) -> "DatasetTask":
    from connectors.file_sink.columns import DIRECTORY, Columns
    from connectors.file_sink.dataset import DatasetTask

    root = Path(config["filename"])
    columns = given_columns(config["columns"])
    evolving = Columns(root, Policy(config[POLICY.key] or Policy.EVOLVE), DIRECTORY, context.log)
    return DatasetTask(root, owner, config["format"], columns, evolving, _flush(config, _TABLE_INTERVAL))


def _single(config: Config, owner: Owner, context: TaskContext) -> "SingleFileTask":
    from connectors.file_sink.columns import ONE_FILE, Columns
    from connectors.file_sink.forms import LineForm
    from connectors.file_sink.single import SingleFileTask

    columns = given_columns(config["columns"])
    form = LineForm(config["format"], columns, delimiter_of(config))
    path = Path(config["filename"])
    file = AppendedFile(path, owner, context.log)
    evolving = Columns(path, Policy(config[POLICY.key] or Policy.FAIL), ONE_FILE, context.log)
    return SingleFileTask(file, form, evolving, _flush(config, 0.0), header=config["csv.header"])


def _flush(config: Config, interval: float) -> FlushPolicy:
    given = config["flush.interval"]
    return FlushPolicy(config["flush.rows"], config["flush.bytes"], interval if given is None else given)
