"""The columns of a table of Hudi, read from its timeline without Spark."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from connectors.hudi_sink.columns import COLUMNS, columns_of
from rocketconnect_sdk.converters.avro.codec import take_long
from rocketconnect_sdk.converters.avro.form import AvroForm
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema

HIDDEN = ".hoodie"
_PROPERTIES = "hoodie.properties"
_COMMIT = re.compile(r"(\d+)_\d+\.(commit|replacecommit)")
_MAGIC, _MARKER = b"Obj\x01", 16


def is_table(root: Path) -> bool:
    """Whether a directory holds a table of Hudi."""
    return (root / HIDDEN / _PROPERTIES).is_file()


def table_columns(root: Path) -> Schema | None:
    """The columns of the newest state; None: there is no table, or it is not known what they are.

    Args:
        root: The directory of the table.
    """
    timeline = root / HIDDEN / "timeline"
    try:
        names = sorted((path.name for path in timeline.iterdir() if _COMMIT.fullmatch(path.name)), reverse=True)
        for name in names:
            kept = _kept((timeline / name).read_bytes())
            if kept.get("schema"):
                return columns_of(kept["schema"], kept.get(COLUMNS))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecordError):
        # Whoever only looks refuses nothing for a table that others have made in a way of their own.
        pass
    return None


def _kept(data: bytes) -> Mapping[str, str]:
    """What the metadata of a commit keep besides its files: a file of Avro's with one record."""
    if not data.startswith(_MAGIC):
        msg = "no file of Avro's"
        raise ValueError(msg)
    header, at = _header(data, len(_MAGIC))
    if header.get("avro.codec", b"null") != b"null":
        msg = f"packed by {header['avro.codec']!r}"
        raise ValueError(msg)
    _, at = take_long(data, at + _MARKER)
    size, at = take_long(data, at)
    record: Any = AvroForm(header["avro.schema"].decode()).decode(data[at : at + size], 0)
    return dict(record["extraMetadata"] or {})


def _header(data: bytes, at: int) -> tuple[dict[str, bytes], int]:
    """A map of names to bytes, and where it ends."""
    found: dict[str, bytes] = {}
    count, at = take_long(data, at)
    while count:
        if count < 0:
            _, at = take_long(data, at)
        for _ in range(abs(count)):
            (name, value), at = _pair(data, at)
            found[name.decode()] = value
        count, at = take_long(data, at)
    return found, at


def _pair(data: bytes, at: int) -> tuple[tuple[bytes, bytes], int]:
    size, at = take_long(data, at)
    name, at = data[at : at + size], at + size
    size, at = take_long(data, at)
    return (name, data[at : at + size]), at + size
