"""Files into a topic: text lines, JSON lines, CSV; growing, rotated, compressed.

A record is sent when its line is whole. Positions are byte offsets into the content (of gzip: into what it holds).
"""

import os
import stat
from collections.abc import Iterable, Mapping
from functools import partial
from glob import iglob  # Path.glob takes no absolute patterns
from itertools import islice
from pathlib import Path

from connectors.file_source.content import open_content
from connectors.file_source.identity import wrong_characters
from connectors.file_source.records import Format, JsonLines, Text
from connectors.file_source.rows import Csv
from connectors.file_source.task import FileSourceTask, is_glob, is_gzip
from rocketconnect_sdk.columns import DOC, columns_problem, parse_columns
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.source import Plan, Source

_CHECKED = 1000
_LOOKED_AT = 8192


class FileSource(Source):
    """Reads text lines, JSON lines or CSV from files, and follows them as they grow and are rotated."""

    name = "file_source"
    aliases = ("FileSource", "FileSourceConnector", "org.apache.rocketmq.connect.file.FileSourceConnector")
    options = (
        Option(
            "filename",
            "The path of the file, or a glob such as /var/log/app-*.log (** stands for directories): each task takes a share.",
            required=True,
            check=lambda text: "has characters that cannot be printed" if wrong_characters(text) else None,
        ),
        Option(
            "format",
            "text: each line is a string. jsonlines: each line is JSON. csv.",
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
            "encoding.errors",
            "What a record does that is not UTF-8. fail and dead-letter: it goes by errors.tolerance, and dead-letter insists on a "
            "dead-letter topic. replace: each wrong byte becomes U+FFFD.",
            default="fail",
            choices=("fail", "replace", "dead-letter"),
        ),
        Option("key.field", "The field that becomes the key of the record (csv, jsonlines).", default=""),
        Option(
            "columns",
            f"Types of CSV columns; all of them, in order, when there is no header. {DOC}",
            default="",
            check=columns_problem,
        ),
        Option("csv.header", "The first line names the columns.", Kind.BOOL, "true"),
        Option(
            "csv.delimiter",
            "The character between fields; \\t for a tab.",
            default=",",
            check=lambda text: None if text == "\\t" or (len(text) == 1 and text not in '"\r\n') else "is not one character",
        ),
        Option("csv.null", "A field with this text is null. Without it, only an empty field is, in columns that are no strings."),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """Looks at the options together, and at the files that are there."""
        problems = list(_option_problems(config))
        filename: str = config["filename"]
        paths = [Path(filename)]
        if is_glob(filename):
            names = islice(iglob(filename, recursive=True), _CHECKED)  # noqa: PTH207
            paths = [path for path in map(Path, names) if not path.is_dir()]
            if not paths and not config["follow"]:
                problems.append(
                    Problem("filename", filename, "matches no file", "Correct it, or set follow=true to wait for files.")
                )
        for path in paths:
            if config["follow"] and not path.exists():
                continue  # it is waited for
            problem = _file_problem(path, config, None if problems else partial(_make_format, config, 1 << 20))
            if problem is not None:
                problems.append(problem)
        return problems[:20]

    def plan(self, config: Config, max_tasks: int) -> Plan:
        """One file is one task; of a glob each task has a share, also of files that come later."""
        tasks = max_tasks if is_glob(config["filename"]) else 1
        return Plan([{"share": f"{number}/{tasks}"} for number in range(tasks)])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> FileSourceTask:
        """See Source."""
        number, _, tasks = task["share"].partition("/")
        make_format = partial(_make_format, config, context.max_record_bytes)
        return FileSourceTask(config, (int(number), int(tasks)), make_format, context)


def _make_format(config: Config, limit: int) -> Format:
    replace = config["encoding.errors"] == "replace"
    if config["format"] == "text":
        return Text(limit, replace=replace)
    if config["format"] == "jsonlines":
        return JsonLines(limit, replace=replace, key=config["key.field"])
    return Csv(
        limit,
        replace=replace,
        delimiter="\t" if config["csv.delimiter"] == "\\t" else config["csv.delimiter"],
        columns=parse_columns(config["columns"]) if config["columns"] else None,
        header=config["csv.header"],
        null=config["csv.null"],
        key=config["key.field"],
    )


def _option_problems(config: Config) -> Iterable[Problem]:
    kind = config["format"]
    if config["key.field"] and kind == "text":
        yield Problem(
            "key.field", config["key.field"], "lines of text have no fields", "Remove it, or set format to csv or jsonlines."
        )
    if kind != "csv":
        for key in ("columns", "csv.header", "csv.delimiter", "csv.null"):
            if key in config.raw:
                yield Problem(key, config.raw[key], f"means nothing with format={kind}", "Remove it, or set format=csv.")
    elif not config["csv.header"]:
        columns = parse_columns(config["columns"])
        if not columns.fields:
            yield Problem("columns", "", "is needed where csv.header is false", f"Name all columns: {DOC}")
        elif config["key.field"] and all(field.name != config["key.field"] for field in columns.fields):
            yield Problem("key.field", config["key.field"], "is none of the columns", "Name a column, or remove it.")
    dead_letters = config.get("errors.deadletterqueue.topic.name"), config.get("errors.tolerance")
    if (
        config["encoding.errors"] == "dead-letter"
        and "errors.tolerance" in config
        and not (dead_letters[0] and dead_letters[1] == "all")
    ):
        fix = "Set errors.tolerance=all and errors.deadletterqueue.topic.name."
        yield Problem("encoding.errors", "dead-letter", "needs a dead-letter topic", fix)


def _file_problem(path: Path, config: Config, make_format: "partial[Format] | None") -> Problem | None:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return Problem("filename", str(path), f"{error.strerror}", "Correct the path, or set follow=true to wait for the file.")
    if stat.S_ISDIR(mode):
        return Problem("filename", str(path), "is a directory", f"Name a file, or all files in it: {path}/*.")
    if not stat.S_ISREG(mode) or not os.access(path, os.R_OK):
        reason = "cannot be read" if stat.S_ISREG(mode) else "is not a regular file"
        return Problem("filename", str(path), reason, "Give the worker's user the right to read it, or name another file.")
    try:
        _look_into(path, config, make_format)
    except (OSError, PermanentError, ValueError) as error:
        return Problem("filename", str(path), str(error), "Correct the file or the options.")
    return None


def _look_into(path: Path, config: Config, make_format: "partial[Format] | None") -> None:
    content = open_content(path, gzip=is_gzip(path, config["compression"]))
    try:
        head = content.head(_LOOKED_AT)
    finally:
        content.close()
    if b"\0" in head:
        msg = "is a binary file: it has NUL bytes"
        raise ValueError(msg)
    line, newline, _ = head.partition(b"\n")
    form = make_format() if make_format and newline else None
    if form is not None and form.needs_header:
        form.header(line)
