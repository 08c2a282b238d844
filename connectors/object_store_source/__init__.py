"""Objects of S3, Google and Azure, or files of HDFS or a folder, into a topic: Parquet, JSON lines, CSV, text."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from connectors.objects.location import FOLDER, HDFS, url_problem
from connectors.objects.options import SERVERS, login_of, login_problems, may_ask, name_of, place_of
from rocketconnect_sdk.columns.declared import DOC, columns_option
from rocketconnect_sdk.configuration.csv_options import READ_DELIMITER
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.files.gone import forget_after
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import OBJECTS, Origin
from rocketconnect_sdk.permissions.roots import reading
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import Edge, Plan, Source

if TYPE_CHECKING:
    from connectors.object_store_source.listing import Found, Objects
    from connectors.object_store_source.readers import Reader
    from connectors.object_store_source.task import ObjectSourceTask

_NUMBERS = 2
"""Of an offset: rows or bytes that are done, and 1 behind the object."""
_SAMPLED = 100


FORMS = (
    Option(
        "pattern",
        "Which objects: a pattern of names behind the prefix, in which * stands for any characters, / too: *.parquet. Names "
        "with a part that begins with an underscore or a point are left out.",
        default="*",
    ),
    Option(
        "format",
        "parquet: rows with their types. jsonlines: each line is JSON. csv. text: each line is a string.",
        default="parquet",
        choices=("parquet", "jsonlines", "csv", "text"),
    ),
    Option(
        "compression",
        "How files of lines are compressed. auto: gzip if the name ends in .gz.",
        default="auto",
        choices=("auto", "none", "gzip"),
    ),
    Option("follow", "Looks for new objects. Otherwise it ends when all that are there are read.", Kind.BOOL, "true"),
    Option("discover.interval", "How often to look for new objects.", Kind.DURATION, "30s", minimum=0.1),
    Option("key.field", "The column or field that becomes the key of the record.", default=""),
    columns_option("Types of CSV columns; all of them, in order, when there is no header."),
    Option("csv.header", "The first line of each object names the columns.", Kind.BOOL, "true"),
    READ_DELIMITER,
)
"""Which objects are read, and what they are."""
FORGET_AFTER = forget_after("24h")


class ObjectStoreSource(Source):
    """Reads objects of S3, Google, Azure, or files of HDFS, a folder, each once, and new ones as they come: Parquet, lines, CSV."""

    name = "object_store_source"
    options = (
        Option(
            "url",
            "Where the objects are: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX of Google, az://CONTAINER/PREFIX of Azure, "
            "hdfs://HOST/FOLDER, or file:///FOLDER; those of HDFS and of a folder are files that are there whole.",
            required=True,
            check=url_problem,
            fix="Write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, hdfs://HOST/FOLDER, or file:///FOLDER with "
            "an absolute path.",
            example="s3://shop/orders",
        ),
        *FORMS,
        FORGET_AFTER,
        *SERVERS,
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        return run_checks(config, form_problems, _folder_problems, login_problems, _store_problems)

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """Each task has a share of the names. See Source."""
        del config, positions
        return Plan([{"share": f"{number}/{max_tasks}"} for number in range(max_tasks)])

    def sample(self, config: Config) -> SourceBatch | None:
        """See Source."""
        task = self.open(config, {"share": "0/1"}, TaskContext(batch_records=_SAMPLED))
        task.start({})
        return task.poll()

    def origins(self, config: Config) -> Iterable[Origin]:
        """The prefix with its pattern, wherever links lead; of prefixes within each other nothing is known. See Source."""
        yield Origin("url", OBJECTS, f"{name_of(config)}/{config['pattern']}")

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """See Source."""
        offset = position.offset
        if len(offset) != _NUMBERS or min(offset) < 0 or offset[1] > 1:
            unit = "rows" if config["format"] == "parquet" else "bytes"
            yield Problem(
                partition, str(list(offset)), "is no place in an object", f"Give [{unit} that are done, 0], or [0, 1]: all."
            )

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        """The beginning. See Source."""
        del config, partition
        return Position((0, 0)) if place is Edge.EARLIEST else None

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "ObjectSourceTask":
        """See Source."""
        from connectors.object_store_source.listing import is_data
        from connectors.object_store_source.places import objects_of
        from connectors.object_store_source.task import ObjectSourceTask
        from rocketconnect_sdk.files.gone import GoneObjects

        number, _, tasks = task["share"].partition("/")
        place = place_of(config)
        objects = objects_of(place, None if place.kind == FOLDER else login_of(config))
        every = config["discover.interval"] if config["follow"] else None
        opening = partial(reader_of, config, objects, context)
        is_read = partial(is_data, pattern=config["pattern"])
        missing = GoneObjects(config["positions.forget.after"])
        return ObjectSourceTask(objects, is_read, (int(number), int(tasks)), opening, every, context, missing)


def reader_of(config: Config, objects: "Objects", context: TaskContext, found: "Found", begin: int) -> "Reader":
    """Reads an object, as FORMS say, behind so many rows or bytes."""
    from connectors.file_source.forms import utf8_format
    from connectors.object_store_source.doubts import is_packed
    from connectors.object_store_source.readers import Lines, Rows

    if config["format"] == "parquet":
        return Rows(objects, found, begin, config["key.field"], context)
    form = utf8_format(config, context.max_record_bytes, config["columns"], columns_wanted=context.columns)
    return Lines(objects, found, begin, form, context, packed=is_packed(config, found.name))


def form_problems(config: Config) -> Iterable[Problem]:
    """What of FORMS does not go together."""
    form = config["format"]
    for key in ("columns", "csv.header", "csv.delimiter"):
        if form != "csv" and key in config.raw:
            yield Problem(key, config.raw[key][:200], f"means nothing with format={form}", "Remove it, or set format=csv.")
    if form == "text" and config["key.field"]:
        fix = "Remove it, or set another format."
        yield Problem("key.field", config["key.field"], "lines of text have no fields", fix)
    if form == "parquet" and config.raw.get("compression"):
        yield Problem("compression", config["compression"], "means nothing with format=parquet, which says it itself", "Remove it.")
    if form == "csv" and not config["csv.header"] and not config["columns"]:
        yield Problem("columns", "", "is needed where csv.header is false", f"Name all columns: {DOC}")


def _folder_problems(config: Config) -> Iterable[Problem]:
    place = place_of(config)
    if place.kind != FOLDER:
        return
    if reason := reading().problem(place.prefix):
        yield Problem("url", config["url"], reason, reading().fix(place.prefix))
        return
    from connectors.object_store_source.doubts import delimiter_problems
    from connectors.object_store_source.places import objects_of

    yield from delimiter_problems(config, objects_of(place, None))


def _store_problems(config: Config) -> Iterable[Problem]:
    if may_ask(config):
        if place_of(config).kind == HDFS:
            yield from _hdfs_problems(config)
            return
        from connectors.objects.preflight import SECONDS, quick, reach_problems

        place, login = place_of(config), login_of(config)
        found = list(reach_problems(place, login, quick(place, login), ""))
        yield from found
        if not found:
            from connectors.object_store_source.doubts import delimiter_problems
            from connectors.object_store_source.listing import Bucket

            yield from delimiter_problems(config, Bucket(place, login, seconds=SECONDS, retries=1))


def _hdfs_problems(config: Config) -> Iterable[Problem]:
    from connectors.objects.look_hdfs import read_problems

    found = list(read_problems(place_of(config), login_of(config)))
    yield from found
    if not found:
        from connectors.object_store_source.doubts import delimiter_problems
        from connectors.object_store_source.places import objects_of

        yield from delimiter_problems(config, objects_of(place_of(config), login_of(config)))
