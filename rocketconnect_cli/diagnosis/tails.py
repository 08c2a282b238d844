"""The newest lines of a file."""

import os
from pathlib import Path

from rocketconnect_sdk.wording.counts import counted


def tail(path: Path, most: int) -> str:
    """The newest lines of a file, of together at most so many bytes; a line that begins before them is left out.

    Raises:
        OSError: it can't be read.
    """
    # A pipe would be waited for.
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(number, "rb") as opened:
        size = os.fstat(number).st_size
        opened.seek(max(0, size - most))
        text = opened.read(most).decode("utf-8", "replace")
    return text if size <= most else f"... the last of {counted(size, 'byte')}\n{text.partition(chr(10))[2]}"
