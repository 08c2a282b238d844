"""What is told of objects that can be read, and that may not be read as somebody meant it."""

import zlib
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice

from connectors.file_source.checks.doubts import one_column_problems
from connectors.object_store_source.listing import Found, Gone, Objects, is_data
from rocketconnect_sdk.errors import ConnectorError, Problem
from rocketconnect_sdk.options import Config

_LISTED = 1000
_LOOKED_AT = 8192
_GZIP = zlib.MAX_WBITS | 16


def is_packed(config: Config, name: str) -> bool:
    """Whether an object of lines is gzip."""
    return config["compression"] == "gzip" or (config["compression"] == "auto" and name.endswith(".gz"))


def delimiter_problems(config: Config, objects: Objects) -> Iterable[Problem]:
    """A first line of CSV that is one column, and seems to have more; of one of the first objects that are listed."""
    if config["format"] != "csv":
        return
    # What cannot be listed or read is told elsewhere, or by the task.
    with suppress(ConnectorError, Gone, OSError, zlib.error):
        listed = islice(objects.all(), _LISTED)
        found = next((each for each in listed if each.size and is_data(each.name, config["pattern"])), None)
        if found is not None:
            line, newline, _ = _head(config, objects, found).partition(b"\n")
            yield from one_column_problems(found.name, line, config) if newline else ()


def _head(config: Config, objects: Objects, found: Found) -> bytes:
    data = objects.read(found, 0, min(found.size, _LOOKED_AT))
    return zlib.decompressobj(_GZIP).decompress(data, _LOOKED_AT) if is_packed(config, found.name) else data
