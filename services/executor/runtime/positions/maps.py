"""What sources keep beside their offsets, as it is stored. Pure."""

from collections.abc import Mapping

from rocketconnect_sdk.record import Position
from rocketconnect_sdk.resume import JSON, read, written

UNTIL = "until"
"""What a direct task stores with each position: how many records of its partition the sink has."""

MAP = "resume"
"""What a direct task stores with a position whose source needs a map beside the offset: that map. Other tasks store it alone."""


def position_of(offset: tuple[int, ...], text: str, *, direct: bool) -> Position:
    """Return the position of a source partition from what is stored of it.

    Raises:
        ValueError: no map was stored so; the text says what is wrong, and shows no value.
    """
    kept = read(text)
    found = kept.get(MAP, {}) if direct else kept
    if isinstance(found, Mapping):
        return Position(offset, found)
    msg = f"resume.{MAP} is not a JSON object"
    raise ValueError(msg)


def text_of(resume: Mapping[str, JSON], *, direct: bool) -> str:
    """Return what is stored with a position of a source partition that a source has found.

    Raises:
        ValueError: it can't be stored; the text says why, and shows no value.
    """
    return written({MAP: resume} if direct and resume else resume)
