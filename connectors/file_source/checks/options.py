"""What is wrong with the options of file_source together. Pure."""

from collections.abc import Iterable

from rocketconnect_sdk.columns.declared import DOC, INFER, parse_columns
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config

_COLUMNS = "columns"
_OF_SINKS = "; in a sink of tables, columns=id:int64,name makes rows of JSON objects"


def key_problems(config: Config) -> Iterable[Problem]:
    """A key of lines that have no fields."""
    if config["format"] == "text" and config.raw.get("key.field"):
        fix = "Remove it, or set format to csv or jsonlines."
        yield Problem("key.field", config.raw["key.field"][:200], "lines of text have no fields", fix)


def csv_problems(config: Config) -> Iterable[Problem]:
    """Options of CSV for another format."""
    kind = config["format"]
    for key in ("columns", "csv.header", "csv.delimiter", "csv.null"):
        if kind != "csv" and key in config.raw:
            fix = f"Remove it, or set format=csv{_OF_SINKS if kind == 'jsonlines' and key == _COLUMNS else ''}."
            yield Problem(key, config.raw[key][:200], f"means nothing with format={kind}", fix)


def column_problems(config: Config) -> Iterable[Problem]:
    """Columns that are needed where there is no header."""
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


def dead_letter_problems(config: Config) -> Iterable[Problem]:
    """Bad characters that are to be dead letters, without a topic for these."""
    if config["encoding.errors"] != "dead-letter" or "errors.tolerance" not in config:
        return
    if not (config["errors.deadletterqueue.topic.name"] and config["errors.tolerance"] == "all"):
        fix = "Set errors.tolerance=all and errors.deadletterqueue.topic.name."
        yield Problem("encoding.errors", "dead-letter", "needs a dead-letter topic", fix)
