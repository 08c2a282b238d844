"""What the ending of a file's name promises, beside the format that is configured. Pure."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from rocketconnect_sdk.errors import Problem

_GZIP = ".gz"
_FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "jsonlines",
    ".jsonl": "jsonlines",
    ".ndjson": "jsonlines",
    ".parquet": "parquet",
    ".orc": "orc",
}
_DELIMITERS = {".tsv": " and csv.delimiter=\\t"}


def is_gzip_name(filename: str) -> bool:
    """Whether the name is that of a compressed file."""
    return Path(filename).suffix.lower() == _GZIP


def ending_problems(filename: str, form: str, given: str, meant: Mapping[str, str], other: str) -> Iterator[Problem]:
    """A warning where the name promises another format; .gz behind that ending is not counted.

    Args:
        filename: A path, or a glob.
        form: The format.
        given: What was given as format; empty: nothing.
        meant: By format what it is for, such as "if its lines are rows".
        other: What to do about formats that are not among these.
    """
    path = Path(filename)
    ending = (Path(path.stem) if is_gzip_name(filename) else path).suffix.lower()
    promised = _FORMATS.get(ending, form)
    # Lines of JSON are texts, too, and somebody has said that they are meant as these.
    is_meant = promised == "jsonlines" and given == "text"
    if promised != form and not is_meant:
        fix = f"Set format={promised}{_DELIMITERS.get(ending, '')} {meant[promised]}." if promised in meant else other
        yield Problem("format", given, f"the name ends in {ending}, and format is {form}", fix, is_warning=True)
