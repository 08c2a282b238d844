"""What the files that are in a directory already say of the columns that are to be written into more of them."""

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from rocketconnect_sdk.columns.arrow_types import from_arrow_type, to_arrow_type
from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.files.manifest import seen_manifest
from rocketconnect_sdk.permissions.roots import OutsideRoots, writing
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.spark.types import stored_type

HIDDEN = "_rocketconnect"
"""The folder in the directory in which its connectors keep what they know."""
_FILES = 20
"""The footers of so many files are read, the newest."""
_OWNERS = 200
"""The manifests of so many connectors are looked at."""
_NAMES = 20_000
"""So many names are looked at."""


def type_problems(directory: Path, form: str, columns: Schema) -> Iterator[tuple[str, str, str, Path]]:
    """The columns that have another type in a file: their names, the types that they are to have and that they have, and the file.

    Readers of Parquet and ORC refuse files that have a column in two types. Timestamps with and without a zone count as one: files
    do not always tell them apart.

    Args:
        directory: Where the files are.
        form: parquet or orc; what is no such file is passed over.
        columns: Those that are to be written.
    """
    wanted = {field.name: field.schema for field in columns.fields}
    told: set[str] = set()
    for path in _newest(directory, form):
        for field in _columns_of(path, form):
            if field.name in wanted and field.name not in told and _differ(wanted[field.name], field.type, form):
                told.add(field.name)
                yield field.name, type_name(wanted[field.name]), _name_of(field.type), path


def names_there(directory: Path, form: str) -> list[str]:
    """The columns that files of the directory have, together; none where there are no such files.

    Args:
        directory: Where the files are.
        form: parquet or orc; what is no such file is passed over.
    """
    return list(dict.fromkeys(field.name for path in _newest(directory, form) for field in _columns_of(path, form)))


def of_topics(directory: Path) -> set[str]:
    """The topics that connectors have written into the directory."""
    try:
        owners = writing().names(directory / HIDDEN)
    except (OSError, OutsideRoots):
        return set()
    manifests = [seen_manifest(directory / HIDDEN / owner) for owner in owners[:_OWNERS]]
    return {queue.partition("/")[0] for manifest in manifests if manifest for queue in manifest.queues}


def _newest(directory: Path, form: str) -> list[Path]:
    try:
        with os.scandir(directory) as entries:
            named = [entry for entry in islice(entries, _NAMES) if entry.name.endswith(f".{form}") and entry.name[0] not in "._"]
            newest = sorted(named, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns, reverse=True)
    except OSError:
        return []  # told where the directory itself is checked, or not there yet
    return [Path(entry.path) for entry in newest[:_FILES]]


def _columns_of(path: Path, form: str) -> list[pa.Field]:
    """The columns that the footer of a file names; none of what is no such file, or may not be read."""
    from pyarrow import orc, parquet

    try:
        # A pipe that nobody writes to would be waited for.
        file = os.fdopen(writing().open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")
    except (OSError, OutsideRoots):
        return []
    with file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return []
        try:
            return list(parquet.read_schema(file) if form == "parquet" else orc.ORCFile(file).schema)
        except (pa.ArrowException, OSError):
            return []


def _differ(column: Schema, there: pa.DataType, form: str) -> bool:
    wanted = stored_type(to_arrow_type(column))
    if pa.types.is_timestamp(there):
        return not pa.types.is_timestamp(wanted)
    if form == "orc" and pa.types.is_timestamp(wanted) and not column.zone and there == pa.int64():
        return False  # as Spark writes one without a zone
    try:
        found = to_arrow_type(from_arrow_type(there))
    except TypeError:
        return False  # files of others have types that have no name here; whether they are the same is not known
    return bool(wanted != stored_type(found))


def _name_of(kind: pa.DataType) -> str:
    schema = from_arrow_type(kind)
    return "timestamp" if schema.type is Type.TIMESTAMP else type_name(schema)
