"""Files into a topic: text lines, JSON lines, CSV; growing, rotated, compressed.

A record is sent when its line is whole. Positions are byte offsets into the content (of gzip: into what it holds).
"""

import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

from connectors.file_source.content import is_glob
from connectors.file_source.documents import document
from connectors.file_source.doubts import (
    FORM,
    converter_problems,
    delimiter_problems,
    name_problems,
    reading_problems,
    unended_problems,
)
from connectors.file_source.encodings import CONVERTED, ENCODINGS, UTF8, UTF16_MARKS, Transcoded, encoding_problem
from connectors.file_source.identity import filename_problem
from connectors.file_source.missing import meant, missing_problems
from connectors.file_source.places import last_end, opened, place_problems, read_before
from connectors.file_source.present import first_line, head, is_readable_file, origin_of, paths, readable_files
from connectors.file_source.records import Format, JsonLines, Text
from connectors.file_source.rows import AbsentColumns, Csv
from connectors.file_source.sampling import BYTES, ROWS, Found, first_records, found_in, misfits_in
from connectors.file_source.task import FileSourceTask
from rocketconnect_sdk.columns.declared import DOC, INFER, columns_problem, given_columns, parse_columns
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem, SystemAway
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.permissions.roots import Access, reading
from rocketconnect_sdk.record import Position, Rejected, SourceBatch
from rocketconnect_sdk.source import Edge, Plan, Source

_COLUMNS = "columns"
"""The key under which tasks are told what was inferred."""
_LARGEST_PLAN = 1 << 16
_OF_SINKS = "; in a sink of tables, columns=id:int64,name makes rows of JSON objects"
_NO_ROW = "has no whole row from which types could be inferred"
_NO_ROW_FIX = f"To begin without one, name the types: columns=id:int64,name, or leave {_COLUMNS} out for strings."


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
        Option(
            "csv.delimiter",
            "The character between fields; \\t for a tab.",
            default=",",
            check=lambda text: None if text == "\\t" or (len(text) == 1 and text not in '"\r\n') else "is not one character",
            fix="Give one character other than a quote and a line break, or \\t for a tab.",
        ),
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
        columns = {_COLUMNS: _inferred(config)} if config["columns"] == INFER else {}
        return Plan([{"share": f"{number}/{tasks}", "by": "inode", **columns} for number in range(tasks)])

    def sample(self, config: Config) -> SourceBatch | None:
        """The first records of the first file by name that has some. See Source."""
        columns = _inferred(config) if config["columns"] == INFER else config["columns"]
        for path in sorted(readable_files(config)):
            form = _make_format(config, BYTES, columns)
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
        form = _make_format(config, BYTES, _inferred(config) if config["columns"] == INFER else config["columns"])
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
            with opened(config, partition, _needs_header(config)) as content:
                yield from place_problems(partition, position.offset, content)
        except PermanentError as error:
            fix = "List the positions for the partitions that there are; a file has one when something of it was read."
            yield Problem(partition, "", str(error), fix)

    def reads_on(self, before: Config, now: Config, positions: Mapping[str, Position]) -> Iterable[Problem]:
        """Whether the files that were read are read anew with other options. See Source."""
        if all(before[key] == now[key] for key in FORM):
            return ()
        found = list(read_before(before, now, (_needs_header(before), _needs_header(now)), positions))
        return reading_problems(before, now, found)

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        """The beginning, or behind the last whole line. Lines have no times. See Source."""
        if not isinstance(place, Edge):
            return None
        with opened(config, partition, _needs_header(config)) as content:
            return Position((0,) if place is Edge.EARLIEST else last_end(content, over=not config["follow"]))

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> FileSourceTask:
        """See Source."""
        number, _, tasks = task["share"].partition("/")
        columns = task.get(_COLUMNS, config["columns"])
        if config["columns"] == INFER:
            context.log.info("columns=%s has found columns=%s", INFER, columns)
        make_format = partial(_make_format, config, context.max_record_bytes, columns, columns_wanted=context.columns)
        # Plans of earlier versions do not say it: while they last, all tasks of one deal the files out as it was done then.
        by_inode = task.get("by") == "inode"
        return FileSourceTask(config, (int(number), int(tasks)), make_format, context, by_inode=by_inode)


def _make_format(config: Config, limit: int, columns: str, *, columns_wanted: bool = False) -> Format:
    made = _make_utf8_format(config, limit, columns, columns_wanted=columns_wanted)
    return made if config["encoding"] == UTF8 else Transcoded(made, config["encoding"])


def _make_utf8_format(config: Config, limit: int, columns: str, *, columns_wanted: bool) -> Format:
    replace = config["encoding.errors"] == "replace"
    if config["format"] == "text":
        return Text(limit, replace=replace)
    if config["format"] == "jsonlines":
        return JsonLines(limit, replace=replace, key=config["key.field"])
    return Csv(
        limit,
        replace=replace,
        delimiter="\t" if config["csv.delimiter"] == "\\t" else config["csv.delimiter"],
        columns=given_columns(columns),
        header=config["csv.header"],
        null=config["csv.null"],
        key=config["key.field"],
        columns_wanted=columns_wanted,
    )


def _inferred(config: Config) -> str:
    """The columns of the files, from their first rows.

    Raises:
        SystemAway: there is no row yet.
        PermanentError: there is none, and there will be none; or a file is not what it should be.
    """
    try:
        found = _found(config)
    except OSError as error:
        msg = f"the types of the columns cannot be inferred: {error}"
        raise SystemAway(msg) from error
    except ValueError as error:
        msg = f"the types of the columns cannot be inferred: {error}"
        raise PermanentError(msg) from error
    if found is None:
        msg = f"{config['filename']} {_NO_ROW}"
        raise SystemAway(f"{msg}; they are waited for") if config["follow"] else PermanentError(f"{msg}. {_NO_ROW_FIX}")
    if len(found.text) > _LARGEST_PLAN:
        msg = f"{found.path} has too many columns for columns={INFER}. Name those that are no strings: {DOC}"
        raise PermanentError(msg)
    return found.text


def _found(config: Config) -> Found | None:
    return found_in(sorted(readable_files(config)), config, lambda limit: _make_format(config, limit, ""))


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


def _needs_header(config: Config) -> bool:
    return config["format"] == "csv" and bool(config["csv.header"])


def _key_problems(config: Config) -> Iterable[Problem]:
    if config["format"] == "text" and config.raw.get("key.field"):
        fix = "Remove it, or set format to csv or jsonlines."
        yield Problem("key.field", config.raw["key.field"][:200], "lines of text have no fields", fix)


def _csv_problems(config: Config) -> Iterable[Problem]:
    kind = config["format"]
    for key in ("columns", "csv.header", "csv.delimiter", "csv.null"):
        if kind != "csv" and key in config.raw:
            fix = f"Remove it, or set format=csv{_OF_SINKS if kind == 'jsonlines' and key == _COLUMNS else ''}."
            yield Problem(key, config.raw[key][:200], f"means nothing with format={kind}", fix)


def _column_problems(config: Config) -> Iterable[Problem]:
    if config["format"] != "csv" or config["csv.header"]:
        return
    if config["columns"] == INFER:
        reason = "takes the names of the columns from the header, and csv.header is false"
        yield Problem("columns", INFER, reason, f"Name all columns: {DOC}")
        return
    columns = parse_columns(config["columns"])
    if not columns.fields:
        yield Problem("columns", "", "is needed where csv.header is false", f"Name all columns: {DOC}")
    elif config["key.field"] and all(field.name != config["key.field"] for field in columns.fields):
        yield Problem("key.field", config["key.field"], "is none of the columns", "Name a column, or remove it.")


def _dead_letter_problems(config: Config) -> Iterable[Problem]:
    if config["encoding.errors"] != "dead-letter" or "errors.tolerance" not in config:
        return
    if not (config["errors.deadletterqueue.topic.name"] and config["errors.tolerance"] == "all"):
        fix = "Set errors.tolerance=all and errors.deadletterqueue.topic.name."
        yield Problem("encoding.errors", "dead-letter", "needs a dead-letter topic", fix)


def _no_match_problems(config: Config) -> Iterable[Problem]:
    filename: str = config["filename"]
    if is_glob(filename) and not paths(config) and not config["follow"]:
        fix = f"{meant(filename)} Correct it, or set follow=true to wait for files.".lstrip()
        yield Problem("filename", filename, "matches no file", fix)


def _file_problems(config: Config) -> Iterable[Problem]:
    roots = reading()
    for path in paths(config):
        if reason := roots.problem(path):
            # A link that a pattern matches.
            yield Problem("filename", str(path), reason, roots.fix(path))
            continue
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError) as error:
            if not config["follow"]:  # otherwise it is waited for
                fix = f"{meant(str(path))} Correct the path, or set follow=true to wait for the file.".lstrip()
                yield Problem("filename", str(path), f"{error.strerror}", fix)
            continue
        except OSError as error:
            yield Problem("filename", str(path), f"{error.strerror}", "Correct the path, or the rights on the way to it.")
            continue
        if stat.S_ISDIR(mode):
            yield Problem("filename", str(path), "is a directory", f"Name a file, or all files in it: {path}/*.")
        elif not is_readable_file(path):
            reason = "cannot be read" if stat.S_ISREG(mode) else "is not a regular file"
            yield Problem("filename", str(path), reason, "Give the worker's user the right to read it, or name another file.")


def _content_problems(config: Config) -> Iterable[Problem]:
    for path in readable_files(config):
        try:
            begun = head(path, config)
        except (OSError, PermanentError, ValueError) as error:
            yield Problem("filename", str(path), str(error), "Correct the file or the options.")
            continue
        if begun.startswith(UTF16_MARKS):
            fix = f"Make UTF-8 of it: {CONVERTED}."
            yield Problem("filename", str(path), "begins with a byte order mark of UTF-16 or UTF-32, which are not read", fix)
        elif b"\0" in begun:
            yield Problem("filename", str(path), "is a binary file: it has NUL bytes", "Name a text file.")
        elif config["format"] == "jsonlines" and (found := document(begun)) is not None:
            yield Problem("filename", str(path), *found)


def _header_problems(config: Config) -> Iterable[Problem]:
    if config["format"] != "csv" or not config["csv.header"]:
        return
    for path in readable_files(config):
        with suppress(OSError, PermanentError, ValueError):  # told by _content_problems
            if (line := first_line(path, config)) is not None:
                yield from _header_problem(path, line, config)


def _header_problem(path: Path, line: bytes, config: Config) -> Iterable[Problem]:
    try:
        _make_format(config, 1 << 20, "" if config["columns"] == INFER else config["columns"]).header(line)
    except AbsentColumns as error:
        fix = "Name columns that the header has, as it writes them, or correct the file."
        yield Problem(error.option, ", ".join(error.names)[:200], f"{path}: {error}", fix)
    except (PermanentError, ValueError) as error:
        yield Problem("filename", str(path), str(error), "Correct the file or the options.")


def _value_problems(config: Config) -> Iterable[Problem]:
    columns = config["columns"]
    if columns and columns != INFER and config["format"] == "csv" and not any(delimiter_problems(config)):
        with suppress(OSError, PermanentError, ValueError):  # told by _file_problems, _content_problems and _header_problems
            yield from misfits_in(sorted(readable_files(config)), config, partial(_make_format, config))


def _inference_problems(config: Config) -> Iterable[Problem]:
    if config["columns"] != INFER or not _needs_header(config) or any(delimiter_problems(config)):
        return
    with suppress(OSError, PermanentError, ValueError):  # told by _file_problems, _content_problems and _header_problems
        if found := _found(config):
            yield Problem("columns", INFER, f"finds {found}", found.advice, is_warning=True)
        elif config["follow"]:
            fix = f"The connector waits for the first one, and infers then. {_NO_ROW_FIX}"
            yield Problem("columns", INFER, f"finds nothing now: {config['filename']} {_NO_ROW}", fix, is_warning=True)
        elif paths(config):
            yield Problem("columns", INFER, f"finds nothing: {config['filename']} {_NO_ROW}", _NO_ROW_FIX)


def _converter_problems(config: Config) -> Iterable[Problem]:
    columns = config["columns"]
    if columns == INFER:
        columns = ""
        with suppress(OSError, PermanentError, ValueError):  # told by _inference_problems
            columns = found.text if (found := _found(config)) else ""
    yield from converter_problems(config, columns)


_CHECKS = (
    _key_problems,
    _csv_problems,
    _column_problems,
    _dead_letter_problems,
    _no_match_problems,
    _file_problems,
    _content_problems,
    _header_problems,
    delimiter_problems,
    _inference_problems,
)
_DOUBTS = (missing_problems, name_problems, _value_problems, _converter_problems, unended_problems)
