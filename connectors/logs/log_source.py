"""Log files into a topic: lines, or records of several, that grow and are rotated; as text, JSON, logfmt, syslog, or by grok."""

from collections.abc import Iterable, Mapping
from functools import partial

from connectors.file_source import FileSource
from connectors.file_source.checks.files import content_problems, file_problems, no_match_problems
from connectors.file_source.checks.missing import missing_problems
from connectors.file_source.checks.options import dead_letter_problems
from connectors.file_source.content import is_glob
from connectors.file_source.encodings import UTF8, Transcoded
from connectors.file_source.places import last_end, opened, place_problems
from connectors.file_source.present import origin_of
from connectors.file_source.records import Format, JsonLines, Text
from connectors.file_source.rotation.dealing import BY_HEAD, BY_INODE
from connectors.file_source.task import FileSourceTask
from connectors.logs.forms import FORMS, JSON, RAW, grok_problems, reader_of
from connectors.logs.gathering import Gathering
from connectors.logs.records import LogRecords
from rocketconnect_sdk.configuration.patterns import compiled, pattern_problem
from rocketconnect_sdk.configuration.zones import FIX, zone_problem
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.schema import STRING
from rocketconnect_sdk.source import Edge, Plan, Source

_OF_FILES = {option.key: option for option in FileSource.options}
_PACKED = "*.gz,*.bz2,*.xz,*.zst,*.lz4,*.zip,*.Z,*.tgz"
_LIMIT = 1 << 22


class LogSource(Source):
    """Reads log files as they grow and are rotated: lines, or records of several, as text, JSON, logfmt, syslog, or by grok."""

    name = "log_source"
    options = (
        *(_OF_FILES[name] for name in ("filename",)),
        Option(
            "exclude",
            "Names of files that the glob of `filename` does not mean, separated by commas, with * and ?. What was not read of a "
            "log that was packed under such a name is read all the same (.gz).",
            Kind.LIST,
            _PACKED,
        ),
        Option(
            "format",
            "What a record is. raw: its text. json: what its JSON says. logfmt: the pairs of key=value. grok: the fields of the "
            "patterns in `grok`. syslog: the fields of RFC 5424 or RFC 3164, also without a priority, as syslog writes files.",
            default=RAW,
            choices=FORMS,
        ),
        Option(
            "grok",
            "Patterns that are tried in turn, a line each: %{COMBINEDAPACHELOG}, or %{IP:client} %{NUMBER:bytes:int} "
            "%{GREEDYDATA:message}. Each may match anywhere in a record: ^ and $ stand for its ends.",
            default="",
        ),
        Option("grok.patterns", "More patterns with names, a line each: ORDER [A-Z]{2}-\\d+.", default=""),
        Option(
            "unread.field",
            "A record that is not as `format` says becomes an object with its text in this field: message. Empty: it is a bad "
            "record, which goes by errors.tolerance.",
            default="",
        ),
        Option("key.field", "The field that becomes the key of the record.", default=""),
        Option(
            "path.header",
            "The header of a record that has the path of its file. Empty: none.",
            default="log.file.path",
        ),
        Option(
            "multiline.start",
            r"A regular expression that is found in the first line of each record: ^\d{4}-\d\d-\d\d. Lines in which it is not "
            "go on with the record before.",
            default="",
            check=pattern_problem,
            fix=r"Write a regular expression, such as ^\d{4}-.",
        ),
        Option(
            "multiline.continuation",
            r"In the place of multiline.start: a regular expression that is found in each line that goes on with the record "
            r"before: ^\s.",
            default="",
            check=pattern_problem,
            fix=r"Write a regular expression, such as ^\s.",
        ),
        Option(
            "multiline.lines",
            "The most lines of a record. Lines behind them are the next record.",
            Kind.INT,
            "500",
            minimum=1,
            maximum=100_000,
        ),
        Option(
            "multiline.timeout",
            "The last record, which may go on, is sent when nothing came for so long; what then goes on is a record of its own. "
            "0s: when the next one begins, so that nothing depends on the time, and the last one of a file that is rotated waits.",
            Kind.DURATION,
            "5s",
        ),
        Option(
            "time.zone",
            "That of times of syslog that say none.",
            default="UTC",
            check=zone_problem,
            fix=FIX,
        ),
        *(_OF_FILES[name] for name in ("compression", "follow", "discover.interval", "positions.forget.after")),
        *(_OF_FILES[name] for name in ("last.line.timeout", "encoding", "encoding.errors")),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        found = list(run_checks(config, *_CHECKS))
        is_wrong = any(not problem.is_warning for problem in found)
        return found if is_wrong else [*found, *run_checks(config, missing_problems)]

    def replayable(self, config: Config) -> bool:
        """Not where time decides what a record is. See Source."""
        return not (_is_gathered(config) and config["multiline.timeout"])

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """As of file_source: of a glob each task has a share of the files."""
        del positions
        tasks = max_tasks if is_glob(config["filename"]) else 1
        return Plan([{"share": f"{number}/{tasks}", "by": BY_HEAD} for number in range(tasks)])

    def origins(self, config: Config) -> Iterable[Origin]:
        """The file, or those that a pattern means. See Source."""
        yield origin_of(config["filename"])

    def read_again(self, config: Config, partition: str, original: bytes) -> SourceBatch | None:
        """Lines in the place of those that were no record. See Source."""
        form = _format_of(config, _LIMIT)
        cut = form.cut(original, 0, last=True)
        return SourceBatch(partition, cut.values, cut.offsets, keys=cut.keys, schema=form.schema)

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """The file is there, and a line begins behind the offset. See Source."""
        try:
            with opened(config, partition, needs_header=False, resume=position.resume) as content:
                yield from place_problems(partition, position.offset, content)
        except PermanentError as error:
            fix = "List the positions for the partitions that there are; a file has one when something of it was read."
            yield Problem(partition, "", str(error), fix)

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        """The beginning, or behind the last whole line. See Source."""
        if not isinstance(place, Edge):
            return None
        with opened(config, partition, needs_header=False) as content:
            return Position((0,) if place is Edge.EARLIEST else last_end(content, over=not config["follow"]))

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> FileSourceTask:
        """See Source."""
        number, _, tasks = task["share"].partition("/")
        making = partial(_format_of, config, context.max_record_bytes)
        exclude = config["exclude"] if is_glob(config["filename"]) else ()
        # Plans of earlier versions do not say it: while they last, all tasks of one deal the files out as it was done then.
        by = task.get("by", BY_INODE)
        return FileSourceTask(config, (int(number), int(tasks)), making, context, by=by, exclude=exclude)


def _is_gathered(config: Config) -> bool:
    return bool(config["multiline.start"] or config["multiline.continuation"])


def _format_of(config: Config, limit: int) -> Format:
    """What makes records of the content of a file, each of so many bytes at most."""
    form, replace, key, unread = (
        config["format"],
        config["encoding.errors"] == "replace",
        config["key.field"],
        config["unread.field"],
    )
    made: Format
    if form == RAW and not _is_gathered(config):
        made = Text(limit, replace=replace)
    elif form == JSON and not _is_gathered(config) and not unread:
        made = JsonLines(limit, replace=replace, key=key)
    else:
        schema = STRING if form == RAW else None
        gathering = _gathering(config, limit) if _is_gathered(config) else None
        made = LogRecords(
            limit,
            replace=replace,
            gathering=gathering,
            read=reader_of(config),
            schema=schema,
            key=key,
            unread=unread,
            keeps_blank=form == RAW,
        )
        made.rest_seconds = config["multiline.timeout"] if gathering else 0.0
    made.path_header = config["path.header"]
    return made if config["encoding"] == UTF8 else Transcoded(made, config["encoding"])


def _gathering(config: Config, limit: int) -> Gathering:
    start, continuation = (compiled(text) if (text := config[f"multiline.{name}"]) else None for name in ("start", "continuation"))
    return Gathering(start, continuation, config["multiline.lines"], limit)


def _multiline_problems(config: Config) -> Iterable[Problem]:
    if config["multiline.start"] and config["multiline.continuation"]:
        fix = "Remove one of them."
        yield Problem("multiline.continuation", config["multiline.continuation"], "stands beside multiline.start", fix)
    if not _is_gathered(config):
        for key in ("multiline.lines", "multiline.timeout"):
            if key in config.raw:
                fix = "Set multiline.start or multiline.continuation, or remove it."
                yield Problem(key, config.raw[key], "means nothing where each line is a record", fix)


def _field_problems(config: Config) -> Iterable[Problem]:
    if config["format"] == RAW:
        for key in ("key.field", "unread.field"):
            if config[key]:
                yield Problem(key, config[key][:200], "means nothing with format=raw", "Set another format, or remove it.")
    if "exclude" in config.raw and not is_glob(config["filename"]):
        fix = "Write a glob in filename, or remove it."
        yield Problem("exclude", config.raw["exclude"], "means nothing where filename is one file", fix)


_CHECKS = (
    grok_problems,
    _multiline_problems,
    _field_problems,
    dead_letter_problems,
    no_match_problems,
    file_problems,
    content_problems,
)
