"""What is wrong with the files that file_source is to read."""

import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from connectors.file_source.checks.doubts import (
    converter_problems,
    delimiter_problems,
)
from connectors.file_source.checks.missing import meant
from connectors.file_source.content import is_glob
from connectors.file_source.documents import document
from connectors.file_source.encodings import CONVERTED, UTF16_MARKS
from connectors.file_source.forms import NO_ROW, NO_ROW_FIX, found_columns, make_format, needs_header
from connectors.file_source.present import first_line, head, is_readable_file, paths, readable_files
from connectors.file_source.records import HEADER_FIX
from connectors.file_source.rows import AbsentColumns
from connectors.file_source.sampling import misfits_in
from rocketconnect_sdk.columns.declared import INFER
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.permissions.roots import reading


def no_match_problems(config: Config) -> Iterable[Problem]:
    """A pattern that matches no file."""
    filename: str = config["filename"]
    if is_glob(filename) and not paths(config) and not config["follow"]:
        fix = f"{meant(filename)} Correct it, or set follow=true to wait for files.".lstrip()
        yield Problem("filename", filename, "matches no file", fix)


def file_problems(config: Config) -> Iterable[Problem]:
    """Files that are not there, or cannot be read."""
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


def content_problems(config: Config) -> Iterable[Problem]:
    """Files that are no text, or none of the format."""
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


def header_problems(config: Config) -> Iterable[Problem]:
    """Headers that lack columns, or cannot be read."""
    if config["format"] != "csv" or not config["csv.header"]:
        return
    for path in readable_files(config):
        with suppress(OSError, PermanentError, ValueError):  # told by content_problems
            if (line := first_line(path, config)) is not None:
                yield from _header_problem(path, line, config)


def _header_problem(path: Path, line: bytes, config: Config) -> Iterable[Problem]:
    try:
        make_format(config, 1 << 20, "" if config["columns"] == INFER else config["columns"]).header(line)
    except AbsentColumns as error:
        fix = "Name columns that the header has, as it writes them, or correct the file."
        yield Problem(error.option, ", ".join(error.names)[:200], f"{path}: {error}", fix)
    except (PermanentError, ValueError) as error:
        yield Problem("filename", str(path), str(error), HEADER_FIX)


def value_problems(config: Config) -> Iterable[Problem]:
    """Rows that do not fit the columns."""
    columns = config["columns"]
    if columns and columns != INFER and config["format"] == "csv" and not any(delimiter_problems(config)):
        with suppress(OSError, PermanentError, ValueError):  # told by file_problems, content_problems and header_problems
            yield from misfits_in(sorted(readable_files(config)), config, partial(make_format, config))


def inference_problems(config: Config) -> Iterable[Problem]:
    """What columns=infer finds."""
    if config["columns"] != INFER or not needs_header(config) or any(delimiter_problems(config)):
        return
    with suppress(OSError, PermanentError, ValueError):  # told by file_problems, content_problems and header_problems
        if found := found_columns(config):
            yield Problem("columns", INFER, f"finds {found}", found.advice, is_warning=True, is_note=found.is_whole)
        elif config["follow"]:
            fix = f"The connector waits for the first one, and infers then. {NO_ROW_FIX}"
            yield Problem("columns", INFER, f"finds nothing now: {config['filename']} {NO_ROW}", fix, is_warning=True)
        elif paths(config):
            yield Problem("columns", INFER, f"finds nothing: {config['filename']} {NO_ROW}", NO_ROW_FIX)


def conversion_problems(config: Config) -> Iterable[Problem]:
    """Converters that lose the types of the columns."""
    columns = config["columns"]
    if columns == INFER:
        columns = ""
        with suppress(OSError, PermanentError, ValueError):  # told by inference_problems
            columns = found.text if (found := found_columns(config)) else ""
    yield from converter_problems(config, columns)
