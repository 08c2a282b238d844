"""How the records of a file are made, as the options and the files that are there say."""

from connectors.file_source.encodings import UTF8, Transcoded
from connectors.file_source.present import readable_files
from connectors.file_source.records import Format, JsonLines, Text
from connectors.file_source.rows import Csv
from connectors.file_source.sampling import Found, found_in
from rocketconnect_sdk.columns.declared import DOC, INFER, given_columns
from rocketconnect_sdk.configuration.csv_options import delimiter_of
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config

_LARGEST_PLAN = 1 << 16
NO_ROW = "has no whole row from which types could be inferred"
NO_ROW_FIX = "To begin without one, name the types: columns=id:int64,name, or leave columns out for strings."


def make_format(config: Config, limit: int, columns: str, *, columns_wanted: bool = False) -> Format:
    """What makes records of the content of a file.

    Args:
        config: The configuration.
        limit: So many bytes a record has at most.
        columns: Those of CSV, inferred ones too.
        columns_wanted: Records of CSV are made as columns of Arrow.
    """
    replace = config["encoding.errors"] == "replace"
    made = utf8_format(config, limit, columns, columns_wanted=columns_wanted, replace=replace, null=config["csv.null"])
    return made if config["encoding"] == UTF8 else Transcoded(made, config["encoding"])


def utf8_format(
    config: Config, limit: int, columns: str, *, columns_wanted: bool, replace: bool = False, null: str | None = None
) -> Format:
    """What makes records of lines in UTF-8, by the options format, key.field, csv.header and csv.delimiter.

    Args:
        config: The configuration.
        limit: So many bytes a record has at most.
        columns: Those of CSV, inferred ones too.
        columns_wanted: Records of CSV are made as columns of Arrow.
        replace: Bytes that are no UTF-8 are replaced; otherwise they make a bad record.
        null: The text of a field of CSV that is null.
    """
    if config["format"] == "text":
        return Text(limit, replace=replace)
    if config["format"] == "jsonlines":
        return JsonLines(limit, replace=replace, key=config["key.field"])
    return Csv(
        limit,
        replace=replace,
        delimiter=delimiter_of(config),
        columns=given_columns(columns),
        header=config["csv.header"],
        null=null,
        key=config["key.field"],
        columns_wanted=columns_wanted,
    )


def inferred(config: Config) -> str:
    """The columns of the files, from their first rows.

    Raises:
        SystemAway: there is no row yet.
        PermanentError: there is none, and there will be none; or a file is not what it should be.
    """
    try:
        found = found_columns(config)
    except OSError as error:
        msg = f"the types of the columns cannot be inferred: {error}"
        raise SystemAway(msg) from error
    except ValueError as error:
        msg = f"the types of the columns cannot be inferred: {error}"
        raise PermanentError(msg) from error
    if found is None:
        msg = f"{config['filename']} {NO_ROW}"
        raise SystemAway(f"{msg}; they are waited for") if config["follow"] else PermanentError(f"{msg}. {NO_ROW_FIX}")
    if len(found.text) > _LARGEST_PLAN:
        msg = f"{found.path} has too many columns for columns={INFER}. Name those that are no strings: {DOC}"
        raise PermanentError(msg)
    return found.text


def found_columns(config: Config) -> Found | None:
    """The columns that the first rows of the files have; None: there is no row yet."""
    return found_in(sorted(readable_files(config)), config, lambda limit: make_format(config, limit, ""))


def needs_header(config: Config) -> bool:
    """Whether the first line of each file names the columns."""
    return config["format"] == "csv" and bool(config["csv.header"])
