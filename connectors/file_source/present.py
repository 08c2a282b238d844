"""The files that are there while a configuration is checked."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from glob import iglob  # Path.glob takes no absolute patterns
from itertools import islice
from pathlib import Path

from connectors.file_source.content import is_glob, is_gzip, open_content
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.origins.origin import FILES, Origin
from rocketconnect_sdk.permissions.roots import reading

CHECKED = 1000
"""So many files of a glob are looked at."""
_LOOKED_AT = 8192


def paths(config: Config) -> Sequence[Path]:
    """The files that there are now, or the one that is named."""
    filename: str = config["filename"]
    if not is_glob(filename):
        return [Path(filename)]
    names = islice(iglob(filename, recursive=True), CHECKED)  # noqa: PTH207
    excluded = config.get("exclude", ())
    return [path for path in map(Path, names) if not stat.S_ISDIR(mode(path)) and not is_excluded(path, excluded)]


def is_excluded(path: Path, patterns: Iterable[str]) -> bool:
    """Whether a glob does not mean a file, by patterns of names with * and ?."""
    return any(fnmatch(path.name, pattern) for pattern in patterns)


def origin_of(filename: str) -> Origin:
    """The file, or those that a pattern means, wherever links lead."""
    path = Path(filename)
    if not is_glob(filename):
        return Origin("filename", FILES, os.path.realpath(path))
    plain = next(parent for parent in path.parents if not is_glob(str(parent)))
    there = Path(os.path.realpath(plain), path.relative_to(plain))
    return Origin("filename", FILES, str(there), is_pattern=True)


def readable_files(config: Config) -> Iterator[Path]:
    """Those of them that can be read."""
    return filter(is_readable_file, paths(config))


def is_readable_file(path: Path) -> bool:
    """Whether it is a regular file that a connector may read."""
    return reading().problem(path) is None and stat.S_ISREG(mode(path)) and os.access(path, os.R_OK)


def mode(path: Path) -> int:
    """The kind and rights of a file; 0: it is not there, or nobody may know."""
    try:
        return path.stat().st_mode
    except OSError:
        return 0


def head(path: Path, config: Config) -> bytes:
    """How its content begins.

    Raises:
        OSError: it cannot be read.
        PermanentError: it is not compressed as it should be.
    """
    content = open_content(path, gzip=is_gzip(path, config["compression"]))
    try:
        return content.head(_LOOKED_AT)
    finally:
        content.close()


def first_line(path: Path, config: Config) -> bytes | None:
    """Its first line, without its newline; None: it has none that is whole, or is no text. Raises as head does."""
    line, newline, _ = head(path, config).partition(b"\n")
    return line if newline and b"\0" not in line else None
