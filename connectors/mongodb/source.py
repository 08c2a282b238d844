"""Documents of MongoDB and their changes into topics. It was never run against a mongod: its oplog mode was, against FerretDB.

What no server has proven: change streams at all (a stand-in that speaks the protocol answers them), entries of transactions, and
versions of entries other than FerretDB's.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from connectors.mongodb.options import CHECK_SECONDS, SERVER
from rocketconnect_sdk.changes import OPTIONS
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.source import SERVER_NAME, heartbeat, name_patterns
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.origins.tables import tables_of
from rocketconnect_sdk.plugins.packages import NeedsPackages
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import Edge, Plan, Source, SourceTask

_LOOKUP = "updateLookup"
_STAGES = ("$addFields", "$match", "$project", "$redact", "$replaceRoot", "$replaceWith", "$set", "$unset")
_WHOLE = (_LOOKUP, "required")
_UNSIGNED = 1 << 32
_PLACE = range(3, 5)
"""A place of a log has so many numbers: seconds, the number in the second, that of the operation there, and that of a tombstone."""


def _pipeline_problem(text: str) -> str | None:
    if not text:
        return None
    try:
        stages: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"is no JSON: {error}"
    if not isinstance(stages, list) or not all(isinstance(stage, dict) and len(stage) == 1 for stage in stages):
        return "is no list of stages, each an object with one name"
    wrong = [name for stage in stages for name in stage if name not in _STAGES]
    return f"has the stage {wrong[0]}, and a change stream takes {', '.join(_STAGES)}" if wrong else None


class MongodbSource(NeedsPackages, Source):
    """Copies collections of MongoDB, and then every change of their documents, by change streams or from the oplog."""

    name = "mongodb_source"
    aliases = ("MongoSourceConnector",)
    extra = "mongodb"
    packages = ("pymongo",)
    options = (
        *SERVER,
        SERVER_NAME,
        name_patterns("database.include", "The databases that are captured; empty: all but the server's own.", "shop, crm_.*"),
        name_patterns(
            "collection.include",
            "The collections of these that are captured, as database.collection; empty: all.",
            r"shop\.order.*",
        ),
        name_patterns("collection.exclude", "Collections that are not, as database.collection.", r"shop\.audit_.*"),
        Option(
            "capture.mode",
            "change_streams: changes are read by a change stream, of a replica set or a sharded cluster. oplog: from the "
            "collection local.oplog.rs of a replica set, which servers have that lack change streams.",
            default="change_streams",
            choices=("change_streams", "oplog"),
        ),
        Option(
            "snapshot.mode",
            "initial: the documents that are there, in chunks, then the changes. only: the documents that are there. never: the "
            "changes from now on. earliest: those from the first on that the oplog still has (capture.mode=oplog). when_needed: as "
            "initial, and all documents anew where changes were lost.",
            default="initial",
            choices=("initial", "only", "never", "earliest", "when_needed"),
        ),
        Option("snapshot.chunk.size", "The most documents of a chunk.", Kind.INT, "1000", minimum=1, maximum=100_000),
        Option(
            "change.stream.full.document",
            "What updates have beside what they have changed. updateLookup: the document, as it is when the change is read; an "
            "update of one that is gone by then has no record. default: nothing. whenAvailable, required: the document as the "
            "update has left it, which collections with changeStreamPreAndPostImages have (change streams).",
            default=_LOOKUP,
            choices=("default", _LOOKUP, "whenAvailable", "required"),
        ),
        Option(
            "change.stream.full.document.before.change",
            "Whether updates and deletions have the document as it was, which collections with changeStreamPreAndPostImages have "
            "(change streams). required: a change without it ends the task.",
            default="off",
            choices=("off", "whenAvailable", "required"),
        ),
        Option(
            "pipeline",
            'Stages behind $changeStream, as a JSON list, such as [{"$match": {"operationType": "insert"}}]. They must leave _id, '
            "clusterTime, ns and documentKey.",
            default="",
            check=_pipeline_problem,
            fix='Write a JSON list, such as [{"$match": {"ns.coll": "orders"}}].',
        ),
        Option(
            "document.form",
            "What documents are. extended: MongoDB's extended JSON, canonical: all types are told. relaxed: the same with plain "
            "numbers. struct: rows with the types that the values of each document have.",
            default="extended",
            choices=("extended", "relaxed", "struct"),
        ),
        heartbeat("How often the place in the log is stored, also when nothing is captured."),
        Option(
            "collection.topic",
            "The topic of a collection; ${topic} is the topic of the configuration. Without ${collection} all are in one.",
            default="${topic}-${database}-${collection}",
        ),
        *OPTIONS,
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """Looks at the server, whether it has a log, and whether there is something to capture."""
        if missing := self.lacks:
            yield Problem("connector.class", self.name, missing, f"{self.packages_fix}.")
        else:
            yield from run_checks(config, _problems, _server_problems)

    def origins(self, config: Config) -> Iterable[Origin]:
        """The collections. See Source."""
        into = str(config["collection.topic"]).replace("${topic}", config["topic"])
        include, exclude, databases = (config[key] for key in ("collection.include", "collection.exclude", "database.include"))
        return tables_of("collection.include", config["url"].rstrip("/") + "/", into, include, exclude, databases)

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """See Source."""
        del config, max_tasks, positions
        return Plan([{}])

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """See Source."""
        problems = list(super().check_position(config, partition, position))
        offset, shown = position.offset, str(list(position.offset))
        if problems:
            return problems
        if partition in ("oplog", "changes"):
            if len(offset) not in _PLACE or max(offset[:2]) >= _UNSIGNED:
                fix = "Give seconds since 1970, the number in that second, and the operations done there: [1700000000, 1, 0]."
                problems.append(Problem(partition, shown, "is no place of it", fix))
        elif partition.startswith("snapshot ") and len(offset) > 1 and offset[1] == 1 and "_id" not in position.resume:
            fix = "Give what was stored, with its map (--resume), or its run alone, such as [1], to begin it anew."
            problems.append(Problem(partition, shown, "is no place that can be found again", fix))
        return problems

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        """See Source."""
        if partition not in ("oplog", "changes"):
            return None
        if not isinstance(place, Edge):
            return Position((max(0, int(place)), 0, 0))
        if place is Edge.EARLIEST and partition != "oplog":
            return None
        from connectors.mongodb.reading.looking import opened_log
        from connectors.mongodb.reading.settings import Settings

        with opened_log(Settings.of(config), config["request.timeout"]) as (_, log):
            return log.first() if place is Edge.EARLIEST else log.end()

    def reads_on(self, before: Config, now: Config, positions: Mapping[str, Position]) -> Iterable[Problem]:
        """See Source."""
        if positions and before["capture.mode"] != now["capture.mode"]:
            fix = "Let it read all that was changed before, and know that documents are read anew unless snapshot.mode=never."
            reason = "reads another log, which has places of its own: it begins anew there"
            yield Problem("capture.mode", now["capture.mode"], reason, fix, is_warning=True)

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> SourceTask:
        """See Source."""
        if missing := self.lacks:
            msg = f"{self.name} {missing}. {self.packages_fix}"
            raise PermanentError(msg)
        from connectors.mongodb.reading.settings import Settings
        from connectors.mongodb.reading.task import MongodbTask

        del task
        return MongodbTask(Settings.of(config), context)


def _problems(config: Config) -> Iterator[Problem]:
    full = config["change.stream.full.document"]
    if config["change.form"] == "row" and full not in _WHOLE:
        fix = f"Set {' or '.join(_WHOLE)}, or change.form=envelope."
        yield Problem("change.stream.full.document", full, "leaves updates without documents, and change.form=row has no more", fix)
    if config["capture.mode"] == "oplog":
        fix = "Leave it out, or set capture.mode=change_streams."
        if full in ("whenAvailable", "required"):
            yield Problem("change.stream.full.document", full, "can't be had from an oplog, which has no documents", fix)
        for key, none in (("change.stream.full.document.before.change", "off"), ("pipeline", "")):
            if config[key] != none:
                yield Problem(key, config[key], "means nothing with capture.mode=oplog", fix)
    elif config["snapshot.mode"] == "earliest":
        fix = "Set capture.mode=oplog, or another snapshot.mode."
        yield Problem("snapshot.mode", "earliest", "is known of an oplog alone", fix)


@preflight(refused=("user", "Correct user and password, or give the user the role read of the databases."))
def _server_problems(config: Config) -> Iterator[Problem]:
    from connectors.mongodb.reading.looking import collection_problems, log_problems
    from connectors.mongodb.reading.settings import Settings

    settings = Settings.of(config)
    seconds = min(CHECK_SECONDS, config["request.timeout"])
    yield from log_problems(settings, seconds)
    yield from collection_problems(settings, seconds)
