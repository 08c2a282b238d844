"""A function of a user, as the transform `python` calls it."""

from collections.abc import Mapping
from dataclasses import replace

from rocketconnect_sdk.transforms import Record


def numbered(record: Record) -> Record:
    """Makes the text s a number. Raises ValueError where it is none."""
    assert isinstance(record.value, Mapping)
    return replace(record, value={**record.value, "s": int(record.value["s"])}, schema=None)
