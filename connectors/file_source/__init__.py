"""Files into a topic: text lines, JSON lines, CSV; growing, rotated, compressed.

A record is sent when its line is whole. Positions are byte offsets into the content (of gzip: into what it holds).
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice

from connectors.file_source.checks.doubts import FORM, delimiter_problems, name_problems, reading_problems, unended_problems
from connectors.file_source.checks.files import (
    content_problems,
    conversion_problems,
    file_problems,
    header_problems,
    inference_problems,
    no_match_problems,
    value_problems,
)
from connectors.file_source.checks.missing import missing_problems
from connectors.file_source.checks.options import column_problems, csv_problems, dead_letter_problems, key_problems
from connectors.file_source.content import is_glob
from connectors.file_source.encodings import CONVERTED, ENCODINGS, UTF8, encoding_problem
from connectors.file_source.forms import inferred, make_format, needs_header
from connectors.file_source.identity import filename_problem
from connectors.file_source.places import last_end, opened, place_problems, read_before
from connectors.file_source.present import first_line, origin_of, readable_files
from connectors.file_source.rotation.dealing import BY_DEVICE, BY_HEAD
from connectors.file_source.sampling import BYTES, ROWS, first_records
from connectors.file_source.task import FileSourceTask
from rocketconnect_sdk.columns.declared import DOC, INFER, columns_problem
from rocketconnect_sdk.configuration.csv_options import READ_DELIMITER
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.files.gone import forget_after
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.permissions.roots import Access
from rocketconnect_sdk.record import Position, Rejected, SourceBatch
from rocketconnect_sdk.source import Edge, Plan, Source

_COLUMNS = "columns"
"""The key under which tasks are told what was inferred."""


class FileSource(Source):
    """Reads text lines, JSON lines or CSV from files, and follows them as they grow and are rotated."""

    name = "file_source"
    aliases = ("FileSource", "FileSourceConnector", "org.apache.rocketmq.connect.file.FileSourceConnector")
    options = (
        Option(
            "filename",
            "The absolute path of the file, or a glob such as /var/log/app-*.log (** stands for directories): each task takes a "
            "share.",
            required=True,
            access=Access.READ,
            check=filename_problem,
            fix="Give an absolute path without control characters, such as /var/log/app.log, or a glob such as /var/log/app-*.log.",
            example="/tmp/orders-*.txt",  # noqa: S108  # a folder that is there on every machine
        ),
        Option(
            "format",
            "text: each line is a string. jsonlines: each line is JSON; a file that is one array is not read. csv.",
            default="text",
            choices=("text", "csv", "jsonlines"),
        ),
        Option("compression", "auto: gzip where the name ends in .gz.", default="auto", choices=("auto", "none", "gzip")),
        Option("follow", "Goes on as files grow, and looks for new ones. Otherwise it ends when all is read.", Kind.BOOL, "true"),
        Option("discover.interval", "How often to look for new and rotated files.", Kind.DURATION, "500ms", minimum=0.01),
        forget_after("168h"),
        Option(
            "last.line.timeout",
            "A last line without a newline is sent when nothing came for so long; 0s: never while its rest may still come.",
            Kind.DURATION,
            "0s",
        ),
        Option(
            "encoding",
            f"How the file writes characters: {', '.join(ENCODINGS)}. Records are UTF-8 from there on.",
            default=UTF8,
            check=encoding_problem,
            fix=f"Use one of {', '.join(ENCODINGS)}; make UTF-8 of any other: {CONVERTED}.",
        ),
        Option(
            "encoding.errors",
            "What a record does that is not of the encoding. fail and dead-letter: it goes by errors.tolerance, and dead-letter "
            "insists on a dead-letter topic. replace: each wrong byte becomes U+FFFD.",
            default="fail",
            choices=("fail", "replace", "dead-letter"),
        ),
        Option("key.field", "The field that becomes the key of the record (csv, jsonlines).", default=""),
        Option(
            "columns",
            f"Types of CSV columns; all of them, in order, when there is no header. {DOC} infer: as the first {ROWS} rows "
            f"(at most {BYTES >> 20} MiB) of the first file by name have them; all tasks and files keep these until the "
            "configuration changes.",
            default="",
            check=lambda text: None if text == INFER else columns_problem(text),
            fix=f"Write {DOC} Or infer.",
        ),
        Option("csv.header", "The first line names the columns.", Kind.BOOL, "true"),
        READ_DELIMITER,
        Option("csv.null", "A field with this text is null. Without it, only an empty field is, in columns that are no strings."),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """Looks at the options together, and at the files that are there."""
        found = list(islice(run_checks(config, *_CHECKS), 20))
        # What is wrong is told first: it may be the same.
        is_wrong = any(not problem.is_warning for problem in found)
        return found if is_wrong else [*found, *run_checks(config, *_DOUBTS)]

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """One file is one task; of a glob each task has a share, also of files that come later."""
        del positions
        tasks = max_tasks if is_glob(config["filename"]) else 1
        # Once for all: what each task, each restart and each file that comes later reads is of the same types.
        columns = {_COLUMNS: inferred(config)} if config["columns"] == INFER else {}
        return Plan([{"share": f"{number}/{tasks}", "by": BY_HEAD, **columns} for number in range(tasks)])

    def sample(self, config: Config) -> SourceBatch | None:
        """The first records of the first file by name that has some. See Source."""
        columns = inferred(config) if config["columns"] == INFER else config["columns"]
        for path in sorted(readable_files(config)):
            form = make_format(config, BYTES, columns)
            values = [value for value in first_records(path, config, form) if not isinstance(value, Rejected)]
            if values:
                offsets = [(number,) for number in range(1, len(values) + 1)]
                key = config["key.field"]
                keys = [value.get(key) if isinstance(value, dict) else None for value in values] if key else None
                return SourceBatch(str(path), values, offsets, keys, schema=form.schema, key_schema=form.key_schema)
        return None

    def origins(self, config: Config) -> Iterable[Origin]:
        """The file, or those that a pattern means. See Source."""
        yield origin_of(config["filename"])

    def read_again(self, config: Config, partition: str, original: bytes) -> SourceBatch | None:
        """Lines in the place of those that were no record, with the header of their file. See Source."""
        form = make_format(config, BYTES, inferred(config) if config["columns"] == INFER else config["columns"])
        if form.needs_header:
            try:
                form.header(_header_of(config, partition))
            except (ValueError, OSError) as error:
                msg = f"the header of its file cannot be read, which names the columns: {error}"
                raise PermanentError(msg) from error
        cut = form.cut(original, 0, last=True)
        return SourceBatch(partition, cut.values, cut.offsets, keys=cut.keys, schema=form.schema, key_schema=form.key_schema)

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """The file is there, and a line begins behind the offset. See Source."""
        try:
            with opened(config, partition, needs_header(config), position.resume) as content:
                yield from place_problems(partition, position.offset, content)
        except PermanentError as error:
            fix = "List the positions for the partitions that there are; a file has one when something of it was read."
            yield Problem(partition, "", str(error), fix)

    def reads_on(self, before: Config, now: Config, positions: Mapping[str, Position]) -> Iterable[Problem]:
        """Whether the files that were read are read anew with other options. See Source."""
        are_rows = before["format"] == now["format"] == "csv"
        if all(before[key] == now[key] for key in (*FORM, *(("csv.delimiter",) if are_rows else ()))):
            return ()
        found = list(read_before(before, now, (needs_header(before), needs_header(now)), positions))
        return reading_problems(before, now, found)

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        """The beginning, or behind the last whole line. Lines have no times. See Source."""
        if not isinstance(place, Edge):
            return None
        with opened(config, partition, needs_header(config)) as content:
            return Position((0,) if place is Edge.EARLIEST else last_end(content, over=not config["follow"]))

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> FileSourceTask:
        """See Source."""
        number, _, tasks = task["share"].partition("/")
        columns = task.get(_COLUMNS, config["columns"])
        if config["columns"] == INFER:
            context.log.info("columns=%s has found columns=%s", INFER, columns)
        making = partial(make_format, config, context.max_record_bytes, columns, columns_wanted=context.columns)
        # Plans of earlier versions do not say it: while they last, all tasks of one deal the files out as it was done then.
        by = task.get("by", BY_DEVICE)
        return FileSourceTask(config, (int(number), int(tasks)), making, context, by=by)


def _header_of(config: Config, partition: str) -> bytes:
    """The header of a file, or of another one of the source where that file is gone.

    Raises:
        ValueError, OSError, PermanentError: there is none.
    """
    with suppress(PermanentError), opened(config, partition, needs_header=True) as content:
        return content.head(BYTES).partition(b"\n")[0]
    for path in sorted(readable_files(config)):
        if (line := first_line(path, config)) is not None:
            return line
    msg = f"no file of {config['filename']} with a first line is there any more; put one there that has nothing but the header"
    raise ValueError(msg)


_CHECKS = (
    key_problems,
    csv_problems,
    column_problems,
    dead_letter_problems,
    no_match_problems,
    file_problems,
    content_problems,
    header_problems,
    delimiter_problems,
    inference_problems,
)
_DOUBTS = (missing_problems, name_problems, value_problems, conversion_problems, unended_problems)
