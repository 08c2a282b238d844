"""Topics into objects of S3, Google and Azure, or into files of HDFS or a folder: Parquet, ORC, JSON lines, CSV."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from connectors.objects.checks import folder_problems
from connectors.objects.location import FOLDER, HDFS, url_problem
from connectors.objects.options import SERVERS, login_of, login_problems, may_ask, name_of, place_of
from rocketconnect_sdk.columns.declared import columns_option, given_columns, no_rows_problem
from rocketconnect_sdk.configuration.csv_options import WRITTEN_DELIMITER, delimiter_of
from rocketconnect_sdk.configuration.flush_options import FLUSH_BYTES, FLUSH_ROWS, flush_interval
from rocketconnect_sdk.configuration.zones import zone_problem
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.sink import FlushPolicy, Guarantee, RecordSink
from rocketconnect_sdk.targets.manifests import Owner
from rocketconnect_sdk.targets.owned import Target

if TYPE_CHECKING:
    from connectors.object_store_sink.forms import Form
    from connectors.object_store_sink.layout import Layout
    from connectors.object_store_sink.task import ObjectTask, SinkSettings

_FORMATS = ("parquet", "orc", "jsonlines", "csv")
_TABLES = ("parquet", "orc", "csv")


def _layout_problem(path: str) -> str | None:
    from connectors.object_store_sink.layout import layout_problem

    return layout_problem(path)


FORMS = (
    Option(
        "format",
        "parquet and orc: tables. csv: lines of fields. jsonlines: a line of JSON for each value.",
        default="parquet",
        choices=_FORMATS,
    ),
    Option(
        "compression",
        "How files are compressed. parquet: snappy, zstd, gzip, lz4, none. orc: snappy, zstd, lz4, none. "
        "jsonlines and csv: none, gzip, zstd. "
        "Default: the first of them.",
        default="",
    ),
    columns_option(
        "Makes rows of JSON objects that have no schema (parquet, orc, csv); fields that are no columns are left out. "
        "Values with a schema need no columns.",
        example="id:int64,name",
    ),
    Option(
        "partition.path",
        "The folders below url that a record goes to. {topic} stands for its topic, {yyyy}, {MM}, {dd}, {HH} and {mm} for "
        "parts of its time, {field:NAME} for the value of a column. Empty: none.",
        default="{topic}",
        check=_layout_problem,
        fix="Write a path such as {topic}/dt={yyyy}-{MM}-{dd}/hour={HH}.",
    ),
    Option(
        "partition.time.field",
        "The column, a timestamp or a date, that the time in partition.path is of. Empty: the time of the record.",
        default="",
    ),
    Option(
        "partition.time.zone",
        "The time zone of the time in partition.path.",
        default="UTC",
        check=zone_problem,
        fix="Give a name such as UTC or Europe/Berlin.",
    ),
    Option("csv.header", "A CSV object begins with the names of its columns.", Kind.BOOL, "true"),
    WRITTEN_DELIMITER,
    FLUSH_ROWS,
    FLUSH_BYTES,
    flush_interval("60s", "Each queue of the batch becomes an object, or one for each folder of partition.path."),
)
"""What is written, into which folders, and when."""


class ObjectStoreSink(RecordSink):
    """Writes objects to S3, Google, Azure, or files to HDFS or a folder, exactly once: Parquet, ORC, JSON lines, CSV."""

    name = "object_store_sink"
    guarantee = Guarantee.EXACTLY_ONCE
    options = (
        Option(
            "url",
            "Where the objects go: s3://BUCKET/PREFIX, for any store that speaks S3 and has conditional writes, gs://BUCKET/PREFIX "
            "of Google, az://CONTAINER/PREFIX of Azure, hdfs://HOST/FOLDER, or file:///FOLDER. One connector has it.",
            required=True,
            check=url_problem,
            fix="Write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, hdfs://HOST/FOLDER, or file:///FOLDER with "
            "an absolute path.",
            example="s3://shop/orders",
        ),
        *FORMS,
        *SERVERS,
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        return run_checks(config, *FORM_CHECKS, folder_problems, login_problems, _store_problems)

    def without_rows(self, config: Config) -> Iterable[Problem]:
        """A table of one column that holds each value whole is hardly meant. See Sink."""
        if config["format"] in _TABLES and not config["columns"]:
            yield no_rows_problem(f"format={config['format']}")

    def takes_rows(self, config: Config) -> bool:
        """Of tables. See Sink."""
        return config["format"] in _TABLES

    def targets(self, config: Config) -> Iterable[Target]:
        """The prefix. See Sink."""
        yield Target("url", name_of(config))

    def flush_policy(self, config: Config) -> FlushPolicy:
        """See Sink."""
        return FlushPolicy(config["flush.rows"], config["flush.bytes"], config["flush.interval"])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "ObjectTask":
        """See RecordSink."""
        from connectors.object_store_sink.task import ObjectTask

        del task
        owner = Owner(context.connector_uid, context.generation, context.task, context.epoch, context.connector)
        return ObjectTask(self.written(config), owner, self.flush_policy(config), context.log)

    def deleted(self, config: Config, connector_uid: str) -> None:
        """Gives its last objects their names, and removes what counts for nothing. See Sink."""
        from connectors.object_store_sink.task import end

        end(self.written(config), connector_uid)

    def written(self, config: Config) -> "SinkSettings":
        """What is written, and where."""
        from connectors.object_store_sink.task import SinkSettings

        place = place_of(config)
        return SinkSettings(place, None if place.kind == FOLDER else login_of(config), form_of(config), layout_of(config))


def form_of(config: Config) -> "Form":
    """How it is written."""
    from connectors.object_store_sink.forms import COMPRESSIONS, Form

    packed = config["compression"] or COMPRESSIONS[config["format"]][0]
    return Form(config["format"], packed, given_columns(config["columns"]), delimiter_of(config), config["csv.header"])


def layout_of(config: Config) -> "Layout":
    """Into which folders."""
    from connectors.object_store_sink.layout import Layout

    return Layout(config["partition.path"], config["partition.time.field"], config["partition.time.zone"])


def _form_problems(config: Config) -> Iterable[Problem]:
    from connectors.object_store_sink.forms import COMPRESSIONS

    form, given = config["format"], config["compression"]
    if given and given not in COMPRESSIONS[form]:
        fix = f"Give one of {', '.join(COMPRESSIONS[form])}."
        yield Problem("compression", given, f"is none of format={form}", fix)


def _partition_problems(config: Config) -> Iterable[Problem]:
    from connectors.object_store_sink.layout import TIMES

    layout, columns = layout_of(config), given_columns(config["columns"])
    has_time = any(each in TIMES for each in layout.placeholders)
    for key in ("partition.time.field", "partition.time.zone"):
        if config.raw.get(key) and not has_time:
            yield Problem(key, config.raw[key], "means nothing without a time in partition.path", "Remove it.")
    if config["format"] == "jsonlines" or columns is None:
        return
    there = [each.name for each in columns.fields]
    for name in layout.columns:
        if name not in there:
            key = "partition.time.field" if name == layout.time else "partition.path"
            yield Problem(key, name, "is no column of the option columns", f"Name one of {', '.join(there)}.")


def _csv_problems(config: Config) -> Iterable[Problem]:
    form = config["format"]
    for key in ("csv.header", "csv.delimiter"):
        if form != "csv" and key in config.raw:
            yield Problem(key, config.raw[key], f"means nothing with format={form}", "Remove it, or set format=csv.")


def _columns_problems(config: Config) -> Iterable[Problem]:
    if config["format"] == "jsonlines" and config.raw.get("columns"):
        yield Problem("columns", config.raw["columns"][:200], "means nothing with format=jsonlines", "Remove it.")


def _size_problems(config: Config) -> Iterable[Problem]:
    """What every task has as its limits ends a batch first."""
    for key, limits in (("flush.rows", ("batch.records",)), ("flush.bytes", ("batch.bytes", "buffer.bytes"))):
        low = [limit for limit in limits if limit in config and config[limit] < config[key]]
        if low:
            fix = f"Set {' and '.join(low)} to {config.raw[key]}, or leave {key} out."
            yield Problem(key, config.raw[key], f"is more than {' and '.join(low)}, which end a batch before", fix, is_warning=True)


def _store_problems(config: Config) -> Iterable[Problem]:
    if not may_ask(config):
        return
    if place_of(config).kind == HDFS:
        from connectors.objects.look_hdfs import write_problems

        yield from write_problems(place_of(config), login_of(config))
    else:
        from connectors.object_store_sink.preflight import bucket_problems

        yield from bucket_problems(place_of(config), login_of(config))


FORM_CHECKS = (_form_problems, _partition_problems, _csv_problems, _columns_problems, _size_problems)
"""What of FORMS does not go together."""
