"""What is told of files that can be read, and that may not be read as somebody meant it."""

import csv
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote

from connectors.file_source.content import is_gzip, open_content
from connectors.file_source.places import ReadBefore, lines_before
from connectors.file_source.present import first_line, readable_files
from rocketconnect_sdk.configuration.csv_options import delimiter_of
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.files.endings import ending_problems, is_gzip_name
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.wording.counts import counted

_MEANT = {"csv": "if its lines are rows", "jsonlines": "if each of its lines is JSON"}
_CONVERTER = "value.converter"
_DELIMITERS = {b",": ",", b";": ";", b"\t": "\\t", b"|": "|"}
_QUOTED = re.compile(rb'"[^"]*"')
_PASTED = 2000
FORM = ("format", "csv.header", "compression", "filename")
"""Options by which it is told which file it is."""
_DELIMITER = "csv.delimiter"
_NO_LINES = "Write what it holds as CSV or as lines of JSON, and read that: file_source reads lines."


def unended_fix(path: Path) -> str:
    """What people do about a last line that waits for its newline."""
    return (
        f"If the line is whole, end it (echo >> {quote(str(path))}), or set last.line.timeout=10s: what has stood there for so "
        "long without a newline is a record."
    )


def name_problems(config: Config) -> Iterable[Problem]:
    """Endings of the name that promise another format, or a compression."""
    yield from ending_problems(config["filename"], config["format"], config.raw.get("format", ""), _MEANT, _NO_LINES)
    if is_gzip_name(config["filename"]) and config["compression"] == "none":
        fix = "Leave compression out if the file is compressed."
        yield Problem("compression", "none", "the name ends in .gz, and compression is none", fix, is_warning=True)


def delimiter_problems(config: Config) -> Iterable[Problem]:
    """A first line of CSV that is one column, and has in it what may well stand between more; of the first file that has a line."""
    if config["format"] != "csv":
        return
    for path in readable_files(config):
        with suppress(OSError, PermanentError):  # told of the file itself
            if (line := first_line(path, config)) is not None:
                yield from one_column_problems(str(path), line, config)
                return


def one_column_problems(name: str, line: bytes, config: Config) -> Iterable[Problem]:
    """A first line of CSV that is one column, and has in it what may well stand between more.

    Args:
        name: Where it is the first line, for people.
        line: The line.
        config: The configuration, with csv.delimiter.
    """
    line = _QUOTED.sub(b"", line)
    given = config[_DELIMITER]
    found = max(_DELIMITERS, key=line.count)
    if (b"\t" if given == "\\t" else given.encode()) not in line and found in line:
        delimiter = _DELIMITERS[found]
        reason = f"the first line of {name} has one column, and {line.count(found)} times `{delimiter}` in it"
        fix = f"Set csv.delimiter to `{delimiter}` if that stands between its columns."
        yield Problem(_DELIMITER, config.raw.get(_DELIMITER, ""), reason, fix, is_warning=True)


def converter_problems(config: Config, columns: str) -> Iterable[Problem]:
    """What becomes of rows, and of lines, under the converter; nothing of a direct connector, which has none.

    Args:
        config: The configuration.
        columns: Those of the rows, as the option columns has them; empty: not known.
    """
    if _CONVERTER not in config:
        return
    form = config["format"]
    if form == "csv" and _CONVERTER not in config.raw:
        typed = "" if config["columns"] else ", and columns=infer here for types"
        given = columns if columns and len(columns) <= _PASTED else "NAME:TYPE,..."
        fix = (
            f"Set {_CONVERTER}=arrow (or json or avro) here and in its sinks{typed}. Otherwise a sink of tables makes rows of them "
            f"with columns={given}. {_CONVERTER}=string says that texts are meant."
        )
        yield Problem(_CONVERTER, "", "is not given: rows become JSON texts, and lose their types", fix, is_warning=True)
    elif form != "csv" and config[_CONVERTER] == "arrow" and not config["transforms"]:
        fix = (
            "Leave it out, and name the columns in the sinks: columns=id:int64,name makes rows of JSON objects."
            if form == "jsonlines"
            else "Leave it out; or set format=csv, with columns=infer, if the lines are rows."
        )
        reason = f"packs rows that have types, and the records of format={form} have none: all of them would be bad records"
        yield Problem(_CONVERTER, "arrow", reason, fix, is_warning=True)


def unended_problems(config: Config) -> Iterable[Problem]:
    """Lines at the ends of files that wait for their newlines, as one warning. Gzip is not looked into: it has no end to go to."""
    if not config["follow"] or config["last.line.timeout"]:
        return
    plain = (path for path in readable_files(config) if not is_gzip(path, config["compression"]))
    if unended := sorted(filter(_is_unended, plain)):
        others = f" (and of {len(unended) - 1} more of the files)" if len(unended) > 1 else ""
        reason = f"the last line of {unended[0]}{others} has no newline: it is read when one follows"
        yield Problem("filename", config["filename"][:200], reason, unended_fix(unended[0]), is_warning=True)


def reading_problems(before: Config, now: Config, found: Sequence[ReadBefore]) -> Iterable[Problem]:
    """Warnings of what another configuration makes of files that were read: read anew, or gone on with in another form."""
    changed = [key for key in (*FORM, _DELIMITER) if before[key] != now[key]]
    key = changed[0] if changed else "filename"
    anew, on = [each for each in found if each.anew], [each for each in found if not each.anew]
    if anew:
        reason = f"lets what was read be read anew, and its records be sent again: {_read(anew, before)}"
        place = f"{anew[0].anew}=[{anew[0].offset[0]}]"
        fix = (
            "Name another topic for what it becomes. To go on behind what was read instead: `rocketconnect connector stop NAME`, "
            f"then the update, `rocketconnect position set NAME {quote(place)}`{' and so on' if len(anew) > 1 else ''}, "
            "`rocketconnect connector resume NAME`."
        )
        yield Problem(key, str(now[key])[:200], reason, fix, is_warning=True)
    if on and "format" in changed:
        reason = f"is that of records from now on, and reading goes on where it is: {_read(on, before)}"
        fix = "To read it anew in this form: name another topic, and then `rocketconnect position reset NAME --restart`."
        yield Problem("format", now["format"], reason, fix, is_warning=True)
    elif on and _DELIMITER in changed:
        count = _columns_before(on[0].path, before)
        sent = "" if count is None else f", sent as rows of {counted(count, 'column')}"
        reason = (
            f"is that of rows from now on, and reading goes on where it is: {_read(on, before)} stay in the topic as they are{sent}"
        )
        fix = (
            "To read it anew with this delimiter: name another topic, and then `rocketconnect position reset NAME --restart`. A "
            "sink whose table has the columns of before takes none of the rows from now on."
        )
        yield Problem(_DELIMITER, now[_DELIMITER], reason, fix, is_warning=True)


def _columns_before(path: Path, before: Config) -> int | None:
    """How many columns the header of a file has under a configuration; None: it has none, or cannot be read now."""
    with suppress(OSError, PermanentError, csv.Error, UnicodeDecodeError):
        if before["csv.header"] and (line := first_line(path, before)):
            return len(next(csv.reader([line.decode()], delimiter=delimiter_of(before))))
    return None


def _read(found: Sequence[ReadBefore], before: Config) -> str:
    first, others = found[0], len(found) - 1
    count = lines_before(first, before)
    lines = "" if count is None else f" ({counted(count, 'line')})"
    whole = "bytes" if first.size is None else f"of the {counted(first.size, 'byte')}"
    more = f", and of {counted(others, 'other file')}" if others else ""
    return f"{first.offset[0]:,} {whole} of {first.path}{lines}{more}"


def _is_unended(path: Path) -> bool:
    with suppress(OSError):
        content = open_content(path, gzip=False)
        try:
            size = content.stored_size
            return size > 0 and content.seek(size - 1) and content.read(1) not in (b"\n", b"")
        finally:
            content.close()
    return False
