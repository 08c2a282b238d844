"""Rows of a table of Hive into a topic, file by file, as partitions and files are added."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from connectors.hive.options import CHECK_SECONDS, METASTORE, metastore_of, table_of, table_option
from connectors.object_store_source import FORGET_AFTER
from connectors.objects.location import FOLDER, Location
from connectors.objects.logins import Login
from connectors.objects.options import SERVER, login_of, login_problems, may_ask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem, RetriableError, SystemAway
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.permissions.roots import reading
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import Edge, Plan, Source

if TYPE_CHECKING:
    from connectors.hive_source.table import State, WatchedTable
    from connectors.hive_source.task import HiveSourceTask

_NUMBERS, _MARKS = 2, 2
"""Of an offset: rows that are done, and 0, 1 behind the file, or 2 where it is told that the file is gone."""
_SAMPLED = 100


class HiveSource(Source):
    """Reads the rows of a table of Hive, and those of partitions and Parquet files that are added, exactly once."""

    name = "hive_source"
    options = (
        METASTORE,
        table_option(" Its files are Parquet, in folders of this machine or on S3."),
        Option(
            "pattern",
            "Which partitions: a pattern of their names, in which * stands for any characters, / too: dt=2026-07-*/country=*.",
            default="*",
        ),
        Option(
            "follow", "Looks for new partitions and files. Otherwise it ends when all that are there are read.", Kind.BOOL, "true"
        ),
        Option(
            "poll.interval",
            "How often to look for new partitions and files.",
            Kind.DURATION,
            "30s",
            minimum=0,
            maximum=3600,
        ),
        Option("key.columns", "The columns of the keys of records. Empty: records have no keys.", Kind.LIST, ""),
        Option(
            "on.rewrite",
            "When files of a partition that were read, or begun, are gone, as after INSERT OVERWRITE. fail; skip: what took "
            "their place is not read; read: it is, also where its rows were given before. skip and read say so. Partitions that "
            "are dropped are passed in any case.",
            default="fail",
            choices=("fail", "skip", "read"),
        ),
        FORGET_AFTER,
        *SERVER,
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        return run_checks(config, _table_problems)

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """Each task has a share of the partitions; a table without partitions has one task. See Source."""
        del positions
        count = max_tasks if _table(config).state().levels else 1
        return Plan([{"share": f"{number}/{count}"} for number in range(count)])

    def sample(self, config: Config) -> SourceBatch | None:
        """See Source."""
        task = self.open(config, {"share": "0/1"}, TaskContext(batch_records=_SAMPLED))
        task.start({})
        return task.poll()

    def origins(self, config: Config) -> Iterable[Origin]:
        """The table, of patterns of partitions each by itself. See Source."""
        metastore = metastore_of(config)
        place = ",".join(sorted(f"{host.lower()}:{port}" for host, port in metastore.addresses))
        yield Origin("table", f"hive://{place}/", f"{'.'.join(table_of(config))}/{config['pattern']}")

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """See Source."""
        del config
        offset = position.offset
        if len(offset) != _NUMBERS or min(offset) < 0 or offset[1] > _MARKS:
            yield Problem(partition, str(list(offset)), "is no place in a file", "Give [rows that are done, 0], or [0, 1]: all.")

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        """The beginning. See Source."""
        del config, partition
        return Position((0, 0)) if place is Edge.EARLIEST else None

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "HiveSourceTask":
        """See Source."""
        from connectors.hive_source.listing import TableObjects
        from connectors.hive_source.task import HiveSourceTask, Rewrites
        from rocketconnect_sdk.files.gone import GoneObjects

        number, _, tasks = task["share"].partition("/")
        objects = TableObjects(_table(config), partial(_login, config))
        every = config["poll.interval"] if config["follow"] else None
        share = (int(number), int(tasks))
        missing = GoneObjects(config["positions.forget.after"])
        return HiveSourceTask(objects, config["key.columns"], Rewrites(config["on.rewrite"]), share, every, context, missing)


def _table(config: Config, seconds: float = 60.0) -> "WatchedTable":
    from connectors.hive_source.table import WatchedTable

    return WatchedTable(metastore_of(config, seconds), *table_of(config), config["pattern"])


def _login(config: Config, place: Location) -> Login | None:
    """How files are reached. Raises PermanentError: keys are missing."""
    if place.kind == FOLDER:
        return None
    if not (config["access.key.id"] and config["secret.access.key"]):
        msg = f"files of the table are in {place}, and the store asks who it is. Set access.key.id and secret.access.key"
        raise PermanentError(msg)
    return login_of(config, place)


def _table_problems(config: Config) -> Iterable[Problem]:
    """Asks the metastore. One that does not answer now may do so later, and the source waits for it: a warning."""
    from connectors.hive_source.table import NoTable

    try:
        state = _table(config, CHECK_SECONDS).state()
    except (NoTable, PermanentError) as error:
        yield Problem("table", config["table"], str(error), "Name a table of Parquet files that is there.")
        return
    except (SystemAway, RetriableError) as error:
        fix = "Start the metastore, or correct the address."
        yield Problem("metastore", config["metastore"], f"does not answer now: {error}", fix, is_warning=True)
        return
    yield from _key_problems(config, state)
    yield from _place_problems(config, state.root)


def _key_problems(config: Config, state: "State") -> Iterable[Problem]:
    for name in (name for name in config["key.columns"] if name not in state.columns.names):
        yield Problem("key.columns", name, "is none of the columns", f"Name some of {', '.join(state.columns.names)}.")


def _place_problems(config: Config, place: Location) -> Iterable[Problem]:
    """What is wrong with where the files are."""
    if place.kind == FOLDER:
        if reason := reading().problem(place.prefix):
            yield Problem("table", config["table"], f"has its files in {place.prefix}: {reason}", reading().fix(place.prefix))
        return
    yield from login_problems(config, place, "table")
    if may_ask(config, place):
        from connectors.objects.preflight import quick, reach_problems

        login = login_of(config, place)
        for each in reach_problems(place, login, quick(place, login), ""):
            yield replace(each, key="table", value=config["table"]) if each.key == "url" else each
