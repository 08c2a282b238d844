"""Topics into tables of Hive: Parquet files, and partitions that the metastore knows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from connectors.hive.options import CHECK_SECONDS, METASTORE, metastore_of, table_of, table_option
from connectors.objects.checks import folder_problems
from connectors.objects.location import FOLDER, s3_or_folder_problem
from connectors.objects.options import SERVER, login_of, login_problems, may_ask, place_of
from rocketconnect_sdk.columns.declared import columns_option, given_columns, no_rows_problem
from rocketconnect_sdk.configuration.flush_options import FLUSH_BYTES, FLUSH_ROWS, flush_interval
from rocketconnect_sdk.configuration.zones import zone_problem
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import POLICY, Policy, policy_problems
from rocketconnect_sdk.options import Config, Option, run_checks
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, Guarantee, RecordSink
from rocketconnect_sdk.targets.manifests import Owner
from rocketconnect_sdk.targets.owned import Target

if TYPE_CHECKING:
    from connectors.hive_sink.table import Landing
    from connectors.hive_sink.task import HiveTask
    from connectors.object_store_sink.task import SinkSettings

_COMPRESSIONS = ("snappy", "zstd", "gzip", "none")


def _path_problem(path: str) -> str | None:
    from connectors.hive_sink.levels import path_problem

    return path_problem(path)


class HiveSink(RecordSink):
    """Adds Parquet files to a table of Hive, and its new partitions to the metastore, exactly once."""

    name = "hive_sink"
    guarantee = Guarantee.EXACTLY_ONCE
    options = (
        METASTORE,
        table_option(" A table that is not there is made of the columns of the first records, as an external one."),
        Option(
            "url",
            "Where the files of the table are: file:///FOLDER, which all that read the table have under this path, or "
            "s3://BUCKET/PREFIX, which Hive knows as s3a://. A table that is there has its files there. One connector has it.",
            required=True,
            check=s3_or_folder_problem,
            fix="Write file:///FOLDER with an absolute path, or s3://BUCKET/PREFIX.",
            example="s3://shop/orders",
        ),
        Option(
            "partition.path",
            "What the table is partitioned by: NAME={field:FIELD} for a field of the records, which becomes the partition column "
            "where both have one name, or NAME= and parts of the time of the record, {yyyy}, {MM}, {dd}, {HH}, {mm}, or {topic}; "
            "with slashes between several. Empty: it has no partitions.",
            default="",
            check=_path_problem,
            fix="Write a path such as country={field:country}/dt={yyyy}-{MM}-{dd}, with lower-case names.",
        ),
        Option(
            "partition.time.field",
            "The field, a timestamp or a date, that the time in partition.path is of. Empty: the time of the record.",
            default="",
        ),
        Option(
            "partition.time.zone",
            "The time zone of the time in partition.path.",
            default="UTC",
            check=zone_problem,
            fix="Give a name such as UTC or Europe/Berlin.",
        ),
        columns_option(
            "Makes rows of JSON objects that have no schema; fields that are no columns are left out. "
            "Values with a schema need no columns.",
            example="id:int64,name",
        ),
        replace(
            POLICY,
            doc=f"{POLICY.doc} Default: evolve: the table and all its partitions get new columns, but no other types. Not with "
            "columns, which are all there are.",
        ),
        Option("compression", "Of the files.", default="snappy", choices=_COMPRESSIONS),
        FLUSH_ROWS,
        FLUSH_BYTES,
        flush_interval("60s", "Each queue of the batch becomes a file, or one for each of its partitions."),
        *SERVER,
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        return run_checks(config, *_CHECKS)

    def without_rows(self, config: Config) -> Iterable[Problem]:
        """A table of one column that holds each value whole is hardly meant. See Sink."""
        if not config["columns"]:
            yield no_rows_problem("the table")

    def takes_rows(self, config: Config) -> bool:
        """Always. See Sink."""
        del config
        return True

    def check_rows(self, config: Config, rows: Mapping[str, Schema]) -> Iterable[Problem]:
        """One table for all topics, also that which is there. See Sink."""
        if config["columns"]:
            return ()
        from connectors.hive_sink.preflight import rows_problems

        return rows_problems(config, _landing(config), rows)

    def targets(self, config: Config) -> Iterable[Target]:
        """The place of the files. See Sink."""
        yield Target("url", place_of(config).name(config["endpoint"]))

    def flush_policy(self, config: Config) -> FlushPolicy:
        """See Sink."""
        return FlushPolicy(config["flush.rows"], config["flush.bytes"], config["flush.interval"])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "HiveTask":
        """See RecordSink."""
        from connectors.hive_sink.task import HiveTask

        del task
        owner = Owner(context.connector_uid, context.generation, context.task, context.epoch, context.connector)
        return HiveTask(_written(config), _landing(config), owner, self.flush_policy(config), context.log)

    def deleted(self, config: Config, connector_uid: str) -> None:
        """Gives its last files their names, makes their partitions known, and removes what counts for nothing. See Sink."""
        from connectors.hive_sink.task import register
        from connectors.object_store_sink.task import end

        landing = _landing(config)

        def named(names: Sequence[str]) -> None:
            register(landing, names)

        end(_written(config), connector_uid, named)


def _written(config: Config) -> "SinkSettings":
    from connectors.object_store_sink.forms import PARQUET, Form
    from connectors.object_store_sink.layout import Layout
    from connectors.object_store_sink.task import SinkSettings

    place = place_of(config)
    form = Form(PARQUET, config["compression"], given_columns(config["columns"]))
    layout = Layout(config["partition.path"], config["partition.time.field"], config["partition.time.zone"])
    return SinkSettings(place, None if place.kind == FOLDER else login_of(config), form, layout)


def _landing(config: Config, seconds: float = 60.0) -> "Landing":
    from connectors.hive_sink.levels import parse_levels
    from connectors.hive_sink.table import Landing

    database, name = table_of(config)
    levels = parse_levels(config["partition.path"], config["partition.time.field"], config["partition.time.zone"])
    policy = Policy(config[POLICY.key] or (Policy.IGNORE if config["columns"] else Policy.EVOLVE))
    return Landing(metastore_of(config, seconds), database, name, place_of(config), levels, policy)


def _evolution_problems(config: Config) -> Iterable[Problem]:
    if config["columns"]:
        return policy_problems(config, (), "the option columns says all columns that there are")
    return policy_problems(config, tuple(Policy), "")


def _partition_problems(config: Config) -> Iterable[Problem]:
    from connectors.object_store_sink.layout import TIMES

    has_time = any(f"{{{each}}}" in config["partition.path"] for each in TIMES)
    for key in ("partition.time.field", "partition.time.zone"):
        if config.raw.get(key) and not has_time:
            yield Problem(key, config.raw[key], "means nothing without a time in partition.path", "Remove it.")
    columns = given_columns(config["columns"])
    if columns is None:
        return
    there = [each.name.lower() for each in columns.fields]
    named = [("partition.path", each.field) for each in _landing(config).levels.all if each.field]
    for key, name in [*named, ("partition.time.field", config["partition.time.field"].lower())]:
        if name and name not in there:
            yield Problem(key, name, "is no column of the option columns", f"Name one of {', '.join(there)}.")


def _store_problems(config: Config) -> Iterable[Problem]:
    if may_ask(config):
        from connectors.object_store_sink.preflight import bucket_problems

        yield from bucket_problems(place_of(config), login_of(config))


def _table_problems(config: Config) -> Iterable[Problem]:
    from connectors.hive_sink.preflight import table_problems

    return table_problems(config, _landing(config, CHECK_SECONDS))


_CHECKS = (
    _evolution_problems,
    _partition_problems,
    login_problems,
    folder_problems,
    _store_problems,
    _table_problems,
)
