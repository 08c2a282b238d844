"""How far the log is done, as the position of the partition "log". Pure."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset

PARTITION = "log"


class Watermark(Protocol):
    """Everything before a place of the log is done."""

    @property
    def snapshot_done(self) -> bool:
        """Whether the rows that were there before the log are, too."""
        ...

    @property
    def offset(self) -> Offset:
        """It as integers."""
        ...


M = TypeVar("M")


def stored_watermark(read: Callable[[Offset], M], offset: Offset) -> M:
    """The watermark of a position that is stored.

    Args:
        read: Makes one of its integers; a ValueError: they are those of none.
        offset: These integers.

    Raises:
        PermanentError: it is none.
    """
    try:
        return read(offset)
    except ValueError as error:
        msg = f"the position {list(offset)} of {PARTITION} {error}: put back one that it had, or remove it for a new snapshot"
        raise PermanentError(msg) from error
