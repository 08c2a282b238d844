"""Files of Avro's as Hudi keeps the metadata of a commit in them: one record, not packed. Pure."""

from functools import lru_cache
from typing import Any

from rocketconnect_sdk.converters.avro.codec import take_long
from rocketconnect_sdk.converters.avro.form import AvroForm

MAGIC = b"Obj\x01"
_MARKER = 16


def record_of(data: bytes) -> Any:
    """The record of a file.

    Raises:
        ValueError, IndexError: it is no such file, or not a whole one.
        RecordError: its record is not what its schema says.
    """
    if not data.startswith(MAGIC):
        msg = "no file of Avro's"
        raise ValueError(msg)
    header, at = _header(data, len(MAGIC))
    if header.get("avro.codec", b"null") != b"null":
        msg = f"packed by {header['avro.codec']!r}"
        raise ValueError(msg)
    _, at = take_long(data, at + _MARKER)
    size, at = take_long(data, at)
    return _form(header["avro.schema"].decode()).decode(data[at : at + size], 0)


@lru_cache(maxsize=32)
def _form(schema: str) -> AvroForm:
    return AvroForm(schema)


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
